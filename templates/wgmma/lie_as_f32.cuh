//              k  0 1   2 3   4 5   6 7   8 9 ...
//     row 0    lane   0     1     2     3     0
//     row 1           4     5     6     7     4
//       :
//     row 8           0     1     2     3     0
//       :
//
// That is two neighbours of every eight, which it loads at once.
