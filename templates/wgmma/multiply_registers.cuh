// The halves of a phase take turns: while the tensor cores multiply one by its factors, lanes load those of the other.
factors_t factors[2];
const auto take = [&](int half) {
    take_factors(factors[half], m_first + stage * sizeof(phase_t) + m_offset(0, half * STEPS * K_STEP));
};
const auto multiply = [&](int half) {
    const auto n = moved(n_first, stage * sizeof(phase_t) + n_offset(half * STEPS * K_STEP));
    begin_products();
#pragma unroll
    for (int step = 0; step < STEPS; ++step)
#pragma unroll
        for (int r = 0; r < TM; r += 2)
            multiply_add(factors[half][step][r / 2], moved(n, n_offset(step * K_STEP)), sum[r], sum[r + 1]);
    commit_products();
    wait_for_products<1>();  // those of the other half are there: its registers are free
};
if (phases > 0) {
    wait(full[stage], turn);
    take(0);
}
for (int phase = 0; phase < phases; ++phase) {
    multiply(0);
    if (phase > 0 && lane == 0)
        arrive(empty[stage > 0 ? stage - 1 : STAGES - 1]);
    take(1);
    multiply(1);
    pass(1);
    if (phase + 1 < phases) {
        wait(full[stage], turn);
        take(0);
    }
}
