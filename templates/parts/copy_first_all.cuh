copy(tiles[s], s, 0);  //@ , checks_phases, spreads_copies
