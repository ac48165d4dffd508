// The scale of the run, for each column: as two factors or, if a lane of the warp has a larger one, its bits. Products are 2^3 too small.
unsigned int powers[TN / 8], largest = 0;
#pragma unroll
for (int c = 0; c < TN / 8; ++c)
    largest = max(largest, static_cast<unsigned int>(n_scale_next[place][c].bits));
const bool has_larger = __any_sync(~0u, largest > LARGEST);
#pragma unroll
for (int c = 0; c < TN / 8; ++c)
    powers[c] = n_scale_next[place][c].bits * (has_larger ? 1 : TIMES_POWER) + (has_larger ? 0 : PLUS_POWER);
