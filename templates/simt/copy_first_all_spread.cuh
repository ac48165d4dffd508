#pragma unroll
for (int piece = 0; piece < PIECES; ++piece)
    copy(tiles[s], s, piece);  //@ , checks_phases,
