#pragma unroll
for (int box = 0; box < BOXES; ++box)
    copy_box(&tile.N[box], N_map, box * LINE * VECTOR, kk / VECTOR, full[stage]);  //@ n_product for full
