// What one phase needs. The tiles lie as M and N do: a line holds neighbours in memory.
//@| constexpr int CHUNK = 16 / sizeof(input_t);  // elements of 16 bytes  //@ n_tile_t for input_t  //@ only m_stored
constexpr int CHUNK = 16 / sizeof(input_t);  // elements of 16 bytes  //@ m_tile_t for input_t  //@ only not m_stored
constexpr int M_LINES = BM, M_LINE = BK;  // lines, and elements of a line  //@ m_along for BK  //@ only m_row_major
//@| constexpr int M_LINES = BK, M_LINE = BM;  // lines, and elements of a line  //@ m_across for BM  //@ only not m_row_major
constexpr int N_LINES = BK, N_LINE = BN;  //@ n_across for BN  //@ only n_row_major
//@| constexpr int N_LINES = BN, N_LINE = BK;  //@ n_along for BK  //@ only not n_row_major
constexpr int M_PITCH = M_LINE + 0;  // from one line to the next: so much more keeps lanes in different banks
constexpr int N_PITCH = N_LINE + 0;
struct __align__(128) phase_t {
    //@| input_t M[M_LINES * M_PITCH];  //@ m_t for input_t  //@ only m_stored
    input_t M[M_LINES * M_PITCH];  //@ m_tile_t for input_t  //@ only not m_stored
    //@| input_t N[N_LINES * N_PITCH];  //@ n_t for input_t  //@ only n_stored
    input_t N[N_LINES * N_PITCH];  //@ n_tile_t for input_t  //@ only not n_stored
};

//@ if mma_f64
//@| // Where an element of a line lies in its tile. In plain order lanes that load together would find their elements in the same banks. So
//@| // groups of 4 elements, 32 bytes, change places in a line, in another way in each of 4 lines that follow each other.
//@ else
// Where an element of a line lies in its tile.
//@ end
__device__ __forceinline__ int m_place(int line, int element)
{
    //@ if m_bytes
    //@| const int reader = line % 2 + line / 4 % 4 * 2;  // ldmatrix reads lines in the order of line_of_bytes
    //@| return swizzle<M_LINE / CHUNK>(line, element / CHUNK, reader) * CHUNK + element % CHUNK;
    //@ elif m_stored
    //@| return swizzle<M_LINE / WEIGHTS_CHUNK>(line, element / WEIGHTS_CHUNK, line % 8) * WEIGHTS_CHUNK + element % WEIGHTS_CHUNK;
    //@ elif mma_f64
    //@| return line * M_LINE + (element ^ line % 4 * 4);
    //@ elif m_swizzles
    return swizzle<M_LINE / CHUNK>(line, element / CHUNK, line % 8) * CHUNK + element % CHUNK;
    //@ else
    //@| return line * M_PITCH + element;
    //@ end
}

__device__ __forceinline__ int n_place(int line, int element)
{
    //@ if n_bytes
    //@| const int reader = line % 2 + line / 4 % 4 * 2;  // ldmatrix reads lines in the order of line_of_bytes
    //@| return swizzle<N_LINE / CHUNK>(line, element / CHUNK, reader) * CHUNK + element % CHUNK;
    //@ elif n_stored
    //@| return swizzle<N_LINE / WEIGHTS_CHUNK>(line, element / WEIGHTS_CHUNK, line % 8) * WEIGHTS_CHUNK + element % WEIGHTS_CHUNK;
    //@ elif mma_f64
    //@| return line * N_LINE + (element ^ line % 4 * 4);
    //@ elif n_swizzles
    return swizzle<N_LINE / CHUNK>(line, element / CHUNK, line % 8) * CHUNK + element % CHUNK;
    //@ else
    //@| return line * N_PITCH + element;
    //@ end
}

