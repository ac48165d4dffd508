// Products of small matrices by the tensor cores: a warp multiplies 16 rows of M by 8 columns of N, K_STEP elements deep, and adds
// the product to 16 x 8 sums. Each lane holds a part of each of the three, a fragment. Of lane 4 g + t:
//
//                                              columns of N
//                                                   g
//                          chunk 0             +---------+
//                                            t |  n[0]   |
//    rows        chunk 0     chunk 1           +---------+
//    of M           t           t      chunk 1 |         |
//             +-----------+-----------+      t |  n[1]   |
//           g |   m[0]    |   m[2]    |        +---------+
//             +-----------+-----------+          2t  2t+1
//       g + 8 |   m[1]    |   m[3]    |      g  sum  sum
//             +-----------+-----------+  g + 8  sum  sum
//
// A chunk is 16 bytes along k, of which lane t holds the 4 bytes numbered t.  //@ chunk for 16 bytes  //@ chunk_part for 4 bytes numbered t
#include "parts/tf32.cuh"  //@ fragments
using fragment_t = unsigned int;

#include "parts/load_matrices.cuh"  //@ load_matrices
#include "parts/load_transposed.cuh"  //@ load_transposed
#include "parts/load_bytes.cuh"  //@ load_bytes
#include "parts/multiply_add.cuh"  //@ multiply_add

