uint4 column[4];  // of four of them each: their first bytes, their second ones, and so on
#pragma unroll
for (int i = 0; i < 4; ++i)
    column[i] = transpose_bytes(taken[4 * i].element[w], taken[4 * i + 1].element[w], taken[4 * i + 2].element[w], taken[4 * i + 3].element[w]);
put_chunk(line(to, 4 * w), column[0].x, column[1].x, column[2].x, column[3].x);
put_chunk(line(to, 4 * w + 1), column[0].y, column[1].y, column[2].y, column[3].y);
put_chunk(line(to, 4 * w + 2), column[0].z, column[1].z, column[2].z, column[3].z);
put_chunk(line(to, 4 * w + 3), column[0].w, column[1].w, column[2].w, column[3].w);
