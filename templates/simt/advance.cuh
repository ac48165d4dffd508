//@ if check_k
const index_t steps = is_first ? first_steps : BK;
//@ else
//@| constexpr int steps = BK;
//@ end
//@ if m_row_major
m_from += steps;
//@ else
//@| m_from += steps * ld_m;
//@ end
//@ if n_row_major
n_from += steps * ld_n;
//@ else
//@| n_from += steps;
//@ end
