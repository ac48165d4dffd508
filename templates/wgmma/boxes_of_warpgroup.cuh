output_t (&boxes)[BOXES][SLICE * SLICE] = shared->boxes[warpgroup - 1];
int next_box = 0;
const bool leads = threadIdx.x % 128 == 0;  // this thread asks for what the warpgroup stores
const auto take_box = [&]() -> output_t * {
    if (leads)
        wait_until_stored<BOXES - 1>();  // the box's last content
    meet_in_warpgroup(warpgroup);
    output_t *const box = boxes[next_box];
    next_box = (next_box + 1) % BOXES;
    return box;
};
const auto store_square = [&](const output_t *box, index_t row, index_t col, int product) {  //@ , , , batched
    publish_stores();
    meet_in_warpgroup(warpgroup);
    if (leads)
        store_box(P_map, box, col, row, product);  //@ , , , , batched
};
