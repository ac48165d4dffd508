const index_t split_k = (k + SPLITS * PHASE - 1) / (SPLITS * PHASE) * PHASE;  // whole phases
const index_t k_begin = blockIdx.z % SPLITS * split_k;
const index_t k_end = k_begin + split_k < k ? k_begin + split_k : k;
