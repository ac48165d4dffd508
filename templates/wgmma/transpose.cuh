// The other warps transpose what has come.
if (threadIdx.x >= 32) {
    const int lane = threadIdx.x % 32, transposer = threadIdx.x / 32 - 1;
    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x)
        for (int phase = 0; phase < phases; ++phase) {
            wait(came[stage], turn);
            //@ if m_squares
            for (int row = transposer * LINE; row < BM; row += TRANSPOSERS * LINE)
                transpose_square(&tiles[stage].M[0][row], lane);
            //@ end
            //@ if n_squares
            for (int col = transposer * LINE; col < BN; col += TRANSPOSERS * LINE)
                transpose_square(&tiles[stage].N[0][col], lane);
            //@ end
            publish_stores();
            __syncwarp();
            if (lane == 0)
                arrive(full[stage]);
            pass(1);
        }
}
