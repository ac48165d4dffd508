const int lane = thread % LANES;  // neighbouring threads stand along the columns, which lie side by side in N
const int slice = thread / LANES;

// Element i of this thread's share of a phase: its slice holds runs of RUN, SLICES * RUN apart.
const auto k_of = [&](int i) { return i / RUN * (SLICES * RUN) + slice * RUN + i % RUN; };
// Column c of this thread, of the BLOCK_COLS.
const auto col_of = [&](int c) { return c / VECTOR * (LANES * VECTOR) + lane * VECTOR + c % VECTOR; };
