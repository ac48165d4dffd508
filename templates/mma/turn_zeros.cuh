// take_zeros: those of the phase that is loaded next.
const auto take_zeros = [&] {
#pragma unroll
    for (int which = 0; which < PARTS; ++which)
#pragma unroll
        for (int i = 0; i < M_SCALES; ++i)
            m_less[which][i] = m_less_next[which][i];
};
