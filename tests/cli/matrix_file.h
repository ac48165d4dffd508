/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix_file: .npy files for tests of commands that read them.
 */
#ifndef TJ_MATRIX_FILE_H
#define TJ_MATRIX_FILE_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "npy.h"
#include "shell.h"

/** Write whole numbers from -3 to 3, or zeros if they are not of f32, to a file of the test's folder. */
static inline void write_matrix(const char *name, tj_type dtype, int rank, int64_t a, int64_t b, int64_t c,
                                int is_fortran_order)
{
    tj_npy array = {dtype, rank, {a, b, c}, is_fortran_order, NULL, 0};
    int64_t count = a * b * (rank == 3 ? c : 1);
    char path[PATH_MAX];
    tj_output file;
    tj_error err;

    array.bytes = (size_t)count * tj_type_bytes(dtype);
    array.data = calloc(array.bytes + 1, 1);
    for (int64_t i = 0; i < count; i++) {
        float value = (float)(i % 7) - 3.0f;
        float *to = NULL;

        if (dtype == TJ_F32) {
            to = (float *)array.data + i;
            *to = value;
        }
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert(eq(int, tj_output_open(path, &file, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_npy_write(&file, &array, &err), TJ_OK), "%s", err.message);
    tj_output_close(&file);
    free(array.data);
}

#endif
