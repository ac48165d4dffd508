//@ if check_k
const index_t steps = phase == 0 ? first_steps : BK;
//@ end
//@ if m_row_major
m_from += steps;  //@ steps for steps
//@ else
//@| m_from += steps * ld_m;  //@ steps for steps
//@ end
//@ if n_row_major
n_from += steps * ld_n;  //@ steps for steps
//@ else
//@| n_from += steps;  //@ steps for steps
//@ end
