// Tensor cores keep 13 bits of a sum of such products. So they add up one phase alone, and the threads all phases.
sum_t part[TM][TN];  // of one phase
sum_t other[TM][TN];  // and of the next: while it is made, the first is added up  //@ only two_parts
const auto multiply = [&](sum_t (&made)[TM][TN]) {
    const auto m = moved(m_first, stage * sizeof(phase_t)), n = moved(n_first, stage * sizeof(phase_t));
    wait(full[stage], turn);
    begin_products();
#pragma unroll
    for (int kk = 0; kk < BK; kk += K_STEP)
#pragma unroll
        for (int r = 0; r < TM; r += 2)
            multiply_add(moved(m, m_offset(r * 32, kk)), moved(n, n_offset(kk)), made[r], made[r + 1], kk > 0);
    commit_products();
    pass(1);
};
const auto add = [&](sum_t (&made)[TM][TN], int place) {
    if (lane == 0)  //@ frees for lane == 0
        arrive(empty[place]);  //@ free_place for arrive
    settle(made);
#pragma unroll
    for (int r = 0; r < TM; ++r)
#pragma unroll
        for (int c = 0; c < TN; ++c)
            sum[r][c] += made[r][c];
};
//@ if two_parts
if (phases % 2 > 0) {
    const int place = stage;
    multiply(part);
    wait_for_products<0>();
    add(part, place);
}
for (int phase = phases % 2; phase < phases; phase += 2) {
    const int place = stage;
    multiply(part);
    const int other_place = stage;
    multiply(other);
    wait_for_products<1>();
    add(part, place);
    wait_for_products<0>();
    add(other, other_place);
}
//@ else
for (int phase = 0; phase < phases; ++phase) {
    const int place = stage;
    multiply(part);
    wait_for_products<0>();
    add(part, place);
}
//@ end
