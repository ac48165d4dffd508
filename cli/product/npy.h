/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy: NumPy's .npy files, format 1.0 to 3.0.
 *
 * Types: '<f4', '<f8', '<f2', '|i1', '|u1', '<i4', the same big-endian, and what ml_dtypes writes: bfloat16 as two bytes of
 * type V ('|V2', '<V2') or the name 'bfloat16', float8_e4m3fn as one ('|V1', '<V1'), float8_e5m2 as '<f1'. Rank 2, or 3 for a
 * batch in C order. Knows files; does not know products.
 */
#ifndef TJ_CLI_NPY_H
#define TJ_CLI_NPY_H

#include <stddef.h>
#include <stdint.h>

#include <tilejit/problem.h>

#include "input.h"
#include "output.h"

/** One array. data is owned; release with tj_npy_drop. */
typedef struct tj_npy {
    tj_type dtype;
    int rank;             /* 2 or 3; from tj_npy_read_operand also 1 */
    int64_t shape[3];     /* as NumPy shows it: {rows, columns} or {batch, rows, columns} */
    int is_fortran_order; /* 1: the first index runs fastest; rank 2 only */
    void *data;           /* host byte order, contiguous */
    size_t bytes;         /* size of data */
} tj_npy;

/**
 * Read a whole file or pipe; path "-" is standard input. Errors name the file, what it holds and the remedy: TJ_ERR_NOT_FOUND,
 * TJ_ERR_IO, TJ_ERR_INVALID_ARGUMENT (not a .npy file, a header that is damaged, a size that does not fit the shape),
 * TJ_ERR_UNSUPPORTED (element type, rank), TJ_ERR_OUT_OF_MEMORY. On failure *array is all zero.
 */
tj_status tj_npy_read(const char *path, tj_npy *array, tj_error *err);

/** Like tj_npy_read, for an array that may be a vector: rank 1, 2 or 3. */
tj_status tj_npy_read_operand(const char *path, tj_npy *array, tj_error *err);

/** Like tj_npy_read, from memory: the fuzzer's entry. name is for messages. */
tj_status tj_npy_parse(const char *name, const unsigned char *bytes, size_t size, tj_npy *array, tj_error *err);

/** Write as NumPy does: format 1.0, bf16 as '<V2'. Errors: TJ_ERR_IO, TJ_ERR_INVALID_ARGUMENT (an inconsistent array). */
tj_status tj_npy_write(const tj_output *out, const tj_npy *array, tj_error *err);

/** Release the data. Accepts an all-zero array. */
void tj_npy_drop(tj_npy *array);

#endif
