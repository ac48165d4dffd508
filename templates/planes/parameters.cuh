//@ if scale_m and batched
//@| long long stride_scale_m,
//@ end
//@ if scale_n and batched
//@| long long stride_scale_n,
//@ end
//@ if has_alpha
sum_t alpha,
//@ end
//@ if has_beta and not always_c
sum_t beta,
//@ end
//@ if scale_m
//@| const float *__restrict__ scale_m,
//@ end
//@ if scale_n
//@| const float *__restrict__ scale_n,
//@ end
//@ if operands
//@ lines operand_parameters
//@ end
//@ if reduces
//@| float *W,
//@ end
//@ if has_beta
const output_t *C,  // may be P itself
//@ end
output_t *P)
