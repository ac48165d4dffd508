/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entries: the products of libcublas, under its names. Each describes its call, and passes its arguments on as they came.
 *
 * Stream, math mode and pointer mode are not remembered: the library is asked for those of the handle at each call, which takes
 * a few nanoseconds, and is right whichever way the handle was made and set. Only a workspace cannot be asked for.
 */
#include <string.h>

#include "functions.h"
#include "serve.h"
#include "workspaces.h"

typedef int get_stream_fn(void *handle, struct CUstream_st **stream);
typedef int get_int_fn(void *handle, int *value);

/* false: the library lacks a function, or the handle is not one; then cuBLAS itself answers the call. */
static bool ask_handle(blas_library *library, void *handle, blas_call *call)
{
    void *const symbol[] = {blas_real(library, BLAS_cublasGetStream_v2), blas_real(library, BLAS_cublasGetPointerMode_v2),
                            blas_real(library, BLAS_cublasGetMathMode)};
    get_stream_fn *get_stream;
    get_int_fn *get_pointer_mode, *get_math_mode;
    int pointer_mode = 0, math = 0;
    bool is_known;

    memcpy(&get_stream, &symbol[0], sizeof get_stream);
    memcpy(&get_pointer_mode, &symbol[1], sizeof get_pointer_mode);
    memcpy(&get_math_mode, &symbol[2], sizeof get_math_mode);
    if (!get_stream || !get_pointer_mode || !get_math_mode)
        return false;
    blas_depth++;
    is_known = get_stream(handle, &call->stream) == BLAS_SUCCESS && get_pointer_mode(handle, &pointer_mode) == BLAS_SUCCESS &&
               get_math_mode(handle, &math) == BLAS_SUCCESS;
    blas_depth--;
    call->form.math = math;
    call->workspace = blas_workspace_get(handle, &call->workspace_bytes);
    call->form.is_on_device = pointer_mode != BLAS_SCALARS_ON_HOST;
    return is_known;
}

static bool begin(blas_library *library, void *handle, blas_call *call, blas_visit *visit)
{
    return ask_handle(library, handle, call) && (blas_call_settle(call), blas_begin(call, visit));
}

/* The type of alpha and beta, where no argument names it. */
static int scalar_type_of(int compute)
{
    return compute == BLAS_COMPUTE_16F || compute == BLAS_COMPUTE_16F + 1        ? BLAS_R_16F
           : compute == BLAS_COMPUTE_64F || compute == BLAS_COMPUTE_64F_PEDANTIC ? BLAS_R_64F
           : compute == BLAS_COMPUTE_32I || compute == BLAS_COMPUTE_32I_PEDANTIC ? BLAS_R_32I
                                                                                 : BLAS_R_32F;
}

/*
 * ENTRY(FUNCTION, parameters, arguments, description): the parameters in parentheses, the arguments likewise; the description
 * sets members of `form` and `call`.
 */
