if (Col < own_col)  // all P_VECTOR of them, or none  //@ only moves_cols
    continue;
//@| if (Col > Row)  //@ beyond_diagonal for Col > Row  //@ only symmetric and not splits_k
//@|     continue;  // its mirror image is computed  //@ only symmetric and not splits_k
