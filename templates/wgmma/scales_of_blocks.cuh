float n_scale[N_SCALES];  // of as many columns each
#pragma unroll
for (int i = 0; i < N_SCALES; ++i)
    n_scale[i] = scales.N[first / PART][i];
