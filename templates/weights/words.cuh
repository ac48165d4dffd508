// Weights that lie along k, as they come. It does not matter in which order the products take the elements of k, if M and N agree. So of
// the 32 of two steps, lane 4 g + t takes those from 8 t on: 8 neighbours of row or column g, weights in one load, and what they are
// multiplied by in another. Two at a time have the same place in a word, half a word apart: elements 0 and 4, 1 and 5, 2 and 6, 3 and 7
// of 4 bits; 0 and 2, 1 and 3, 4 and 6, 5 and 7 of 8 bits.
// widen_neighbour makes numbers of 16 bits of two weights, exactly; pair_up brings together what they are multiplied by.
