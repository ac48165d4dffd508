// store: a lane has every fourth byte of a row of P. So four lanes exchange words, until each has 16 bytes that lie together.
#pragma unroll
for (int r = 0; r < TM; ++r) {
    const index_t Row = block_row + thread_row + r;  //@ row_of for r
#pragma unroll
    for (int first = 0; first < TN; first += 32) {
        unsigned int word[4];
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            const int c = first + 8 * w;
            #include "wgmma/four_values.cuh"  //@ four_bytes
            word[w] = reinterpret_cast<const unsigned int &>(bytes);
        }
        transpose_words(word);
        const index_t col = (block_col + first * 4) / 2 + lane % 4 * 16;
        if (Row < j && col < l / 2) {  //@ clips_rows && clips_cols
            reinterpret_cast<uint4 &>(P[Row * ld_p + col]) = transpose_bytes(word[0], word[1], word[2], word[3]);
        }
    }
}
