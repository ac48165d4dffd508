// The other warps transpose what has come.
if (threadIdx.x >= 32) {
    const int lane = threadIdx.x % 32, transposer = threadIdx.x / 32 - 1;
    for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x)  //@ tiles for rows * cols
        for (int phase = 0; phase < phases; ++phase) {
            wait(came[stage], turn);
            for (int half = transposer; half < 2 * BM / LINE; half += TRANSPOSERS)  //@ only m_squares
                transpose_half(&tiles[stage].M[0][half / 2 * LINE], half % 2, lane);
            for (int half = transposer; half < 2 * BN / LINE; half += TRANSPOSERS)  //@ only n_squares
                transpose_half(&tiles[stage].N[0][half / 2 * LINE], half % 2, lane);
            publish_stores();
            __syncwarp();
            if (lane == 0)
                arrive(full[stage]);
            pass(1);
        }
}
