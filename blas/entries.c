/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entries: the products of libcublas, under its names. Each describes its call, and passes its arguments on as they came.
 *
 * Stream, math mode and pointer mode are not remembered: the library is asked for those of the handle at each call, which takes
 * a few nanoseconds, and is right whichever way the handle was made and set. Only a workspace cannot be asked for.
 */
#include <string.h>

#include "element.h"
#include "functions.h"
#include "serve.h"
#include "workspaces.h"

typedef int get_stream_fn(void *handle, struct CUstream_st **stream);
typedef int get_int_fn(void *handle, int *value);

/* false: the library lacks a function, or the handle is not one; then cuBLAS itself answers the call. */
static bool ask_handle(blas_library *library, void *handle, blas_call *call)
{
    void *const symbol[] = {blas_real(library, BLAS_cublasGetStream_v2), blas_real(library, BLAS_cublasGetPointerMode_v2),
                            blas_real(library, BLAS_cublasGetMathMode), blas_real(library, BLAS_cublasGetSmCountTarget)};
    get_stream_fn *get_stream;
    get_int_fn *get_int[3];
    int value[3] = {0}; /* of a library before 11.5, which has no target of multiprocessors, 0 */
    bool is_known;

    memcpy(&get_stream, &symbol[0], sizeof get_stream);
    memcpy(get_int, &symbol[1], sizeof get_int);
    if (!get_stream || !get_int[0] || !get_int[1])
        return false;
    blas_depth++;
    is_known = get_stream(handle, &call->stream) == BLAS_SUCCESS;
    for (int i = 0; i < 3 && get_int[i]; i++)
        is_known = is_known && get_int[i](handle, &value[i]) == BLAS_SUCCESS;
    blas_depth--;
    call->form.scalars = value[0];
    call->form.math = value[1];
    call->form.multiprocessors = value[2];
    call->workspace = blas_workspace_get(handle, &call->workspace_bytes);
    return is_known;
}

static bool begin(blas_library *library, void *handle, blas_call *call, blas_visit *visit)
{
    return ask_handle(library, handle, call) && (blas_call_settle(call), blas_begin(call, visit));
}

/* The type of alpha and beta, where no argument names it. */
static int scalar_type_of(int compute, int type)
{
    return blas_element_is_complex(type)                                         ? type
           : compute == BLAS_COMPUTE_16F || compute == BLAS_COMPUTE_16F + 1      ? BLAS_R_16F
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
        int(*real) parameters;                                                                                   \
        blas_library *const library = blas_find_real(BLAS_##FUNCTION, __builtin_return_address(0), &real);       \
        blas_visit visit = {0};                                                                                  \
        int status;                                                                                              \
                                                                                                                 \
        if (!library)                                                                                            \
            return BLAS_NOT_INITIALIZED;                                                                         \
        if (blas_depth == 0 && blas_is_asked()) {                                                                \
            blas_call call = {.name = #FUNCTION, .alpha = alpha, .beta = beta};                                  \
            blas_form *const form = &call.form;                                                                  \
                                                                                                                 \
            form->epilogue = BLAS_EPILOGUE_NONE;                                                                 \
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

#define SIZES                                                                                     \
    form->m = m, form->n = n, form->k = k, form->batch = 1, form->op_a = op_a, form->op_b = op_b; \
    form->ld[BLAS_A] = lda, form->ld[BLAS_B] = ldb, form->ld[BLAS_C] = form->ld[BLAS_D] = ldc;    \
    call.address[BLAS_A] = a, call.address[BLAS_B] = b, call.address[BLAS_C] = call.address[BLAS_D] = c;

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
          (handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), SIZES TYPES(type, type, type, type, way))

#define STRIDED(name, INT, T, type, way)                                                                                   \
    ENTRY(name,                                                                                                            \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const T *alpha, const T *a, INT lda, long long stride_a, \
           const T *b, INT ldb, long long stride_b, const T *beta, T *c, INT ldc, long long stride_c, INT batch),          \
          (handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch),         \
          SIZES TYPES(type, type, type, type, way) STRIDES)

#define BATCHED(name, INT, T, type, way)                                                                      \
    ENTRY(name,                                                                                               \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const T *alpha, const T *const *a, INT lda, \
           const T *const *b, INT ldb, const T *beta, T *const *c, INT ldc, INT batch),                       \
          (handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch),                          \
          SIZES TYPES(type, type, type, type, way) POINTERS)

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

#define OF_ANY(name, INT, T)                                                                                          \
    ENTRY(name,                                                                                                       \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const T *alpha, const void *a, int type_a, INT lda, \
           const void *b, int type_b, INT ldb, const T *beta, void *c, int type_c, INT ldc, int compute, int algo),   \
          (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, compute, algo),  \
          SIZES TYPES(type_a, type_b, type_c, scalar_type_of(compute, type_c), compute))

