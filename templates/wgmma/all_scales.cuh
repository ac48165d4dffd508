const float *const all_scales_n = scale_n;
