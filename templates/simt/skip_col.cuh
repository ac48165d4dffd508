if (Col < own_col)  // all P_VECTOR of them, or none
    continue;
