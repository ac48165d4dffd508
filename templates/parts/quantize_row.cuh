__shared__ unsigned int of_warp[SCALE_TEAM / 32];
of_warp[thread / 32] = largest;
__syncthreads();
for (int warp = 0; warp < SCALE_TEAM / 32; ++warp)
    largest = max(largest, of_warp[warp]);
