// Tensor cores keep 13 bits of a sum of such products. So they add up a part of k alone, for 64 rows at a time, and the threads all parts.
// They do so for one half of the columns after the other: sums of all columns would leave no registers.  //@ only halves
sum_t part[2][TN];  //@ part_cols for TN
const auto multiply_part = [&](int r, int half, int first) {  //@ , halves,
    const int place = stage * sizeof(phase_t);
    const auto m = moved(m_first, place + m_offset(r * 32, first)), n = moved(n_first, place + n_offset(first));  //@ n_of_part for n_offset(first)
    begin_products();
#pragma unroll
    for (int kk = 0; kk < PART; kk += K_STEP)
        multiply_add(moved(m, m_offset(0, kk)), moved(n, n_offset(kk)), part[0], part[1], kk > 0);
    commit_products();
};
const auto begin_phase = [&] {
    wait(full[stage], turn);
    publish_stores();  // copies of threads are there for the tensor cores too  //@ only gathers_m
    multiply_part(0, 0, 0);  //@ , halves,
};
if (phases > 0 && blockIdx.x < rows * cols)  //@ first_phases for phases  //@ tiles for rows * cols  //@ first_tile for blockIdx.x  //@ only ahead
    begin_phase();
wait_for_products<0>();  // ptxas serialises products that are on their way where a tile begins or ends  //@ only ahead
