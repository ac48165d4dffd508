//@| #include "wgmma/boxes_of_warp.cuh"  //@ only p_map
sum_t (&lines)[16][SLICE] = shared->lines[warp];  //@ storer for warp  //@ slice_lines for [16][SLICE]  //@ only in_lines and not reduces
//@| output_t *const box = shared->boxes[warp];  //@ storer for warp  //@ only box_of_triangle
//@| #include "wgmma/first_of_thread.cuh"  //@ first_of_thread
