//              k  0   1   2   3   4 ...   8 ...
//     row 0    lane   0   0   1   1   2       0
//     row 1           4   4   5   5   6       4
//       :
//     row 8           0   0   1   1   2       0
//       :
//
// Neighbours in memory are rows, so it loads one element after the other.
