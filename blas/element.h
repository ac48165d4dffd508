/* SPDX-License-Identifier: Apache-2.0 */
/* element: the types of cuBLAS's numbers (cudaDataType_t), and scalars of them. */
#ifndef TJ_BLAS_ELEMENT_H
#define TJ_BLAS_ELEMENT_H

#include <stdbool.h>

/** A number of any type; the imaginary part of a real one is 0. */
typedef struct blas_number {
    double re, im;
} blas_number;

/** Return the tj_type of a cudaDataType_t; 0: TileJIT has none. */
int blas_element_type(int id);

/** Is that cudaDataType_t one of complex numbers? */
bool blas_element_is_complex(int id);

/** Read a scalar of the host, of a cudaDataType_t that cuBLAS takes for scalars. */
blas_number blas_element_read(int type, const void *scalar);

#endif
