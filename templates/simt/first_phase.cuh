
// The first phase takes what is no multiple of BK, so that all others are whole.
const index_t first_steps = (k - 1) % BK + 1;  //@ k_steps for k
