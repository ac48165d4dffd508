// Tiles that are transposed come in squares, LINE lines of LINE elements. A line has eight chunks of 16 bytes, of which chunk c of line i
// lies at place c ^ i % 8. CHUNK lines are a group: as many as a chunk has elements. A lane takes chunk c of each line of group a, and
// puts the same elements as chunk a of each line of group c. Eight lanes side by side have the same a ^ c: together they put chunks
// where they took them, and meet in no bank. Half of the eight values of a ^ c keep a warp busy.
constexpr int CHUNK = 16 / sizeof(input_t);  //@ m_t for input_t

//@| #include "parts/transpose_bytes.cuh"  //@ only square_bytes
__device__ __forceinline__ void transpose_half(void *square, int half, int lane, int skip, int left)  //@ , , , divides_k, divides_k
{
    // Of eight lines in a row, each differs from the first by an exclusive or: of its number, in its address and in the chunk's place.
    const auto first = [&](int group, int chunk) { return shared_address(square) + group * CHUNK * 128 + (chunk ^ group * CHUNK % 8) * 16; };
    const auto line = [](unsigned first, int i) { return (first + i / 8 * 1024) ^ i % 8 * (128 + 16); };
    const int a = lane % 8, c = a ^ (half * 4 + lane / 8);
    const unsigned from = first(a, c), to = first(c, a);
    chunk_t taken[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; ++i)
        taken[i] = take_chunk(line(from, i));
    //@| #include "wgmma/clear_taken.cuh"  //@ only divides_k
    __syncwarp();  // all have taken theirs
#pragma unroll
    for (int w = 0; w < 4; ++w) {  // word w of each chunk
        //@| #include "wgmma/put_bytes.cuh"  //@ only square_bytes
        put_chunk(line(to, w), taken[0].element[w], taken[1].element[w], taken[2].element[w], taken[3].element[w]);  //@ only not square_bytes
    }
}

