constexpr int M_SCALES = WM > 32 ? WM / 32 : 1;  // of a lane  //@ m_scales_of
const int m_scale_lane = lane % 4 * 8 + lane / 4;  // its row of each 32  //@ m_line_of_lane for lane % 4 * 8 + lane / 4
const index_t m_scale_step = ld_scale_m;  // from one scale of a row to the next along k  //@ m_scale_step
unsigned int m_scale[SCALE_WORDS][M_SCALES], m_scale_next[SCALE_WORDS][M_SCALES] = {};
