// The kernel that has multiplied has filled the slots of its own tiles.
const int path = paths[blockIdx.z];
const long long row_slots = path == PATH_F16 ? 3 : path == PATH_BF16 ? 4 : 6;  //@ f16_row_slots for 3  //@ bf16_row_slots for 4  //@ f32_row_slots for 6
const long long col_slots = path == PATH_F16 ? 2 : path == PATH_BF16 ? 3 : 4;  //@ f16_col_slots for 2  //@ bf16_col_slots for 3  //@ f32_col_slots for 4
