// What one phase needs. Both tiles lie as M and N do, line by line along k; a step takes VEC elements of each.
struct __align__(16) phase_t {
    sum_t M[BM][BK + VEC];  // VEC more: lines that are read together lie in other banks
    sum_t N[BN][BK + VEC];
};
