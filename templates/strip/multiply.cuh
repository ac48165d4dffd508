sum_t sum[K_LANES * SHARE] = {};  // [r * TN + c], and as many more as make whole shares
const auto multiply = [&](const phase_t &tile) {
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        const int chunk = step * K_LANES + k_lane;  //@ k_step for step
        chunk_t m[TM];
#pragma unroll
        for (int r = 0; r < TM; ++r)
            m[r] = m_of(tile, r, row_lane, chunk);
        sum_t m_now[TM];  // elements of one column of M
#pragma unroll
        for (int q = 0; q < TN; ++q) {  // of the chunks that hold the thread's columns of VECTOR rows
            constexpr int WIDE = TN / VECTOR;  // chunks of one row
            const int place = q / WIDE * (COLS / VECTOR) + col_lane * WIDE + q % WIDE;  //@ chunk_place for q / WIDE * (COLS / VECTOR) + col_lane * WIDE + q % WIDE
            const chunk_t n = n_of(tile, chunk, place);
#pragma unroll
            for (int e = 0; e < VECTOR; ++e) {
                const int col = (q * VECTOR + e) % TN, kk = (q * VECTOR + e) / TN;
                if (col == 0)
#pragma unroll
                    for (int r = 0; r < TM; ++r)
                        m_now[r] = m[r].element[kk];
                const sum_t n_now = n.element[e];
#pragma unroll
                for (int r = 0; r < TM; ++r)
                    sum[r * TN + col] += m_now[r] * n_now;  //@ only not complex
                    //@| add_product(sum[r * TN + col], m_now[r], n_now);  //@ only complex
            }
        }
    }
};
