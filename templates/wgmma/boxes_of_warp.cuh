output_t (&boxes)[BOXES][16 * SLICE] = shared->boxes[warp];  //@ storer for warp  //@ box_cols for SLICE
int next_box = 0;
