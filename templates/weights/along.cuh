// Weights that lie along k, as they come: a unit of 2 of them, of one byte or two, is just what a lane holds of a row or a column and
// of a chunk of k. widen_unit makes numbers of 16 bits of them, exactly.
