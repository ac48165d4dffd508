if (skip > 0 || left < BK)
#pragma unroll
    for (int block = 0; block < M_BLOCKS; ++block)
        for (int line = preparer * 4 + lane / 8; line < M_LINES; line += PREPARERS * 4)
            if (line < skip || line >= left)
                put_chunk(shared_address(&tiles[stage].M[block][line]) + lane % 8 * 16, 0, 0, 0, 0);
