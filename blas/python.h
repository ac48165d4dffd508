/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python: the Python stack of the calling thread, where the process has an interpreter.
 *
 * Programs call cuBLAS without the interpreter's lock, so that it has to be taken. A thread that Python does not know has no
 * Python stack, and takes no lock. Nothing here runs Python code.
 */
#ifndef TJ_BLAS_PYTHON_H
#define TJ_BLAS_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

/** Write "file:line function" for each frame, a line each, the innermost first, as far as there is room; "": there is none. */
void blas_python_stack(char *text, size_t bytes);

/** Return the address at which the interpreter's object is loaded; NULL: there is none. */
const void *blas_python_base(void);

#endif
