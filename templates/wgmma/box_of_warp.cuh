output_t *const box = shared->boxes[warp];
