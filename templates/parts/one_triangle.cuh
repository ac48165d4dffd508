if (Col > Row)  //@ beyond_diagonal for Col > Row
    return;  // the mirror image of this element is computed
