constexpr int TM = 5;  //@ tm
constexpr int TN = 8;  //@ tn
constexpr int ROW_LANES = 8;  //@ row_lanes
constexpr int COL_LANES = 2;  //@ col_lanes
constexpr int STEPS = 4;  //@ steps
constexpr int WARPS = 4;  //@ warps
constexpr int STAGES = 3;  //@ stages
constexpr int SPLITS = 3;  //@ splits
constexpr int BLOCKS = 1;  //@ blocks
constexpr int WARP = 32;
//@ if boxes
//@| constexpr int THREADS = (WARPS + 1) * WARP;
//@ else
constexpr int THREADS = WARPS * WARP;
//@ end
constexpr int VECTOR = 16 / sizeof(input_t);
constexpr int K_LANES = WARP / (ROW_LANES * COL_LANES);
constexpr int BLOCK_ROWS = ROW_LANES * TM;
constexpr int COLS = COL_LANES * TN;  // = l
//@ if boxes
//@| constexpr int CHUNKS = WARPS * STEPS * K_LANES;  // of VECTOR steps of k, which a phase has
//@ else
constexpr int CHUNKS = STEPS * K_LANES;  // of VECTOR steps of k, which a phase has
//@ end
constexpr int PHASE = CHUNKS * VECTOR;
constexpr int SHARE = (TM * TN + K_LANES - 1) / K_LANES;  // of a thread's sums, which a lane along k has when all are folded
