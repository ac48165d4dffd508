constexpr int BM = 128;  //@ bm
constexpr int BN = 128;  //@ bn
constexpr int BK = 16;  //@ bk
constexpr int TM = 8;  //@ tm
constexpr int TN = 8;  //@ tn
constexpr int VEC = 16 / sizeof(sum_t);  // elements of one 16-byte access to shared memory
constexpr int WARP_ROWS = 4 * TM;
constexpr int WARP_COLS = 8 * TN;
constexpr int TILE_THREADS = 32 * (BM / WARP_ROWS) * (BN / WARP_COLS);
//@ if sliced
constexpr int SLICES = 1;  //@ slices
constexpr int THREADS = SLICES * TILE_THREADS;
//@ else
//@| constexpr int THREADS = TILE_THREADS;
//@ end
constexpr int BLOCKS = 1;  //@ blocks
constexpr int P_VECTOR = 1;  // elements that one instruction stores  //@ p_vector
constexpr int SPLITS = 4;  //@ splits  //@ only splits_k
