//@ if vector_p
vector_t<sum_t, P_VECTOR> value;
#pragma unroll
for (int i = 0; i < P_VECTOR; ++i)
    value.element[i] = sum[r][c + i];
reinterpret_cast<vector_t<sum_t, P_VECTOR> &>(W[Row * l + Col]) = value;  //@ w_place for Row * l + Col
//@ else
W[Row * l + Col] = sum[r][c];  //@ w_place for Row * l + Col
//@ end