/* clang-format off */
#define ENTRY(FUNCTION, parameters, arguments, description)                                                      \
    BLAS_EXPORT int FUNCTION parameters;                                                                         \
    BLAS_EXPORT int FUNCTION parameters                                                                          \
    {                                                                                                            \
        blas_library *const library = blas_find_library(BLAS_##FUNCTION, __builtin_return_address(0));           \
        void *const symbol = library ? blas_real(library, BLAS_##FUNCTION) : NULL;                               \
        blas_visit visit = {0};                                                                                  \
        int(*real) parameters;                                                                                   \
        int status;                                                                                              \
                                                                                                                 \
        memcpy(&real, &symbol, sizeof real);                                                                     \
        if (!real)                                                                                               \
            return BLAS_NOT_INITIALIZED;                                                                         \
        if (blas_depth == 0 && blas_is_asked()) {                                                                \
            blas_call call = {.name = #FUNCTION, .alpha = alpha, .beta = beta};                                  \
            blas_form *const form = &call.form;                                                                  \
                                                                                                                 \
            *form = (blas_form){.m = m, .n = n, .k = k, .batch = 1, .op_a = op_a, .op_b = op_b};                 \
            form->epilogue = BLAS_EPILOGUE_NONE;                                                                 \
            form->ld[BLAS_A] = lda, form->ld[BLAS_B] = ldb, form->ld[BLAS_C] = form->ld[BLAS_D] = ldc;           \
            call.address[BLAS_A] = a, call.address[BLAS_B] = b, call.address[BLAS_C] = call.address[BLAS_D] = c; \
            description                                                                                          \
            if (begin(library, handle, &call, &visit))                                                           \
                return BLAS_SUCCESS;                                                                             \
        }                                                                                                        \
        blas_depth++;                                                                                            \
        status = real arguments;                                                                                 \
        blas_depth--;                                                                                            \
        blas_end(&visit, status);                                                                                \
        return status;                                                                                           \
    }
/* clang-format on */

#define TYPES(a, b, d, scalar, way)                                                                    \
    form->type[BLAS_A] = (a), form->type[BLAS_B] = (b), form->type[BLAS_C] = form->type[BLAS_D] = (d); \
    form->scalar_type = (scalar), form->compute = (way);

#define STRIDES                                                       \
    form->batch = batch;                                              \
    form->stride[BLAS_A] = stride_a, form->stride[BLAS_B] = stride_b; \
    form->stride[BLAS_C] = form->stride[BLAS_D] = stride_c;

#define POINTERS form->batch = batch, form->is_pointers = 1;

/* cublasSgemm_v2 and its like: T is the type of the matrices and of the scalars. */
#define OF_TYPE(name, INT, T, type, way)                                                                                    \
    ENTRY(name,                                                                                                             \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const T *alpha, const T *a, INT lda, const T *b, INT ldb, \
           const T *beta, T *c, INT ldc),                                                                                   \
          (handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), TYPES(type, type, type, type, way))

#define STRIDED(name, INT, T, type, way)                                                                                   \
    ENTRY(name,                                                                                                            \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const T *alpha, const T *a, INT lda, long long stride_a, \
           const T *b, INT ldb, long long stride_b, const T *beta, T *c, INT ldc, long long stride_c, INT batch),          \
          (handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch),         \
          TYPES(type, type, type, type, way) STRIDES)

#define BATCHED(name, INT, T, type, way)                                                                      \
    ENTRY(name,                                                                                               \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const T *alpha, const T *const *a, INT lda, \
           const T *const *b, INT ldb, const T *beta, T *const *c, INT ldc, INT batch),                       \
          (handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch),                          \
          TYPES(type, type, type, type, way) POINTERS)

/* clang-format off */
#define BOTH(MACRO, name, ...) MACRO(name, int, __VA_ARGS__) MACRO(name##_64, int64_t, __VA_ARGS__)
/* clang-format on */

BOTH(OF_TYPE, cublasSgemm_v2, float, BLAS_R_32F, BLAS_COMPUTE_32F)
BOTH(OF_TYPE, cublasDgemm_v2, double, BLAS_R_64F, BLAS_COMPUTE_64F)
BOTH(OF_TYPE, cublasHgemm, uint16_t, BLAS_R_16F, BLAS_COMPUTE_16F)
BOTH(STRIDED, cublasSgemmStridedBatched, float, BLAS_R_32F, BLAS_COMPUTE_32F)
BOTH(STRIDED, cublasDgemmStridedBatched, double, BLAS_R_64F, BLAS_COMPUTE_64F)
BOTH(STRIDED, cublasHgemmStridedBatched, uint16_t, BLAS_R_16F, BLAS_COMPUTE_16F)
BOTH(BATCHED, cublasSgemmBatched, float, BLAS_R_32F, BLAS_COMPUTE_32F)
BOTH(BATCHED, cublasDgemmBatched, double, BLAS_R_64F, BLAS_COMPUTE_64F)
BOTH(BATCHED, cublasHgemmBatched, uint16_t, BLAS_R_16F, BLAS_COMPUTE_16F)

#define OF_ANY(name, INT)                                                                                                \
    ENTRY(name,                                                                                                          \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a, int type_a, INT lda, \
           const void *b, int type_b, INT ldb, const void *beta, void *c, int type_c, INT ldc, int compute, int algo),   \
          (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, compute, algo),     \
          TYPES(type_a, type_b, type_c, scalar_type_of(compute), compute))

