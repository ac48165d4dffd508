const index_t steps = phase == 0 ? first_steps : BK;  //@ only check_k
m_from += steps;  //@ steps for steps  //@ only m_row_major
//@| m_from += steps * ld_m;  //@ steps for steps  //@ only not m_row_major
n_from += steps * ld_n;  //@ steps for steps  //@ only n_row_major
//@| n_from += steps;  //@ steps for steps  //@ only not n_row_major
