const int lane = thread / SLICES;
const int slice = thread % SLICES;  // neighbouring threads stand along k, which N's columns lie along

// Element i of this thread's share of a phase: its slice holds runs of RUN, SLICES * RUN apart.
const auto k_of = [&](int i) { return i / RUN * (SLICES * RUN) + slice * RUN + i % RUN; };
// Column c of this thread, of the BLOCK_COLS.
const auto col_of = [&](int c) { return c * LANES + lane; };
