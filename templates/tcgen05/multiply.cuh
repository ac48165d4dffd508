// One thread asks for all products. What it multiplies at the ring's first place; all else lies so many bytes further on.
const auto m_first = descriptor(&tiles[0].M, sizeof(tiles[0].M[0])), n_first = descriptor(&tiles[0].N, sizeof(tiles[0].N[0]));
if (is_elected()) {  //@ elects for is_elected()
    for (int tile = blockIdx.x, number = 0; tile < rows * cols; tile += gridDim.x, ++number) {  //@ tiles for rows * cols  //@ first_brought for blockIdx.x  //@ next_brought for gridDim.x
        wait(taken[number % 2], number / 2 % 2 ^ 1);  // what is new counts as taken
        fence_after_barrier();
        for (int phase = 0; phase < phases; ++phase) {
            const auto m = moved(m_first, stage * sizeof(phase_t)), n = moved(n_first, stage * sizeof(phase_t));
            wait(full[stage], turn);
            fence_after_barrier();
            //@| copy_scales(sums + 2 * BN, shared->scales[stage]);  //@ only scales_products
#pragma unroll
            for (int kk = 0; kk < BK; kk += K_STEP)
                multiply(sums + number % 2 * BN, moved(m, m_offset(0, kk)), moved(n, n_offset(kk)), phase > 0 || kk > 0);  //@ only not scales_products
                //@| multiply(sums + number % 2 * BN, moved(m, m_offset(0, kk)), moved(n, n_offset(kk)), phase > 0 || kk > 0, sums + 2 * BN, kk);  //@ only scales_products
            arrive_with_products(empty[stage]);
            pass(1);
        }
        arrive_with_products(done[number % 2]);
    }
}
__syncwarp();
