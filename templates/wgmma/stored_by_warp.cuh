//@| #include "wgmma/boxes_of_warp.cuh"  //@ own_boxes
sum_t (&lines)[16][SLICE] = shared->lines[warp];  //@ storer for warp  //@ slice_lines for [16][SLICE]  //@ only in_lines and not reduces
//@| #include "wgmma/first_of_thread.cuh"  //@ first_of_thread
