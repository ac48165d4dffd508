// This block's part of k, in whole phases; the last may be short, or empty.
const index_t split = (k + SPLITS * BK - 1) / (SPLITS * BK) * BK;  //@ k_parts for SPLITS  //@ k_parts for SPLITS  //@ round_k for BK  //@ round_k for BK  //@ round_k for BK
const index_t k_begin = blockIdx.z % SPLITS * split;  //@ part_of_k for blockIdx.z % SPLITS
const int phases = (min(split, max(k - k_begin, static_cast<index_t>(0))) + BK - 1) / BK;  //@ phases_of for BK  //@ round_k for BK
