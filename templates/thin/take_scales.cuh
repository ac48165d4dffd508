unsigned int factors[TN / 8], less[TN / 8];  // the scale of the run, for each column, and what is subtracted after it: twice
#pragma unroll
for (int c = 0; c < TN / 8; ++c) {
    factors[c] = multiply_both(twice(n_scale_next[place][c]), TABLE_FACTOR);
    less[c] = multiply_both(factors[c], TABLE_ZERO);
}
