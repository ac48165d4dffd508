// What one phase needs. The tiles lie as M and N do: a line holds neighbours in memory.
constexpr int CHUNK = 16 / sizeof(input_t);  // elements of 16 bytes  //@ m_tile_t for input_t
constexpr int M_LINES = BM, M_LINE = BK;  // lines, and elements of a line
constexpr int N_LINES = BK, N_LINE = BN;
constexpr int M_PITCH = M_LINE + 0;  // from one line to the next: so much more keeps lanes in different banks
constexpr int N_PITCH = N_LINE + 0;
struct __align__(128) phase_t {
    input_t M[M_LINES * M_PITCH];  //@ m_stored_t for input_t
    input_t N[N_LINES * N_PITCH];  //@ n_stored_t for input_t
};

#include "mma/place_note.cuh"  //@ place_note
#include "mma/place_swizzled.cuh"  //@ m_places

#include "mma/place_swizzled.cuh"  //@ n_places  //@ with n for m, N for M