#define STRIDED_OF_ANY(name, INT)                                                                                             \
    ENTRY(name,                                                                                                               \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a, int type_a, INT lda,      \
           long long stride_a, const void *b, int type_b, INT ldb, long long stride_b, const void *beta, void *c, int type_c, \
           INT ldc, long long stride_c, INT batch, int compute, int algo),                                                    \
          (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c, type_c, ldc,      \
           stride_c, batch, compute, algo),                                                                                   \
          TYPES(type_a, type_b, type_c, scalar_type_of(compute), compute) STRIDES)

#define BATCHED_OF_ANY(name, INT)                                                                                           \
    ENTRY(name,                                                                                                             \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *const *a, int type_a,      \
           INT lda, const void *const *b, int type_b, INT ldb, const void *beta, void *const *c, int type_c, INT ldc,       \
           INT batch, int compute, int algo),                                                                               \
          (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, batch, compute, algo), \
          TYPES(type_a, type_b, type_c, scalar_type_of(compute), compute) POINTERS)

#define WITH_F32(name, INT)                                                                                               \
    ENTRY(name,                                                                                                           \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const float *alpha, const void *a, int type_a, INT lda, \
           const void *b, int type_b, INT ldb, const float *beta, void *c, int type_c, INT ldc),                          \
          (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc),                     \
          TYPES(type_a, type_b, type_c, BLAS_R_32F, BLAS_COMPUTE_32F))

OF_ANY(cublasGemmEx, int)
OF_ANY(cublasGemmEx_64, int64_t)
STRIDED_OF_ANY(cublasGemmStridedBatchedEx, int)
STRIDED_OF_ANY(cublasGemmStridedBatchedEx_64, int64_t)
BATCHED_OF_ANY(cublasGemmBatchedEx, int)
BATCHED_OF_ANY(cublasGemmBatchedEx_64, int64_t)
WITH_F32(cublasSgemmEx, int)
WITH_F32(cublasSgemmEx_64, int64_t)

/* ---- handles ---------------------------------------------------------------------------------------------------------- */

BLAS_EXPORT int cublasCreate_v2(void **handle);

/* The library prepares itself for some 100 ms, in which the kernels of the last run come, too. */
BLAS_EXPORT int cublasCreate_v2(void **handle)
{
    blas_library *const library = blas_find_library(BLAS_cublasCreate_v2, __builtin_return_address(0));
    void *const symbol = library ? blas_real(library, BLAS_cublasCreate_v2) : NULL;
    int (*real)(void **handle);
    int status;

    memcpy(&real, &symbol, sizeof real);
    if (!real)
        return BLAS_NOT_INITIALIZED;
    blas_warm();
    blas_depth++;
    status = real(handle);
    blas_depth--;
    blas_warm();
    return status;
}

/* ---- workspaces ------------------------------------------------------------------------------------------------------ */

/*
 * A setter passes its arguments on; then the handle has that workspace, or with NULL the library's own. A new stream takes the
 * workspace away, as the documentation of cublasSetStream says.
 */
#define SETTER(FUNCTION, parameters, arguments, workspace, bytes)                                      \
    BLAS_EXPORT int FUNCTION parameters;                                                               \
    BLAS_EXPORT int FUNCTION parameters                                                                \
    {                                                                                                  \
        blas_library *const library = blas_find_library(BLAS_##FUNCTION, __builtin_return_address(0)); \
        void *const symbol = library ? blas_real(library, BLAS_##FUNCTION) : NULL;                     \
        int(*real) parameters;                                                                         \
        int status;                                                                                    \
                                                                                                       \
        memcpy(&real, &symbol, sizeof real);                                                           \
        if (!real)                                                                                     \
            return BLAS_NOT_INITIALIZED;                                                               \
        blas_depth++;                                                                                  \
        status = real arguments;                                                                       \
        blas_depth--;                                                                                  \
        blas_workspace_set(handle, status == BLAS_SUCCESS ? (workspace) : NULL, bytes);                \
        return status;                                                                                 \
    }

SETTER(cublasSetWorkspace_v2, (void *handle, void *given, size_t size), (handle, given, size), given, size)
SETTER(cublasSetStream_v2, (void *handle, void *stream), (handle, stream), NULL, 0)
SETTER(cublasDestroy_v2, (void *handle), (handle), NULL, 0)
