const float zero = phase < phases && row < j && kk < k ? zero_m[kk / SCALE_K * ld_zero_m + row] : 0.0f;  //@ && clips_rows && check_k  //@ part_inside for kk < k  //@ m_zero_at for zero_m[kk / SCALE_K * ld_zero_m + row]
const float whole = fminf(fmaxf(rintf(zero), -8.0f), 7.0f);  // a weight less this is exact  //@ least_weight for -8.0f  //@ largest_weight for 7.0f
m_rest[which][i] = m_rest_next[which][i];
m_rest_next[which][i] = zero - whole;
m_less_next[which][i] = both(-136 - whole);  //@ without_zero for -136
