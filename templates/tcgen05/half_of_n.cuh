block_col += rank * (BN / 2);  // it brings this half of N
