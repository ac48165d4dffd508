/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dropped: did ptxas leave products of the tensor cores out of a CUBIN?
 *
 * A product whose sums ptxas believes to be those of another one stays in the code as an instruction whose sums go to no
 * register. CUDA 13.0 believes so of products that differ (docs/compilers.md). No product of the generator could be left out, so
 * such an instruction says that the kernel is wrong.
 */
#ifndef TJ_SRC_DROPPED_H
#define TJ_SRC_DROPPED_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Return whether a CUBIN for sm_90a has a wgmma whose sums go to no register. Bytes that are not an ELF file of 64 bits with
 * sections have none. NULL: false.
 */
bool tj_cubin_drops_products(const void *cubin, size_t bytes);

/** Is it one of those that are looked for? Instructions have 16 bytes. */
typedef bool (*tj_cubin_test)(const unsigned char *instruction);

/** Return whether a CUBIN has such an instruction. A file that is not ELF, as above, has none. */
bool tj_cubin_has(const void *cubin, size_t bytes, tj_cubin_test is_one);

/** Return the operation of an instruction: its lowest 12 bits. */
static inline int tj_cubin_operation(const unsigned char *instruction)
{
    return instruction[0] | (instruction[1] & 0xf) << 8;
}

#endif
