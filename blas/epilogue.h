/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue: the work of a call after its sums, as an expression of TileJIT, and where the operands of that lie.
 *
 *     D = d_scale * function(alpha * acc + beta * c_scale * C + bias)
 *
 * Where alpha and beta lie in device memory the host does not know whether they are 0. Then the kernel looks: a 0 there makes a
 * term 0, whatever the other factor is, as in cuBLAS, which does not read the matrices then.
 */
#ifndef TJ_BLAS_EPILOGUE_H
#define TJ_BLAS_EPILOGUE_H

#include "call.h"

/** Why TileJIT has no expression for it; NULL: it has. */
const char *blas_epilogue_objection(const blas_form *form);

/** Fill in the epilogue of a problem. TJ_ERR_INVALID_ARGUMENT: its text is too long. */
tj_status blas_epilogue_take(const blas_form *form, tj_epilogue *epilogue, tj_error *err);

/** Does C take part as an operand of the expression, instead of as the problem's C? */
bool blas_epilogue_adds_operand(const blas_form *form);

/** Fill in the operands of the expression. */
void blas_epilogue_operands(const blas_call *call, const tj_epilogue *epilogue, tj_operands *operands);

#endif
