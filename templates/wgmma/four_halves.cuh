const vector_t<output_t, 4> bytes = {output_t(sum[r][c], sum[r][c + 1]), output_t(sum[r][c + 2], sum[r][c + 3]),
                                     output_t(sum[r][c + 4], sum[r][c + 5]), output_t(sum[r][c + 6], sum[r][c + 7])};