#define STRIDED_OF_ANY(name, INT, T)                                                                                       \
    ENTRY(name,                                                                                                            \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const T *alpha, const void *a, int type_a, INT lda,      \
           long long stride_a, const void *b, int type_b, INT ldb, long long stride_b, const T *beta, void *c, int type_c, \
           INT ldc, long long stride_c, INT batch, int compute, int algo),                                                 \
          (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c, type_c, ldc,   \
           stride_c, batch, compute, algo),                                                                                \
          SIZES TYPES(type_a, type_b, type_c, scalar_type_of(compute, type_c), compute) STRIDES)

#define BATCHED_OF_ANY(name, INT, T)                                                                                         \
    ENTRY(name,                                                                                                              \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const T *alpha, const void *const *a, int type_a, INT lda, \
           const void *const *b, int type_b, INT ldb, const T *beta, void *const *c, int type_c, INT ldc, INT batch,         \
           int compute, int algo),                                                                                           \
          (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, batch, compute, algo),  \
          SIZES TYPES(type_a, type_b, type_c, scalar_type_of(compute, type_c), compute) POINTERS)

/* The matrices have any types, the scalars one. */
#define SUMMED_IN_F32(name, INT, T, scalar)                                                                           \
    ENTRY(name,                                                                                                       \
          (void *handle, int op_a, int op_b, INT m, INT n, INT k, const T *alpha, const void *a, int type_a, INT lda, \
           const void *b, int type_b, INT ldb, const T *beta, void *c, int type_c, INT ldc),                          \
          (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc),                 \
          SIZES TYPES(type_a, type_b, type_c, scalar, BLAS_COMPUTE_32F))

BOTH(OF_ANY, cublasGemmEx, void)
BOTH(STRIDED_OF_ANY, cublasGemmStridedBatchedEx, void)
BOTH(BATCHED_OF_ANY, cublasGemmBatchedEx, void)
BOTH(SUMMED_IN_F32, cublasSgemmEx, float, BLAS_R_32F)

/*
 * Complex numbers, whose scalars have the type of the matrices. The forms `3m` may compute by three products in place of four,
 * with larger errors; they get the same as the others.
 */
BOTH(OF_TYPE, cublasCgemm_v2, void, BLAS_C_32F, BLAS_COMPUTE_32F)
BOTH(OF_TYPE, cublasZgemm_v2, void, BLAS_C_64F, BLAS_COMPUTE_64F)
BOTH(OF_TYPE, cublasCgemm3m, void, BLAS_C_32F, BLAS_COMPUTE_32F)
BOTH(OF_TYPE, cublasZgemm3m, void, BLAS_C_64F, BLAS_COMPUTE_64F)
BOTH(STRIDED, cublasCgemmStridedBatched, void, BLAS_C_32F, BLAS_COMPUTE_32F)
BOTH(STRIDED, cublasZgemmStridedBatched, void, BLAS_C_64F, BLAS_COMPUTE_64F)
BOTH(STRIDED, cublasCgemm3mStridedBatched, void, BLAS_C_32F, BLAS_COMPUTE_32F)
BOTH(BATCHED, cublasCgemmBatched, void, BLAS_C_32F, BLAS_COMPUTE_32F)
BOTH(BATCHED, cublasZgemmBatched, void, BLAS_C_64F, BLAS_COMPUTE_64F)
BOTH(BATCHED, cublasCgemm3mBatched, void, BLAS_C_32F, BLAS_COMPUTE_32F)
BOTH(SUMMED_IN_F32, cublasCgemmEx, void, BLAS_C_32F)
BOTH(SUMMED_IN_F32, cublasCgemm3mEx, void, BLAS_C_32F)

