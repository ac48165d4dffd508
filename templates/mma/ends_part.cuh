// Is this the last phase of a part of k?
const auto ends_part = [&](index_t phase) {
    const index_t kk = phase * BK;  //@ phase_k for phase * BK
    return phase + 1 == phases || kk / PART_K != (kk + BK) / PART_K;
};
