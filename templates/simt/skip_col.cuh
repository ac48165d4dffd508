if (Col < own_col)  // all P_VECTOR of them, or none  //@ only moves_cols
    continue;
//@| if (Col > Row)  //@ beyond_diagonal for Col > Row  //@ only symmetric
//@|     continue;  // its mirror image is computed
