#pragma unroll
for (int piece = 0; piece < PIECES; ++piece)
    if (s < phases)
        copy(tiles[s], s, piece);  //@ , checks_phases,
