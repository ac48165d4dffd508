// Weights of 4 bits that lie along k, as they come: a unit of 4 of them is just what a lane holds of a row or a column and of a chunk of
// k. widen_four makes e4m3 of them, exactly.
