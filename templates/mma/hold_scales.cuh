constexpr int M_SCALES = WM > 32 ? WM / 32 : 1;  // of a lane  //@ m_scales_of
float m_scale[PARTS][M_SCALES], m_scale_next[PARTS][M_SCALES] = {};
//@| #include "mma/hold_zeros.cuh"  //@ m_hold_zeros
