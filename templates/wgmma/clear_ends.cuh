if (skip > 0 || left < BK)
#pragma unroll
    for (int block = 0; block < M_BLOCKS; ++block) {
        constexpr int BYTES = sizeof(input_t);  //@ m_t for input_t
        const int chunk = lane % 8, byte = block * LINE * BYTES + chunk * 16;
        const kept_t kept(skip * BYTES - byte, left * BYTES - byte);
        for (int line = preparer * 4 + lane / 8; line < M_LINES; line += PREPARERS * 4)
            kept.clear_others(shared_address(&tiles[stage].M[block][line]) + (chunk ^ line % 8) * 16);
    }
