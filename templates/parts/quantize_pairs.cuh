#pragma unroll 2
for (int Col = first + 2 * thread; Col < end; Col += 2 * SCALE_TEAM)  // two share a byte
    P[Col / 2] = quantized_t(W[Col] * inverse, W[Col + 1] * inverse);
