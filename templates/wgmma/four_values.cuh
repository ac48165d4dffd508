const vector_t<output_t, 4> bytes = {static_cast<output_t>(sum[r][c]), static_cast<output_t>(sum[r][c + 2]),
                                     static_cast<output_t>(sum[r][c + 4]), static_cast<output_t>(sum[r][c + 6])};