/* ---- one triangle of a symmetric product ------------------------------------------------------------------------------ */

/* D = op(A) . op(B), where the operation on B is the other one of `op` and `transpose`. */
#define TRIANGLE(b, ldb, transpose)                                                              \
    form->m = form->n = n, form->k = k, form->batch = 1, form->triangle = uplo + 1;              \
    form->op_a = op, form->op_b = op == BLAS_OP_N ? (transpose) : BLAS_OP_N;                     \
    form->ld[BLAS_A] = lda, form->ld[BLAS_B] = (ldb), form->ld[BLAS_C] = form->ld[BLAS_D] = ldc; \
    call.address[BLAS_A] = a, call.address[BLAS_B] = (b), call.address[BLAS_C] = call.address[BLAS_D] = c;

/* cublasSsyrk_v2 and its like: A . A^T or A^T . A. */
#define SYRK(name, INT, T, type, way)                                                                                        \
    ENTRY(name,                                                                                                              \
          (void *handle, int uplo, int op, INT n, INT k, const T *alpha, const T *a, INT lda, const T *beta, T *c, INT ldc), \
          (handle, uplo, op, n, k, alpha, a, lda, beta, c, ldc),                                                             \
          TRIANGLE(a, lda, BLAS_OP_T) TYPES(type, type, type, type, way))

