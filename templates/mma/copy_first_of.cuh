if (s < phases)  //@ only may_be_short
    copy_m(tiles[s], s);  //@ , checks_phases
copy_m(tiles[s], s);  //@ , checks_phases  //@ only not may_be_short
