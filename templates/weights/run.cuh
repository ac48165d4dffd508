// Weights that lie along k, as they come: a lane has a run of neighbours of a column, and takes 8 of them at a time. Two of them have
// the same place in a word, half a word apart: elements 0 and 4, 1 and 5, 2 and 6, 3 and 7 of 4 bits; 0 and 2, 1 and 3, 4 and 6, 5 and 7
// of 8 bits. widen_neighbour makes numbers of 16 bits of two weights, exactly; pair_up brings together what they are multiplied by.
