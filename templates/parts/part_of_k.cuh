// This block's part of k, in whole phases; the last may be short, or empty.
const index_t split = (k + SPLITS * BK - 1) / (SPLITS * BK) * BK;
const index_t k_begin = blockIdx.z % SPLITS * split;
const index_t k_steps = min(split, k - k_begin);
const index_t phases = (k_steps + BK - 1) / BK;
M += k_begin;  //@ m_begin for k_begin
N += k_begin;  //@ n_begin for k_begin
