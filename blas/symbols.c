/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols: dlsym, for programs that open cuBLAS by themselves.
 *
 * RTLD_NEXT and RTLD_DEFAULT refer to the object that calls dlsym, which libc finds by the return address. So libc's function
 * has to be entered by a jump, as -foptimize-sibling-calls compiles a last call (CMakeLists.txt). A test holds that.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "functions.h"
#include "loader.h"

/* NULL: the caller gets what libc finds. */
__attribute__((noinline)) static void *replace(void *handle, const char *name, const void *caller)
{
    void *replacement, *real;

    if (blas_depth > 0 || handle == RTLD_NEXT || handle == RTLD_DEFAULT)
        return NULL;
    replacement = blas_replacement(name);
    real = replacement ? blas_dlsym()(handle, name) : NULL;
    return real && real != replacement && blas_note_symbol(caller, name, real) ? replacement : NULL;
}

BLAS_EXPORT void *dlsym(void *restrict handle, const char *restrict name)
{
    void *replacement = NULL;

    if (name[0] == 'c' && name[1] == 'u' && name[2] == 'b')
        replacement = replace(handle, name, __builtin_return_address(0));
    if (replacement)
        return replacement;
    return blas_dlsym()(handle, name);
}
