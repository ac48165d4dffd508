for (int half = preparer; half < 2 * BM / LINE; half += PREPARERS)
    transpose_half(&tiles[stage].M[0][half / 2 * LINE], half % 2, lane, skip, left);  //@ , , , divides_k, divides_k
