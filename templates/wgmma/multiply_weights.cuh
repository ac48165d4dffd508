// While the tensor cores multiply the factors of a unit of k, lanes make those of the next, of words that they have loaded before.
factors_t factors[2];
words_t words;
//@| #include "wgmma/scales_of_weights.cuh"  //@ scales_of_weights
//@| #include "wgmma/add_part.cuh"  //@ only adds_parts
const auto load = [&](int unit) { load_words(words, (m_first ^ unit * UNIT_BYTES) + stage * sizeof(phase_t)); };
const auto make = [&](int unit) {
    make_factors(factors[unit % 2], words, select);
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
    //@| #include "wgmma/last_scales.cuh"  //@ last_scales
#pragma unroll
    for (int unit = 0; unit < UNITS; ++unit) {
        const auto n = static_cast<unsigned int>(n_first) + stage * static_cast<unsigned int>(sizeof(phase_t) / 16);
        //@| const bool has_begun = unit * UNIT % SCALE_K > 0;  // the part  //@ has_begun for unit * UNIT % SCALE_K > 0  //@ only adds_parts
        if (unit + 1 < UNITS) {
            load(unit + 1);
        } else {
            pass(1);  //@ slices_step for 1
            if (phase + 1 < phases) {  //@ slices_step for 1
                wait(full[stage], turn);
                load(0);
            }
        }
        begin_products();
#pragma unroll
        for (int step = 0; step < 2; ++step)  //@ unit_steps for 2
#pragma unroll
            for (int r = 0; r < TM; r += 2) {
                const auto n_step = n + n_offset(unit * UNIT + step * K_STEP) / 16;
                //@ if adds_parts
                //@| multiply_add(factors[unit % 2][step][r / 2], n_step, part[r], part[r + 1], has_begun || step > 0);
                //@ else
                multiply_add(factors[unit % 2][step][r / 2], n_step, sum[r], sum[r + 1], true);
                //@ end
            }
        commit_products();
        wait_for_products<1>();  // those of the unit before are there: its registers are free
        if (unit == 0 && phase > 0 && lane == 0)  //@ is_later for phase > 0  //@ frees for lane == 0
            arrive(empty[stage > 0 ? stage - 1 : STAGES - 1]);  //@ last_place for stage > 0 ? stage - 1 : STAGES - 1  //@ free_place for arrive
        if (unit + 1 < UNITS) {
            make(unit + 1);
        } else if (phase + 1 < phases) {  //@ slices_step for 1
            //@| make_scales(phase + 1);  //@ slices_step for 1  //@ only scales_of_weights
            make(0);
        }
        //@ if adds_parts
        //@| if ((unit + 1) * UNIT % SCALE_K == 0) {  //@ ends_part for (unit + 1) * UNIT % SCALE_K == 0
        //@|     wait_for_products<0>();
        //@|     add_part(last.of[unit * UNIT / SCALE_K]);  //@ last_scale for last.of[unit * UNIT / SCALE_K]
        //@| }
        //@ end
    }
}
