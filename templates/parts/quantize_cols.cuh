#pragma unroll 4
for (int Col = first + thread; Col < end; Col += SCALE_TEAM)
    P[Col] = static_cast<quantized_t>(W[Col] * inverse);
