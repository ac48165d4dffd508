//@ if scale_m_ahead
//@| // One scale for all of M: a thread reads it once.
//@| const float m_scale = *scale_m;
//@ end
//@ if scale_n_ahead
//@| // One scale for all of N: a thread reads it once.
//@| const float n_scale = *scale_n;
//@ end
