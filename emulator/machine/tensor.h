/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor: the content of a tensor map, and the layout of a tile in shared memory.
 *
 * The 128 bytes of a map are opaque to programs. The emulator stores its arguments there, and a checksum that tells whether 128
 * bytes are a map.
 */
#ifndef EMU_TENSOR_H
#define EMU_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

enum { EMU_DIMENSIONS = 5, EMU_TENSOR_BYTES = 128, EMU_TENSOR_ALIGNMENT = 64, EMU_MOST_OF_BOX = 256 };

/** CUtensorMapDataType, the supported ones. */
typedef enum emu_element {
    EL_U8,
    EL_U16,
    EL_U32,
    EL_S32,
    EL_U64,
    EL_S64,
    EL_F16,
    EL_F32,
    EL_F64,
    EL_BF16,
    EL_F32_FTZ,
    EL_TF32,
    EL_TF32_FTZ,
    EL_COUNT
} emu_element;

typedef struct emu_tensor {
    uint64_t address;
    uint64_t extent[EMU_DIMENSIONS];     /* in elements, the innermost first */
    uint64_t stride[EMU_DIMENSIONS - 1]; /* in bytes, from the second dimension */
    uint16_t box[EMU_DIMENSIONS];
    uint8_t step[EMU_DIMENSIONS];
    uint8_t rank, element; /* emu_element */
    uint8_t swizzle;       /* 0, or 1, 2, 3 for spans of 32, 64 and 128 bytes; 4: 128 bytes, of which 32 move together */
    bool fills_nan;        /* fill with NaN outside the tensor */
    uint64_t unused[2];
    uint64_t checksum;
} emu_tensor;

/** Return the bytes of an element. */
unsigned emu_element_bytes(emu_element element);
bool emu_element_is_float(emu_element element);

/** Convert an element as a copy does: subnormals may be flushed, and f32 rounded to tf32. */
uint64_t emu_element_converted(emu_element element, uint64_t bits);

/** Return the value that fills elements outside the tensor. */
uint64_t emu_element_outside(const emu_tensor *tensor);

/** Is the map valid? Checks its type and swizzle. */
bool emu_tensor_is_right(const emu_tensor *tensor);

/** Seal a map that was just filled in; check whether one is sealed. */
void emu_tensor_seal(emu_tensor *tensor);
bool emu_tensor_is_sealed(const emu_tensor *tensor);

/** Return the elements of a tile along a dimension. */
static inline uint32_t emu_tile_count(const emu_tensor *tensor, int dimension)
{
    const uint32_t step = dimension ? tensor->step[dimension] : 1; /* the innermost dimension has no step */

    return (tensor->box[dimension] + step - 1) / step;
}

/** Return the bytes of a tile in shared memory. */
uint32_t emu_tile_bytes(const emu_tensor *tensor);

/** Return the swizzled address of data that would lie at `address` without swizzling; chunks of 16 or 32 bytes move. */
static inline uint32_t emu_swizzled(const emu_tensor *tensor, uint32_t address)
{
    const uint32_t mask = (1u << tensor->swizzle) - 1;

    return tensor->swizzle == 4 ? address ^ (address >> 7 & 3) << 5 : address ^ ((address >> 7 & mask) << 4);
}

/** A row of a tile: its elements along the innermost dimension. */
typedef struct emu_tile_line {
    bool is_inside;        /* at least in part */
    uint32_t first, count; /* elements inside the tensor, from the first one of the row */
    uint64_t address;      /* of the first of them */
} emu_tile_line;

/** Return row n of the tile at some coordinates. */
emu_tile_line emu_tile_line_at(const emu_tensor *tensor, const int32_t coordinate[EMU_DIMENSIONS], uint32_t n);

#endif
