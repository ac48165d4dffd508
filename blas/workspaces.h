/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspaces: the device memory that a program gave to a handle of cuBLAS. Work of one stream may share it, whoever computes: a
 * kernel of TileJIT then needs none of the driver's. No function of cuBLAS tells it, so that it is remembered.
 */
#ifndef TJ_BLAS_WORKSPACES_H
#define TJ_BLAS_WORKSPACES_H

#include <stddef.h>

/** Remember the workspace of a handle; NULL: it has none any more. Threads: any. Handles beyond some 500 are not remembered. */
void blas_workspace_set(const void *handle, void *workspace, size_t bytes);

/** Return the workspace of a handle, and its bytes; NULL and 0: none is known. Threads: any; without a lock. */
void *blas_workspace_get(const void *handle, size_t *bytes);

#endif
