// The last warps copy the rows of M, which an index gathers: a thread copies a chunk of 16 bytes of one in LINES lines. Nobody waits for the
// copies of a phase here: they arrive at full themselves, so that those of all free places are under way at once. The eight lanes of a line
// share the registers that say which rows these are: each has every eighth.
if (threadIdx.x >= 128 - 32 * GATHERERS) {
    constexpr int M_CHUNK = 16 / sizeof(input_t), LINES = GATHERERS * 32 / 8, GOES = (BM + LINES - 1) / LINES;  //@ m_t for input_t
    const int first_line = threadIdx.x / 8 - (16 - LINES), chunk = threadIdx.x % 8;
    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {  //@ tiles for rows * cols
        #include "wgmma/tile.cuh"  //@ tile
        int from[(GOES + 7) / 8];  // rows of M; negative: none
#pragma unroll
        for (int i = 0; i < (GOES + 7) / 8; ++i) {
            const int line = first_line + (8 * i + chunk) * LINES;
            from[i] = line < BM ? max(gathered(m_index, block_row + line, j, m_rows), -1) : -1;  //@ end_of_rows for j
        }
        for (int phase = 0; phase < phases; ++phase) {
            const index_t at = static_cast<index_t>(phase) * BK + chunk * M_CHUNK;
            const input_t *const M_at = M + at;  //@ m_t for input_t
            wait(empty[stage], turn ^ 1);
            input_t *const first = &tiles[stage].M[0][first_line][(chunk ^ first_line % 8) * M_CHUNK];  //@ m_t for input_t
            input_t *const second = &tiles[stage].M[0][first_line][(chunk ^ LINES % 8 ^ first_line % 8) * M_CHUNK];  // LINES % 8 is 0 or 4  //@ m_t for input_t
#pragma unroll
            for (int i = 0; i < GOES; ++i) {
                const int row = __shfl_sync(0xffffffff, from[i / 8], i % 8, 8);
                if ((i + 1) * LINES <= BM || first_line + i * LINES < BM) {
                    input_t *const to = (i % 2 ? second : first) + i * LINES * LINE;  //@ m_t for input_t
                    const input_t *const begin = M_at + static_cast<long long>(row) * ld_m;  //@ m_t for input_t
                    copy_async_or_zero<16>(to, begin, row != -1 && at < k);  //@ gathers_m && check_k  //@ only copies_or_zero
                    copy_async_part<M_CHUNK>(to, begin, row != -1 ? k - at : 0);  //@ only copies_part
                }
            }
            arrive_with_copies(full[stage]);
            pass(1);
        }
    }
}
