//@ instead parameters
sum_t alpha,
sum_t beta,
const input_t *__restrict__ M,
const input_t *__restrict__ N,
const output_t *C,  // may be P itself
output_t *P)
//@ end