/* With a B of its own. */
#define SYRKX(name, INT, T, type, way)                                                                             \
    ENTRY(name,                                                                                                    \
          (void *handle, int uplo, int op, INT n, INT k, const T *alpha, const T *a, INT lda, const T *b, INT ldb, \
           const T *beta, T *c, INT ldc),                                                                          \
          (handle, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                                           \
          TRIANGLE(b, ldb, BLAS_OP_T) TYPES(type, type, type, type, way))

/* A . A^H or A^H . A of complex numbers, with real scalars. */
#define HERK(name, INT, T, type, way)                                                                                    \
    ENTRY(name,                                                                                                          \
          (void *handle, int uplo, int op, INT n, INT k, const T *alpha, const void *a, INT lda, const T *beta, void *c, \
           INT ldc),                                                                                                     \
          (handle, uplo, op, n, k, alpha, a, lda, beta, c, ldc),                                                         \
          TRIANGLE(a, lda, BLAS_OP_C) TYPES(type, type, type, (way) == BLAS_COMPUTE_64F ? BLAS_R_64F : BLAS_R_32F, way)  \
              form->is_hermitian = 1;)

/* Both with types of A and C that are arguments, of complex numbers whose sums are in f32. */
#define SYRK_EX(name, INT, T, scalar, transpose, hermitian)                                                                 \
    ENTRY(name,                                                                                                             \
          (void *handle, int uplo, int op, INT n, INT k, const T *alpha, const void *a, int type_a, INT lda, const T *beta, \
           void *c, int type_c, INT ldc),                                                                                   \
          (handle, uplo, op, n, k, alpha, a, type_a, lda, beta, c, type_c, ldc),                                            \
          TRIANGLE(a, lda, transpose) TYPES(type_a, type_a, type_c, scalar, BLAS_COMPUTE_32F) form->is_hermitian = hermitian;)

BOTH(SYRK, cublasSsyrk_v2, float, BLAS_R_32F, BLAS_COMPUTE_32F)
BOTH(SYRK, cublasDsyrk_v2, double, BLAS_R_64F, BLAS_COMPUTE_64F)
BOTH(SYRK, cublasCsyrk_v2, void, BLAS_C_32F, BLAS_COMPUTE_32F)
BOTH(SYRK, cublasZsyrk_v2, void, BLAS_C_64F, BLAS_COMPUTE_64F)
BOTH(SYRKX, cublasSsyrkx, float, BLAS_R_32F, BLAS_COMPUTE_32F)
BOTH(SYRKX, cublasDsyrkx, double, BLAS_R_64F, BLAS_COMPUTE_64F)
BOTH(SYRKX, cublasCsyrkx, void, BLAS_C_32F, BLAS_COMPUTE_32F)
BOTH(SYRKX, cublasZsyrkx, void, BLAS_C_64F, BLAS_COMPUTE_64F)
BOTH(HERK, cublasCherk_v2, float, BLAS_C_32F, BLAS_COMPUTE_32F)
BOTH(HERK, cublasZherk_v2, double, BLAS_C_64F, BLAS_COMPUTE_64F)
BOTH(SYRK_EX, cublasCsyrkEx, void, BLAS_C_32F, BLAS_OP_T, 0)
BOTH(SYRK_EX, cublasCsyrk3mEx, void, BLAS_C_32F, BLAS_OP_T, 0)
BOTH(SYRK_EX, cublasCherkEx, float, BLAS_R_32F, BLAS_OP_C, 1)
BOTH(SYRK_EX, cublasCherk3mEx, float, BLAS_R_32F, BLAS_OP_C, 1)

/* ---- groups of batches ------------------------------------------------------------------------------------------------ */

/* The groups of a call: arrays on the host, of sizes that have `width` bytes. */
typedef struct groups {
    int64_t count;
    size_t width, scalar_bytes;
    const int *op_a, *op_b;
    const void *m, *n, *k, *lda, *ldb, *ldc, *in_group;
} groups;

static int64_t size_of(const groups *all, const void *array, int64_t i)
{
    return all->width == sizeof(int64_t) ? ((const int64_t *)array)[i] : ((const int *)array)[i];
}

static bool is_scalar_as_first(const groups *all, const void *scalars, int64_t i)
{
    return memcmp((const char *)scalars + (size_t)i * all->scalar_bytes, scalars, all->scalar_bytes) == 0;
}

/*
 * Groups that are alike are one batch, since the pointers of one group follow those of another. Calls of others are told apart by
 * the number of their products alone: programs with such groups have other sizes in every call.
 */
static void describe_groups(const groups *all, blas_call *call)
{
    const void *const sizes[] = {all->m, all->n, all->k, all->lda, all->ldb, all->ldc};
    blas_form *form = &call->form;
    bool is_alike = all->count > 0 && all->op_a && all->op_b && all->in_group && call->alpha && call->beta;

    form->is_pointers = 1;
    form->special = BLAS_OTHER_SIZES;
    for (int i = 0; i < 6; i++)
        is_alike = is_alike && sizes[i];
    for (int64_t i = 0; all->in_group && i < all->count; i++) {
        form->batch += size_of(all, all->in_group, i);
        is_alike = is_alike && all->op_a[i] == all->op_a[0] && all->op_b[i] == all->op_b[0] &&
                   is_scalar_as_first(all, call->alpha, i) && is_scalar_as_first(all, call->beta, i);
        for (int size = 0; size < 6; size++)
            is_alike = is_alike && size_of(all, sizes[size], i) == size_of(all, sizes[size], 0);
    }
    if (!is_alike)
        return;
    form->special = BLAS_EQUAL_GROUPS;
    form->m = size_of(all, all->m, 0), form->n = size_of(all, all->n, 0), form->k = size_of(all, all->k, 0);
    form->op_a = all->op_a[0], form->op_b = all->op_b[0];
    form->ld[BLAS_A] = size_of(all, all->lda, 0), form->ld[BLAS_B] = size_of(all, all->ldb, 0);
    form->ld[BLAS_C] = form->ld[BLAS_D] = size_of(all, all->ldc, 0);
}

#define GROUPS(scalar)                                                                                                         \
    describe_groups(&(groups){groups_count, sizeof *m, tj_type_bytes((tj_type)blas_element_type(scalar)), op_a, op_b, m, n, k, \
                              lda, ldb, ldc, in_group},                                                                        \
                    &call);                                                                                                    \
    call.address[BLAS_A] = a, call.address[BLAS_B] = b, call.address[BLAS_C] = call.address[BLAS_D] = c;

#define GROUPED(name, INT, T, type, way)                                                                                     \
    ENTRY(name,                                                                                                              \
          (void *handle, const int *op_a, const int *op_b, const INT *m, const INT *n, const INT *k, const T *alpha,         \
           const T *const *a, const INT *lda, const T *const *b, const INT *ldb, const T *beta, T *const *c, const INT *ldc, \
           INT groups_count, const INT *in_group),                                                                           \
          (handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups_count, in_group),                        \
          GROUPS(type) TYPES(type, type, type, type, way))

#define GROUPED_OF_ANY(name, INT, T)                                                                                          \
    ENTRY(name,                                                                                                               \
          (void *handle, const int *op_a, const int *op_b, const INT *m, const INT *n, const INT *k, const T *alpha,          \
           const void *const *a, int type_a, const INT *lda, const void *const *b, int type_b, const INT *ldb, const T *beta, \
           void *const *c, int type_c, const INT *ldc, INT groups_count, const INT *in_group, int compute),                   \
          (handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, groups_count, in_group,  \
           compute),                                                                                                          \
          GROUPS(scalar_type_of(compute, type_c)) TYPES(type_a, type_b, type_c, scalar_type_of(compute, type_c), compute))

BOTH(GROUPED, cublasSgemmGroupedBatched, float, BLAS_R_32F, BLAS_COMPUTE_32F)
BOTH(GROUPED, cublasDgemmGroupedBatched, double, BLAS_R_64F, BLAS_COMPUTE_64F)
BOTH(GROUPED_OF_ANY, cublasGemmGroupedBatchedEx, void)

/* ---- handles ---------------------------------------------------------------------------------------------------------- */

BLAS_EXPORT int cublasCreate_v2(void **handle);

BLAS_EXPORT int cublasCreate_v2(void **handle)
{
    return blas_create(BLAS_cublasCreate_v2, __builtin_return_address(0), handle);
}

/* ---- workspaces ------------------------------------------------------------------------------------------------------ */

/*
 * A setter passes its arguments on; then the handle has that workspace, or with NULL the library's own. A new stream takes the
 * workspace away, as the documentation of cublasSetStream says.
 */
#define SETTER(FUNCTION, parameters, arguments, workspace, bytes)                       \
    BLAS_EXPORT int FUNCTION parameters;                                                \
    BLAS_EXPORT int FUNCTION parameters                                                 \
    {                                                                                   \
        int(*real) parameters;                                                          \
        int status;                                                                     \
                                                                                        \
        if (!blas_find_real(BLAS_##FUNCTION, __builtin_return_address(0), &real))       \
            return BLAS_NOT_INITIALIZED;                                                \
        blas_depth++;                                                                   \
        status = real arguments;                                                        \
        blas_depth--;                                                                   \
        blas_workspace_set(handle, status == BLAS_SUCCESS ? (workspace) : NULL, bytes); \
        return status;                                                                  \
    }

SETTER(cublasSetWorkspace_v2, (void *handle, void *given, size_t size), (handle, given, size), given, size)
SETTER(cublasSetStream_v2, (void *handle, void *stream), (handle, stream), NULL, 0)
SETTER(cublasDestroy_v2, (void *handle), (handle), NULL, 0)
