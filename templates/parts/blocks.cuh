//@ if grouped
//@| // Blocks that run at the same time should find their rows of M and columns of N in the L2: GROUP rows of blocks
//@| // are walked together, column by column.
//@| constexpr int GROUP = 8;
//@| const int id = blockIdx.y * gridDim.x + blockIdx.x;
//@| const int first = id / (GROUP * gridDim.x) * GROUP;
//@| const int height = min(GROUP, gridDim.y - first);
//@| const int tile_y = first + id % (GROUP * gridDim.x) % height;
//@| const int tile_x = id % (GROUP * gridDim.x) / height;
//@ elif rows_on_y
const int tile_y = blockIdx.y;
const int tile_x = blockIdx.x;
//@ else
//@| const int tile_y = blockIdx.x;  // rows on x, which counts further than y
//@| const int tile_x = blockIdx.y;
//@ end
//@ if has_groups
//@| #include "parts/group.cuh"
//@ else
// This block's tile of P begins here.
//@ end
//@ if moves_rows or moves_cols
//@| // One that would reach beyond the edge is moved back over its neighbour, so that no copy needs a check; what both
//@| // compute, the neighbour stores.
//@ end
//@ if moves_rows
//@| const index_t own_row = static_cast<index_t>(tile_y) * BM;
//@| const index_t block_row = min(own_row, static_cast<index_t>(j - BM));
//@ elif not has_groups
const index_t block_row = static_cast<index_t>(tile_y) * BM;
//@ end
//@ if moves_cols
//@| const index_t own_col = static_cast<index_t>(tile_x) * BN;
//@| const index_t block_col = min(own_col, static_cast<index_t>(l - BN));
//@ else
const index_t block_col = static_cast<index_t>(tile_x) * BN;
//@ end

//@ if splits_k
//@| // This block's part of k, in whole phases; the last may be short, or empty.
//@| const index_t split = (k + SPLITS * BK - 1) / (SPLITS * BK) * BK;
//@| const index_t k_begin = blockIdx.z % SPLITS * split;
//@| const index_t k_steps = min(split, k - k_begin);
//@| const index_t phases = (k_steps + BK - 1) / BK;
//@ if m_row_major
//@| M += k_begin;  //@ m_begin for k_begin
//@ else
//@| M += k_begin * ld_m;
//@ end
//@ if n_row_major
//@| N += k_begin * ld_n;
//@ else
//@| N += k_begin;  //@ n_begin for k_begin
//@ end
//@ elif any_k
//@| const index_t phases = (static_cast<index_t>(k) + BK - 1) / BK;
//@ else
const index_t phases = (k + BK - 1) / BK;
//@ end
