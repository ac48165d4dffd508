// The other warps transpose what has come.
if (threadIdx.x >= 32) {
    const int lane = threadIdx.x % 32, transposer = threadIdx.x / 32 - 1;
    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x)
        for (int phase = 0; phase < phases; ++phase) {
            wait(came[stage], turn);
            //@ if m_squares
            for (int half = transposer; half < 2 * BM / LINE; half += TRANSPOSERS)
                transpose_half(&tiles[stage].M[0][half / 2 * LINE], half % 2, lane);
            //@ end
            //@ if n_squares
            for (int half = transposer; half < 2 * BN / LINE; half += TRANSPOSERS)
                transpose_half(&tiles[stage].N[0][half / 2 * LINE], half % 2, lane);
            //@ end
            publish_stores();
            __syncwarp();
            if (lane == 0)
                arrive(full[stage]);
            pass(1);
        }
}
