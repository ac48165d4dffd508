// Weights that were repacked: word t of the 16 bytes of 32 neighbours along k has elements 2 t and 2 t + 1 of each 8 of them, which lie
// half a word apart: those of the first 8 in the last 4 bits of each half. widen_neighbour makes numbers of 16 bits of two weights, exactly.
