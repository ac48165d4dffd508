/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include <stddef.h>

_Static_assert(sizeof(emu_tensor) == EMU_TENSOR_BYTES, "a tensor map has 128 bytes");

static const struct {
    uint8_t bytes, is_float, exponent_bits;
    bool flushes, is_tf32;
} elements[EL_COUNT] = {
    [EL_U8] = {1, 0, 0, 0, 0},       [EL_U16] = {2, 0, 0, 0, 0},  [EL_U32] = {4, 0, 0, 0, 0},     [EL_S32] = {4, 0, 0, 0, 0},
    [EL_U64] = {8, 0, 0, 0, 0},      [EL_S64] = {8, 0, 0, 0, 0},  [EL_F16] = {2, 1, 5, 0, 0},     [EL_F32] = {4, 1, 8, 0, 0},
    [EL_F64] = {8, 1, 11, 0, 0},     [EL_BF16] = {2, 1, 8, 0, 0}, [EL_F32_FTZ] = {4, 1, 8, 1, 0}, [EL_TF32] = {4, 1, 8, 0, 1},
    [EL_TF32_FTZ] = {4, 1, 8, 1, 1},
};

unsigned emu_element_bytes(emu_element element)
{
    return elements[element].bytes;
}

bool emu_element_is_float(emu_element element)
{
    return elements[element].is_float;
}

/* f32 is rounded to the nearest tf32, ties away from zero, as by cvt.rna. */
uint64_t emu_element_converted(emu_element element, uint64_t bits)
{
    const uint32_t exponent = 0x7f800000, low = 0x1fff;

    if (elements[element].flushes && (bits & exponent) == 0)
        bits &= 0x80000000;
    if (elements[element].is_tf32 && (bits & exponent) != exponent)
        bits = (uint32_t)(bits + (low + 1) / 2) & ~low;
    return bits;
}

uint64_t emu_element_outside(const emu_tensor *tensor)
{
    const unsigned bits = 8 * elements[tensor->element].bytes;

    return tensor->fills_nan ? UINT64_MAX >> (64 - bits) >> 1 : 0;
}

bool emu_tensor_is_right(const emu_tensor *tensor)
{
    enum { UNIT = 16, MOST_STEPS = 8 };
    static const unsigned spans[] = {UINT32_MAX, 32, 64, 128, 128}; /* largest first dimension of a box, by swizzle */
    const uint64_t most_extent = UINT64_C(1) << 32, most_stride = UINT64_C(1) << 40;
    const unsigned line = tensor->box[0] * elements[tensor->element].bytes;
    bool is_right = tensor->address && tensor->address % UNIT == 0 && tensor->rank > 0;

    for (unsigned i = 0; i < tensor->rank; i++) {
        is_right &= tensor->extent[i] > 0 && tensor->extent[i] <= most_extent;
        is_right &= tensor->box[i] > 0 && tensor->box[i] <= EMU_MOST_OF_BOX;
        is_right &= i == 0 || (tensor->step[i] > 0 && tensor->step[i] <= MOST_STEPS);
        is_right &= i == 0 || (tensor->stride[i - 1] % UNIT == 0 && tensor->stride[i - 1] < most_stride);
    }
    return is_right && line % UNIT == 0 && line <= spans[tensor->swizzle] &&
           (!tensor->fills_nan || elements[tensor->element].is_float);
}

static uint64_t checksum_of(const emu_tensor *tensor)
{
    const uint8_t *at = (const uint8_t *)tensor;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < offsetof(emu_tensor, checksum); i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

void emu_tensor_seal(emu_tensor *tensor)
{
    tensor->checksum = checksum_of(tensor);
}

bool emu_tensor_is_sealed(const emu_tensor *tensor)
{
    return tensor->checksum == checksum_of(tensor);
}

uint32_t emu_tile_bytes(const emu_tensor *tensor)
{
    uint64_t bytes = elements[tensor->element].bytes;

    for (int i = 0; i < tensor->rank; i++)
        bytes *= emu_tile_count(tensor, i);
    return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

emu_tile_line emu_tile_line_at(const emu_tensor *tensor, const int32_t coordinate[EMU_DIMENSIONS], uint32_t n)
{
    const int64_t from = coordinate[0], width = tensor->box[0], extent = (int64_t)tensor->extent[0];
    const int64_t first = from < 0 ? -from : 0, last = extent - from < width ? extent - from : width;
    emu_tile_line line = {.is_inside = first < last, .address = tensor->address};

    for (int i = 1; i < tensor->rank; i++) {
        const uint32_t count = emu_tile_count(tensor, i);
        const int64_t at = coordinate[i] + (int64_t)(n % count) * tensor->step[i];
        n /= count;
        line.is_inside &= at >= 0 && at < (int64_t)tensor->extent[i];
        line.address += (uint64_t)at * tensor->stride[i - 1];
    }
    if (!line.is_inside)
        return line;
    line.first = (uint32_t)first;
    line.count = (uint32_t)(last - first);
    line.address += (uint64_t)(from + first) * elements[tensor->element].bytes;
    return line;
}
