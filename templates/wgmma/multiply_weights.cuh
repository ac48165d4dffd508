// While the tensor cores multiply the factors of a unit of k, lanes make those of the next.
factors_t factors[2];
const auto take = [&](int unit) {
    take_factors(factors[unit % 2], (m_first ^ unit * UNIT_BYTES) + stage * sizeof(phase_t), select);
};
//@| #include "wgmma/part_of_weights.cuh"  //@ only adds_parts
if (phases > 0) {
    wait(full[stage], turn);
    take(0);
}
for (int phase = 0; phase < phases; ++phase) {
    //@ if adds_parts
    //@| const scales_t scales = next_scales;
    //@| if (phase + 1 < phases)
    //@|     load_scales(phase + 1);
    //@ end
#pragma unroll
    for (int unit = 0; unit < UNITS; ++unit) {
        const auto n = moved(n_first, stage * sizeof(phase_t));
        //@| const bool has_begun = unit * UNIT % SCALE_K > 0;  // the part  //@ has_begun for unit * UNIT % SCALE_K > 0  //@ only adds_parts
        begin_products();
#pragma unroll
        for (int step = 0; step < 2; ++step)
#pragma unroll
            for (int r = 0; r < TM; r += 2) {
                const auto n_step = moved(n, n_offset(unit * UNIT + step * K_STEP));
                //@ if adds_parts
                //@| multiply_add(factors[unit % 2][step][r / 2], n_step, part[r], part[r + 1], has_begun || step > 0);
                //@ else
                multiply_add(factors[unit % 2][step][r / 2], n_step, sum[r], sum[r + 1], true);
                //@ end
            }
        commit_products();
        wait_for_products<1>();  // those of the unit before are there: its registers are free
        if (unit == 0 && phase > 0 && lane == 0)  //@ frees for lane == 0
            arrive(empty[stage > 0 ? stage - 1 : STAGES - 1]);  //@ free_place for arrive
        if (unit + 1 < UNITS) {
            take(unit + 1);
        } else {
            pass(1);
            if (phase + 1 < phases) {
                wait(full[stage], turn);
                take(0);
            }
        }
        //@ if adds_parts
        //@| if ((unit + 1) * UNIT % SCALE_K == 0) {  //@ ends_part for (unit + 1) * UNIT % SCALE_K == 0
        //@|     wait_for_products<0>();
        //@|     add_part(scales.of[unit * UNIT / SCALE_K]);
        //@| }
        //@ end
    }
}
