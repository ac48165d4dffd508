#include "parts/offsets.cuh"  //@ numbers_of_groups

// A group, its rows, how many rows of tiles it has, and how many all groups in front of it.
struct group_t {
    int number;
    index_t begin, end;
    int tiles, before;
};

//@ if masked
//@| #include "parts/find_group.cuh"  //@ find_group  //@ with count for offset, counts for offsets
//@| #include "parts/count_tiles.cuh"  //@ with count for offset, counts for offsets  //@ only walks
//@ else
#include "parts/find_group.cuh"  //@ find_group
//@| #include "parts/count_tiles.cuh"  //@ only walks
//@ end

