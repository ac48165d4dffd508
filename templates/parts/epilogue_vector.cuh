#include "parts/read_c.cuh"  //@ read_c
vector_t<output_t, P_VECTOR> value;
#pragma unroll
for (int i = 0; i < P_VECTOR; ++i) {
    //@ lines scaled_sum
    //@ instead store_value
    sum[r][c + i] *= alpha;  //@ total for sum[r][c + i]  //@ only has_alpha
    if (beta != 0)  //@ only has_beta
        sum[r][c + i] += beta * before.element[i];  //@ add_c for sum[r][c + i] += beta * before.element[i]
    value.element[i] = static_cast<output_t>(sum[r][c + i]);  //@ p_value for sum[r][c + i]
    //@ end
}
//@ if scatters_p
//@| const long long to = scattered(p_index, Row, p_rows);  // the row of P
//@| if (to >= 0)
//@|     reinterpret_cast<vector_t<output_t, P_VECTOR> &>(P[Row * ld_p + Col]) = value;  //@ p_place for P[Row * ld_p + Col]
//@ else
reinterpret_cast<vector_t<output_t, P_VECTOR> &>(P[Row * ld_p + Col]) = value;  //@ p_place for P[Row * ld_p + Col]
//@ end
