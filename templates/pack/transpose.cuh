// transpose: lines become lines across them, tile by tile, through shared memory. A tile has as many lines as there are elements in
// 128 bytes, and 128 bytes of each. It comes in chunks of 16 bytes. Then a thread takes one word of each of PACK_WIDTH lines: of every
// element of the word, 16 bytes of a line of the transpose.
//
//                     word                               group
//           +---------+---+------+                +---------+---+------+
//           |         |   |      |                |         |   |      |
//           +---------+---+------+                +---------+---+------+
//     group |         |###|      |           word |         |###|      |
//           +---------+---+------+                +---------+---+------+
//           |         |   |      |                |         |   |      |
//           +---------+---+------+                +---------+---+------+
//
// Eight threads side by side take the same word of eight groups of lines. In shared memory each group begins one chunk further than
// it would, so that the lanes of a warp take words of 32 different banks.
using pack_tile_t = uint4[8 * (PACK_EDGE + 1)];

#include "parts/transpose_bytes.cuh"  //@ only pack_bytes and not square_bytes
// Of `lines` of so many elements, ld apart, the elements at the same place become lines_packed lines, ld_packed apart. What is added
// is zero.
template <bool WIDE, typename element_t>  //@ pack_wide,
__device__ __forceinline__ void transpose_lines(pack_tile_t &tile, const element_t *from, long long ld, element_t *to, long long ld_packed, long long lines_packed, long long lines, long long elements, int block)
{
    constexpr int WORD = 4 / sizeof(element_t);  // elements of a word
    const int group = threadIdx.x % 8, word = threadIdx.x / 8;
    const long long across = (lines_packed + PACK_EDGE - 1) / PACK_EDGE, along = (ld_packed + PACK_EDGE - 1) / PACK_EDGE;
    for (long long i = block; i < across * along; i += gridDim.x) {
        const long long first_line = i / across * PACK_EDGE, first = i % across * PACK_EDGE;  // of the tile
#pragma unroll
        for (int line = threadIdx.x / 8; line < PACK_EDGE; line += PACK_THREADS / 8) {
            vector_t<element_t, PACK_WIDTH> chunk = {};
            if (first_line + line < lines)
                chunk = load_chunk<WIDE>(&from[(first_line + line) * ld], first + threadIdx.x % 8 * PACK_WIDTH, elements);  //@ load_chunk for load_chunk<WIDE>
            tile[line * 8 + line / PACK_WIDTH + threadIdx.x % 8] = reinterpret_cast<const uint4 &>(chunk);
        }
        __syncthreads();  // the tile is there

        const long long line = first + word * WORD, at = first_line + group * PACK_WIDTH;  // of the transpose
        if (line < lines_packed && at < ld_packed) {
            const unsigned int *const words = reinterpret_cast<const unsigned int *>(&tile[group * (8 * PACK_WIDTH + 1)]) + word;
            //@ if pack_bytes
            uint4 column[4];  // of each line, 16 bytes
#pragma unroll
            for (int w = 0; w < 4; ++w)
                column[w] = transpose_bytes(words[128 * w], words[128 * w + 32], words[128 * w + 64], words[128 * w + 96]);
            store_chunk(&to[line * ld_packed + at], uint4{column[0].x, column[1].x, column[2].x, column[3].x});
            if (line + 1 < lines_packed)
                store_chunk(&to[(line + 1) * ld_packed + at], uint4{column[0].y, column[1].y, column[2].y, column[3].y});
            if (line + 2 < lines_packed)
                store_chunk(&to[(line + 2) * ld_packed + at], uint4{column[0].z, column[1].z, column[2].z, column[3].z});
            if (line + 3 < lines_packed)
                store_chunk(&to[(line + 3) * ld_packed + at], uint4{column[0].w, column[1].w, column[2].w, column[3].w});
            //@ else
            store_chunk(&to[line * ld_packed + at], {words[0], words[32], words[64], words[96]});
            //@ end
        }
        __syncthreads();  // everyone is done with it
    }
}

