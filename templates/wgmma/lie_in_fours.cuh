//              k  0-3   4-7   8-11  12-15 16-19 ...
//     row 0    lane   0     1     2     3     0
//     row 1           4     5     6     7     4
//       :
//     row 8           0     1     2     3     0
//       :
//
// That is four neighbours of every sixteen. The four lanes of a row load the same chunks, of 16 bytes, and pick their own weights of them.
