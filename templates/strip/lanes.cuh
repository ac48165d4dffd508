constexpr int TM = 5;
constexpr int TN = 8;
constexpr int ROW_LANES = 8;
constexpr int COL_LANES = 2;
constexpr int STEPS = 4;
constexpr int WARPS = 4;
constexpr int STAGES = 3;
constexpr int SPLITS = 3;
constexpr int BLOCKS = 1;
constexpr int WARP = 32;
constexpr int THREADS = WARPS * WARP;
constexpr int VECTOR = 16 / sizeof(input_t);
constexpr int K_LANES = WARP / (ROW_LANES * COL_LANES);
constexpr int BLOCK_ROWS = ROW_LANES * TM;
constexpr int COLS = COL_LANES * TN;  // = l
constexpr int CHUNKS = STEPS * K_LANES;  // of VECTOR steps of k, which a phase has
constexpr int PHASE = CHUNKS * VECTOR;
constexpr int SHARE = (TM * TN + K_LANES - 1) / K_LANES;  // of a thread's sums, which a lane along k has when all are folded
