/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_memory: workspaces of products that a CUDA graph computes, where the handle's is too small.
 *
 * A graph with nodes that allocate may not be cloned, nor be part of another. So the memory is the driver's, allocated while the
 * graph is captured, and a user object of the graph says when the graph and its executables are gone. Each stream of a capture
 * has a buffer of its own, and those of its calls that share one follow each other.
 *
 * The driver tells of the end on any thread, where nothing of CUDA may be called. So the memory is freed when a later call comes
 * by. At most a quarter of the memory that is free without it is taken.
 */
#ifndef TJ_BLAS_GRAPH_MEMORY_H
#define TJ_BLAS_GRAPH_MEMORY_H

#include "homes.h"

/**
 * Take device memory, in the current CUDA context, which is home, for a call on a stream that is being captured. It lives as long
 * as the graph. No other call has it until it is given back. NULL: there is none, because the driver is older than CUDA 11.3 or
 * too little memory is free. Threads: any.
 */
void *blas_graph_memory_take(const tj_driver *driver, const blas_home *home, CUstream stream, size_t bytes);

/** Give memory back after the call's kernels were launched: the next call to take it comes after them. Threads: any. */
void blas_graph_memory_give(const tj_driver *driver, CUstream stream, const void *memory);

/** Free the memory of graphs that are gone. Threads: any, but not in a capture; one atomic load if there is none. */
void blas_graph_memory_free(const tj_driver *driver);

#endif
