// What one phase needs. Both tiles are stored k by k: a row holds the elements of one step.
struct __align__(16) phase_t {
    sum_t M[BK][BM + VEC];  // VEC more: elements that are neighbours along k are stored into other banks  //@ only m_row_major
    //@| sum_t M[BK][BM];  //@ only not m_row_major
    sum_t N[BK][BN];  //@ only n_row_major
    //@| sum_t N[BK][BN + VEC];  // VEC more: elements that are neighbours along k are stored into other banks  //@ only not n_row_major
};
