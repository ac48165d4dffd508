float row_scale[TM];
#pragma unroll
for (int r = 0; r < TM; ++r)
    row_scale[r] = row_of(r) < j ? scale_m[row_of(r)] : 0.0f;  //@ only ragged_j
    //@| row_scale[r] = scale_m[row_of(r)];  //@ only not ragged_j
