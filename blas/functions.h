/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions: the functions that libtilejit_blas.so replaces, and the real ones.
 *
 * A program reaches cuBLAS in one of two ways. Either the loader binds its symbols: then it finds those of a preloaded library
 * first, whatever opened the program's own libraries and with which flags. Or the program opens the library and asks dlsym,
 * which never looks at a preloaded library: so dlsym is replaced too (symbols.c).
 *
 * A process may have several cuBLAS libraries in memory. Each call goes on to the one that its caller would have reached.
 */
#ifndef TJ_BLAS_FUNCTIONS_H
#define TJ_BLAS_FUNCTIONS_H

#include <stdatomic.h>
#include <stdbool.h>

#define BLAS_EXPORT __attribute__((visibility("default")))

/** The products of libcublas, each with a form whose sizes have 64 bits. X(name) */
#define BLAS_PRODUCTS(X)           \
    X(cublasSgemm_v2)              \
    X(cublasDgemm_v2)              \
    X(cublasHgemm)                 \
    X(cublasSgemmStridedBatched)   \
    X(cublasDgemmStridedBatched)   \
    X(cublasHgemmStridedBatched)   \
    X(cublasSgemmBatched)          \
    X(cublasDgemmBatched)          \
    X(cublasHgemmBatched)          \
    X(cublasSgemmEx)               \
    X(cublasGemmEx)                \
    X(cublasGemmStridedBatchedEx)  \
    X(cublasGemmBatchedEx)         \
    X(cublasSgemmGroupedBatched)   \
    X(cublasDgemmGroupedBatched)   \
    X(cublasGemmGroupedBatchedEx)  \
    X(cublasCgemm_v2)              \
    X(cublasZgemm_v2)              \
    X(cublasCgemm3m)               \
    X(cublasZgemm3m)               \
    X(cublasCgemmEx)               \
    X(cublasCgemm3mEx)             \
    X(cublasCgemmStridedBatched)   \
    X(cublasZgemmStridedBatched)   \
    X(cublasCgemm3mStridedBatched) \
    X(cublasCgemmBatched)          \
    X(cublasZgemmBatched)          \
    X(cublasCgemm3mBatched)        \
    X(cublasSsyrk_v2)              \
    X(cublasDsyrk_v2)              \
    X(cublasCsyrk_v2)              \
    X(cublasZsyrk_v2)              \
    X(cublasCsyrkEx)               \
    X(cublasCsyrk3mEx)             \
    X(cublasSsyrkx)                \
    X(cublasDsyrkx)                \
    X(cublasCsyrkx)                \
    X(cublasZsyrkx)                \
    X(cublasCherk_v2)              \
    X(cublasZherk_v2)              \
    X(cublasCherkEx)               \
    X(cublasCherk3mEx)

/** Functions that make a handle, or change its workspace. */
#define BLAS_SETTERS(X)      \
    X(cublasCreate_v2)       \
    X(cublasSetWorkspace_v2) \
    X(cublasSetStream_v2)    \
    X(cublasDestroy_v2)

/** Functions that are asked, and not replaced: first of libcublas, then of libcublasLt. */
#define BLAS_GETTERS(X)        \
    X(cublasGetStream_v2)      \
    X(cublasGetMathMode)       \
    X(cublasGetPointerMode_v2) \
    X(cublasGetSmCountTarget)
#define BLAS_LT_GETTERS(X)            \
    X(cublasLtMatmulDescGetAttribute) \
    X(cublasLtMatrixLayoutGetAttribute)

/* clang-format off */
typedef enum blas_function {
#define BLAS_BOTH(name) BLAS_##name, BLAS_##name##_64,
#define BLAS_ONE(name) BLAS_##name,
    BLAS_PRODUCTS(BLAS_BOTH)
    BLAS_SETTERS(BLAS_ONE)
    BLAS_cublasLtMatmul, /* the first of libcublasLt */
    BLAS_cublasLtCreate,
    BLAS_REPLACED, /* functions before this number are replaced */
    BLAS_BEFORE_GETTERS = BLAS_REPLACED - 1,
    BLAS_GETTERS(BLAS_ONE)
    BLAS_LT_GETTERS(BLAS_ONE)
    BLAS_FUNCTIONS
#undef BLAS_BOTH
#undef BLAS_ONE
} blas_function;
/* clang-format on */

/** A library of cuBLAS in memory. It lives as long as the process. */
typedef struct blas_library blas_library;

/**
 * Find the function that a caller would reach without this library. caller: an address in its code, such as a return address.
 * real: the address of a pointer to such a function, which is set. Return the library that has it; NULL: there is none. Threads:
 * any; without a lock from the second call of a caller on.
 */
blas_library *blas_find_real(blas_function function, const void *caller, void *real);

/** Is that the path of a cuBLAS or cuBLASLt? */
bool blas_is_library(const char *path);

/** Return a function of that library; NULL: it has none of that name. */
void *blas_real(blas_library *library, blas_function function);

/** Return this library's function of that name, as dlsym gives it to programs; NULL: that name is not replaced. */
void *blas_replacement(const char *name);

/**
 * Count the calls of real functions that this thread is in: what a library of cuBLAS calls and looks up by itself is then left
 * alone.
 */
extern _Thread_local int blas_depth __attribute__((tls_model("initial-exec"), visibility("hidden")));

/**
 * Note that the object of a caller is given the replacement for a function of the library that holds `real`. false: it must be
 * given the real one: that is not of cuBLAS, or the object is linked with another cuBLAS, or was given functions of another.
 */
bool blas_note_symbol(const void *caller, const char *name, void *real);

#endif
