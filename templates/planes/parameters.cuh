//@ instead parameters
sum_t alpha,
sum_t beta,
const output_t *C,  // may be P itself
output_t *P)
//@ end
