const float zero = phase < phases && row < j && kk < k ? zero_m[kk / SCALE_K * ld_zero_m + row] : 0.0f;  //@ && clips_rows && check_k  //@ part_inside for kk < k  //@ m_zero_at for zero_m[kk / SCALE_K * ld_zero_m + row]
m_less_next[which][i] = both(-136 - zero);  //@ without_zero for -136
