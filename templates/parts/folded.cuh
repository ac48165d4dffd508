// Only the tiles of one triangle are computed. Folded in the middle they are a rectangle: each row of the longer half is followed by
// a row of the shorter one.
//
//     0                2 2 2 1 1
//     1 1         ->   3 3 3 3 0
//     2 2 2
//     3 3 3 3
