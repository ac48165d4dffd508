/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a plug-in, found by dlsym. */
#ifndef PLUGIN_H
#define PLUGIN_H

/** Make ready to multiply, on that driver and by that NVRTC (NULL: the usual ones). Return 0, or else a line for the user. */
typedef const char *gemm_open_fn(const char *driver, const char *nvrtc);

/** Multiply two matrices of ones, and compare. Return NULL, or what went wrong. */
typedef const char *gemm_multiply_fn(void);

typedef void gemm_close_fn(void);

#endif
