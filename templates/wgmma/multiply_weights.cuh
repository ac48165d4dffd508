// While the tensor cores multiply the factors of a unit of k by 64 rows, lanes make those of the next, of words that they have loaded before.
constexpr int PIECES = TM / 2 * UNITS;  // units of a phase: those of the first 64 rows, then those of the next
factors_t factors[2];
words_t words;
//@| constexpr int PARTS = 1;  // of k of a phase, with a scale each
//@| #include "wgmma/scales_of_weights.cuh"  //@ scales_of_weights
//@| #include "wgmma/scales_of_sums.cuh"  //@ scales_of_sums
//@| // The tensor cores sum up the products of a part, and threads add that times the scale to their sums.  //@ times_scale for that times the scale  //@ only adds_parts
//@| constexpr int PART_ROWS = 2;  // of a thread  //@ only adds_parts
//@| sum_t part[PART_ROWS][TN];  //@ only adds_parts
const auto load = [&](int piece) {
    load_words(words, (m_first ^ piece % UNITS * UNIT_BYTES) + stage * sizeof(phase_t) + piece / UNITS * 64 * M_LINE);  //@ unit_place for (m_first ^ piece % UNITS * UNIT_BYTES)  //@ next_rows for 64 * M_LINE
};
const auto make = [&](int piece) {
    make_factors(factors[piece % 2], words);  //@ made_of for words
    //@| #include "wgmma/scale_factors.cuh"  //@ scale_factors
};
if (phases > 0) {
    wait(full[stage], turn);
    load(0);
    make(0);
}
for (int phase = 0; phase < phases; ++phase) {  //@ first_phase for 0  //@ next_phase for ++phase
    //@| if (phase + 1 < phases)  //@ slices_step for 1  //@ only scales_of_weights
    //@|     load_scales(phase + 1);  //@ slices_step for 1
#pragma unroll
    for (int piece = 0; piece < PIECES; ++piece) {
        const int unit = piece % UNITS, row = piece / UNITS * 2;
        const auto n = static_cast<unsigned int>(n_first) + stage * static_cast<unsigned int>(sizeof(phase_t) / 16);
        //@| const bool has_begun = unit * UNIT % SCALE_K > 0;  // the part  //@ has_begun for unit * UNIT % SCALE_K > 0  //@ only adds_parts
        if (piece + 1 < PIECES) {
            load(piece + 1);
        } else {
            pass(1);  //@ slices_step for 1
            if (phase + 1 < phases) {  //@ slices_step for 1
                wait(full[stage], turn);
                load(0);
            }
        }
        begin_products();
        #include "wgmma/multiply_steps.cuh"  //@ multiply_unit
        commit_products();
        wait_for_products<1>();  // those of the unit before are there: its registers are free
        if (piece == 0 && phase > 0 && lane == 0)  //@ is_later for phase > 0  //@ frees for lane == 0
            arrive(empty[stage > 0 ? stage - 1 : STAGES - 1]);  //@ last_place for stage > 0 ? stage - 1 : STAGES - 1  //@ free_place for arrive
        if (piece + 1 < PIECES) {
            make(piece + 1);
        } else if (phase + 1 < phases) {  //@ slices_step for 1
            //@| make_scales(phase + 1);  //@ slices_step for 1  //@ only scales_of_weights
            make(0);
        }
        //@ if adds_parts
        //@| if ((unit + 1) * UNIT % SCALE_K == 0) {  //@ ends_part for (unit + 1) * UNIT % SCALE_K == 0
        //@|     #include "wgmma/add_part.cuh"
        //@| }
        //@ end
    }
}
