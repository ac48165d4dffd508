#pragma unroll 8
for (int first = 0; first < M_LINES * M_WIDTH / M_VECTOR; first += TEAM) {
    const int e = first + thread;
    const int line = e / (M_WIDTH / M_VECTOR);
    const int at = e % (M_WIDTH / M_VECTOR) * M_VECTOR;
    if (line < M_LINES)
        copy_async<M_VECTOR * sizeof(input_t)>(&own.M[line][at], &M[line * ld_m + at]);  //@ m_copy for copy_async<M_VECTOR * sizeof(input_t)>
}
