if (Col > Row)  //@ beyond_diagonal for Col > Row
    return;  // P is symmetric: this element has the value of its mirror image
