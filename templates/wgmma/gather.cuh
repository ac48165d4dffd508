// The other warps copy the rows of M, which an index gathers: a thread copies a chunk of 16 bytes of every 12th line. Copies of LAG phases
// are under way at once; those of an earlier one are there, and tensor cores may read them.
if (threadIdx.x >= 32) {
    constexpr int M_CHUNK = 16 / sizeof(input_t), LINES = GATHERERS * 32 / 8, GOES = (BM + LINES - 1) / LINES;  //@ m_t for input_t
    constexpr int LAG = STAGES > 2 ? STAGES - 2 : 0;
    const int first_line = threadIdx.x / 8 - 4, chunk = threadIdx.x % 8;
    int under_way = 0, complete = 0;  // phases, and the place of the first of them
    const auto hand_on = [&] {
        publish_stores();
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            arrive(full[complete]);
        complete = complete + 1 < STAGES ? complete + 1 : 0;
    };
    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {  //@ tiles for rows * cols
        #include "wgmma/tile.cuh"  //@ tile
        int from[GOES];  // rows of M; negative: none
#pragma unroll
        for (int i = 0; i < GOES; ++i)
            from[i] = first_line + i * LINES < BM ? gathered(m_index, block_row + first_line + i * LINES, j, m_rows) : -1;  //@ end_of_rows for j
        for (int phase = 0; phase < phases; ++phase) {
            const index_t at = static_cast<index_t>(phase) * BK + chunk * M_CHUNK;
            wait(empty[stage], turn ^ 1);
#pragma unroll
            for (int i = 0; i < GOES; ++i) {
                const int line = first_line + i * LINES;
                if (line < BM)
                    copy_async_part<M_CHUNK>(&tiles[stage].M[0][line][(chunk ^ line % 8) * M_CHUNK], &M[static_cast<long long>(max(from[i], 0)) * ld_m + at], from[i] < 0 ? 0 : k - at);
            }
            commit_copies();
            if (under_way == LAG) {
                wait_for_copies<LAG>();
                hand_on();
            } else {
                ++under_way;
            }
            pass(1);
        }
    }
    wait_for_copies<0>();
    for (; under_way > 0; --under_way)
        hand_on();
}
