/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h: TileJIT as the extension reaches it. It links nothing of TileJIT: the package hands over the addresses of the functions
 * that are named here, so that the operators share the library, and the process's one copy of it, with the rest of the package.
 */
#pragma once

#include <tilejit/tilejit.h>

/* clang-format off */
#define TILEJIT_TORCH_FUNCTIONS(X)                                                                                             \
    X(tj_matmul) X(tj_plan_prepare) X(tj_plan_workspace_bytes) X(tj_plan_release)                                              \
    X(tj_problem_print) X(tj_epilogue_parse) X(tj_epilogue_find) X(tj_type_name) X(tj_type_parse)                              \
    X(tj_buffer_create) X(tj_buffer_write) X(tj_buffer_read) X(tj_buffer_address) X(tj_buffer_free)
/* clang-format on */

namespace tilejit
{

struct Library {
#define TILEJIT_TORCH_DECLARE(name) decltype(&::name) name;
    TILEJIT_TORCH_FUNCTIONS(TILEJIT_TORCH_DECLARE)
#undef TILEJIT_TORCH_DECLARE
};

inline Library library; /* complete before the first operator runs: the package binds it when it loads the extension */

/* Return the context of products on a device, or in host memory (NULL: there is none, and the package has said why). */
inline tj_context *(*get_context)(int is_on_host);

} // namespace tilejit
