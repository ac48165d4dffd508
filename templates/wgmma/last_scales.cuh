scales_t last = scales;
