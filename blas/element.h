/* SPDX-License-Identifier: Apache-2.0 */
/* element: the types of cuBLAS's numbers (cudaDataType_t), and scalars of them. */
#ifndef TJ_BLAS_ELEMENT_H
#define TJ_BLAS_ELEMENT_H

/** Return the tj_type of a cudaDataType_t; 0: TileJIT has none. */
int blas_element_type(int id);

/** Read a scalar of the host, of a cudaDataType_t that cuBLAS takes for scalars. */
double blas_element_read(int type, const void *scalar);

#endif
