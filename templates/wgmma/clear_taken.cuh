#pragma unroll
for (int i = 0; i < CHUNK; ++i)
    if (i < skip - a * CHUNK || i >= left - a * CHUNK)
        taken[i] = {};
