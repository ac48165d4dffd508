#pragma unroll
for (int i = 0; i < 4; ++i)
    fragment[i] = round_to_tf32(fragment[i]);
