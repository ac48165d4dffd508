/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lt: cublasLtMatmul. Its descriptions are read by cuBLASLt's own functions, whichever way they were made: they live in the
 * program's memory, which may copy them.
 */
#include <string.h>

#include "functions.h"
#include "serve.h"

typedef int get_fn(const void *object, int attribute, void *value, size_t bytes, size_t *written);

/* The attributes of a layout. */
typedef struct layout {
    int32_t type, order, batch, mode;
    uint64_t rows, cols;
    int64_t ld, stride, plane;
} layout;

/* Read one attribute; one that this version of cuBLASLt does not have leaves the value as it is. */
static void get(get_fn *ask, const void *object, int attribute, void *value, size_t bytes)
{
    size_t written = 0;

    (void)ask(object, attribute, value, bytes, &written);
}

static bool read_layout(get_fn *ask, const void *object, layout *to)
{
    size_t written = 0;

    *to = (layout){.batch = 1};
    if (ask(object, BLAS_LAYOUT_TYPE, &to->type, sizeof to->type, &written) != BLAS_SUCCESS)
        return false;
    get(ask, object, BLAS_LAYOUT_ORDER, &to->order, sizeof to->order);
    get(ask, object, BLAS_LAYOUT_ROWS, &to->rows, sizeof to->rows);
    get(ask, object, BLAS_LAYOUT_COLS, &to->cols, sizeof to->cols);
    get(ask, object, BLAS_LAYOUT_LD, &to->ld, sizeof to->ld);
    get(ask, object, BLAS_LAYOUT_BATCH_COUNT, &to->batch, sizeof to->batch);
    get(ask, object, BLAS_LAYOUT_BATCH_STRIDE, &to->stride, sizeof to->stride);
    get(ask, object, BLAS_LAYOUT_PLANE_OFFSET, &to->plane, sizeof to->plane);
    get(ask, object, BLAS_LAYOUT_BATCH_MODE, &to->mode, sizeof to->mode);
    return true;
}

/*
 * Programs use few layouts, each many times. The attributes of a layout are kept with its bytes, which determine
 * them, so that one comparison replaces nine calls.
 */
static bool know_layout(get_fn *ask, const void *object, layout *to)
{
    enum { KEPT = 32 };
    static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
        get_fn *ask;
        unsigned char bytes[BLAS_LAYOUT_BYTES];
        layout is;
    } kept[KEPT];
    const uintptr_t place = (uintptr_t)object >> 4;
    const size_t at = (place ^ place >> 5) % KEPT;

    if (kept[at].ask == ask && memcmp(kept[at].bytes, object, BLAS_LAYOUT_BYTES) == 0) {
        *to = kept[at].is;
        return true;
    }
    if (!read_layout(ask, object, to))
        return false;
    kept[at].ask = ask;
    memcpy(kept[at].bytes, object, BLAS_LAYOUT_BYTES);
    kept[at].is = *to;
    return true;
}

/* An attribute that asks for something which blas_form does not say, where it is not 0. */
typedef struct unknown {
    int attribute;
    size_t bytes;
} unknown;

/* The number of the first of these attributes that is not 0, plus 1; 0: all are. */
static int find_unknown(get_fn *ask, const void *desc, const unknown *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = 0;

        get(ask, desc, all[i].attribute, &value, all[i].bytes);
        if (value != 0)
            return all[i].attribute + 1;
    }
    return 0;
}

static int find_special(get_fn *ask, const void *desc, int epilogue)
{
    static const unknown of_all[] = {{BLAS_DESC_TRANSC, 4},
                                     {BLAS_DESC_AMAX_D_POINTER, 8},
                                     {BLAS_DESC_SYNC_CHUNKS_OF_ROWS, 4},
                                     {BLAS_DESC_SYNC_CHUNKS_OF_COLS, 4},
                                     {BLAS_DESC_SYNC_IN_COUNTERS, 8},
                                     {BLAS_DESC_SYNC_OUT_COUNTERS, 8},
                                     {BLAS_DESC_D_OUT_SCALE_POINTER, 8},
                                     {BLAS_DESC_EMULATION, 8}},
                         of_aux[] = {{BLAS_DESC_AUX_SCALE_POINTER, 8}, {BLAS_DESC_AUX_AMAX_POINTER, 8}};
    int32_t fill = BLAS_FILL_FULL;
    int found;

    get(ask, desc, BLAS_DESC_FILL_MODE, &fill, sizeof fill);
    if (fill != BLAS_FILL_FULL)
        return BLAS_DESC_FILL_MODE + 1;
    found = find_unknown(ask, desc, of_all, sizeof of_all / sizeof of_all[0]);
    if (found || !(epilogue & BLAS_EPILOGUE_AUX))
        return found;
    return find_unknown(ask, desc, of_aux, sizeof of_aux / sizeof of_aux[0]);
}

static void read_epilogue(get_fn *ask, const void *desc, blas_call *call)
{
    blas_form *form = &call->form;

    form->epilogue = BLAS_EPILOGUE_NONE;
    form->bias_type = form->aux_type = -1;
    get(ask, desc, BLAS_DESC_EPILOGUE, &form->epilogue, sizeof form->epilogue);
    if (form->epilogue & (BLAS_EPILOGUE_BIAS | BLAS_EPILOGUE_BIAS_GRADIENT)) {
        get(ask, desc, BLAS_DESC_BIAS_POINTER, &call->bias.address, sizeof call->bias.address);
        get(ask, desc, BLAS_DESC_BIAS_TYPE, &form->bias_type, sizeof form->bias_type);
        get(ask, desc, BLAS_DESC_BIAS_BATCH_STRIDE, &call->bias.stride, sizeof call->bias.stride);
    }
    if (form->epilogue & BLAS_EPILOGUE_AUX) {
        get(ask, desc, BLAS_DESC_AUX_POINTER, &call->aux.address, sizeof call->aux.address);
        get(ask, desc, BLAS_DESC_AUX_TYPE, &form->aux_type, sizeof form->aux_type);
        get(ask, desc, BLAS_DESC_AUX_LD, &call->aux.ld, sizeof call->aux.ld);
        get(ask, desc, BLAS_DESC_AUX_BATCH_STRIDE, &call->aux.stride, sizeof call->aux.stride);
    }
}

/* The scale of a matrix multiplies it, or of D what is stored. Only FP8 has them. */
static void read_scales(get_fn *ask, const void *desc, blas_call *call)
{
    for (int i = 0; i < BLAS_MATRICES; i++) {
        int32_t mode = BLAS_SCALE_OF_MATRIX;

        get(ask, desc, BLAS_DESC_A_SCALE_POINTER + i, &call->scale[i], sizeof call->scale[i]);
        if (!call->scale[i])
            continue;
        get(ask, desc, BLAS_DESC_A_SCALE_MODE + i, &mode, sizeof mode);
        call->form.scale[i] = mode + 1;
    }
}

static void read_desc(get_fn *ask, const void *desc, blas_call *call)
{
    blas_form *form = &call->form;
    int32_t multiprocessors = 0;

    form->scalars = BLAS_SCALARS_ON_HOST;
    get(ask, desc, BLAS_DESC_COMPUTE_TYPE, &form->compute, sizeof form->compute);
    get(ask, desc, BLAS_DESC_SCALE_TYPE, &form->scalar_type, sizeof form->scalar_type);
    get(ask, desc, BLAS_DESC_POINTER_MODE, &form->scalars, sizeof form->scalars);
    get(ask, desc, BLAS_DESC_TRANSA, &form->op_a, sizeof form->op_a);
    get(ask, desc, BLAS_DESC_TRANSB, &form->op_b, sizeof form->op_b);
    get(ask, desc, BLAS_DESC_SM_COUNT_TARGET, &multiprocessors, sizeof multiprocessors);
    form->multiprocessors = multiprocessors;
    if (form->scalars == BLAS_SCALARS_ON_DEVICE) {
        get(ask, desc, BLAS_DESC_ALPHA_BATCH_STRIDE, &call->alpha_stride, sizeof call->alpha_stride);
        get(ask, desc, BLAS_DESC_BETA_BATCH_STRIDE, &call->beta_stride, sizeof call->beta_stride);
    } else if (form->scalars != BLAS_SCALARS_ON_HOST) {
        get(ask, desc, BLAS_DESC_ALPHA_VECTOR_BATCH_STRIDE, &call->alpha_stride, sizeof call->alpha_stride);
    }
    read_epilogue(ask, desc, call);
    read_scales(ask, desc, call);
    form->special = find_special(ask, desc, form->epilogue);
}

static bool has_size(const layout *is, int op, int64_t rows, int64_t cols)
{
    return op == BLAS_OP_N ? (int64_t)is->rows == rows && (int64_t)is->cols == cols
                           : (int64_t)is->rows == cols && (int64_t)is->cols == rows;
}

static bool describe(blas_library *library, const void *desc, const void *const object[BLAS_MATRICES], blas_call *call)
{
    void *const symbol[] = {blas_real(library, BLAS_cublasLtMatmulDescGetAttribute),
                            blas_real(library, BLAS_cublasLtMatrixLayoutGetAttribute)};
    blas_form *form = &call->form;
    get_fn *of_desc, *of_layout;
    layout is[BLAS_MATRICES];

    memcpy(&of_desc, &symbol[0], sizeof of_desc);
    memcpy(&of_layout, &symbol[1], sizeof of_layout);
    if (!of_desc || !of_layout || !desc)
        return false;
    for (int i = 0; i < BLAS_MATRICES; i++)
        if (!object[i] || !know_layout(of_layout, object[i], &is[i]))
            return false;
    read_desc(of_desc, desc, call);
    form->m = (int64_t)is[BLAS_D].rows;
    form->n = (int64_t)is[BLAS_D].cols;
    form->k = (int64_t)(form->op_a == BLAS_OP_N ? is[BLAS_A].cols : is[BLAS_A].rows);
    form->batch = is[BLAS_D].batch;
    for (int i = 0; i < BLAS_MATRICES; i++) {
        form->type[i] = is[i].type;
        form->ld[i] = is[i].ld;
        form->stride[i] = is[i].stride;
        form->is_by_rows[i] = is[i].order == BLAS_ORDER_ROW;
        if (is[i].order > BLAS_ORDER_ROW || is[i].plane != 0 || is[i].mode > 1 || is[i].mode != is[BLAS_D].mode ||
            is[i].batch != is[BLAS_D].batch)
            form->special = BLAS_OTHER_MATRICES;
    }
    form->is_pointers = is[BLAS_D].mode;
    if (!has_size(&is[BLAS_A], form->op_a, form->m, form->k) || !has_size(&is[BLAS_B], form->op_b, form->k, form->n) ||
        !has_size(&is[BLAS_C], BLAS_OP_N, form->m, form->n))
        form->special = BLAS_OTHER_MATRICES; /* cuBLASLt refuses it */
    return true;
}

BLAS_EXPORT int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b,
                               void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d,
                               const void *algo, void *workspace, size_t workspace_bytes, void *stream);

BLAS_EXPORT int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b,
                               void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d,
                               const void *algo, void *workspace, size_t workspace_bytes, void *stream)
{
    __typeof__(&cublasLtMatmul) real;
    blas_library *const library = blas_find_real(BLAS_cublasLtMatmul, __builtin_return_address(0), &real);
    const void *const object[] = {layout_a, layout_b, layout_c, layout_d};
    blas_visit visit = {0};
    int status;

    if (!library)
        return BLAS_NOT_INITIALIZED;
    if (blas_depth == 0 && blas_is_asked()) {
        blas_call call = {.name = "cublasLtMatmul",
                          .address = {a, b, c, d},
                          .alpha = alpha,
                          .beta = beta,
                          .workspace = workspace,
                          .workspace_bytes = workspace ? workspace_bytes : 0,
                          .stream = stream};

        if (describe(library, desc, object, &call)) {
            blas_call_settle(&call);
            if (blas_begin(&call, &visit))
                return BLAS_SUCCESS;
        }
    }
    blas_depth++;
    status = real(handle, desc, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, algo, workspace,
                  workspace_bytes, stream);
    blas_depth--;
    blas_end(&visit, status);
    return status;
}

BLAS_EXPORT int cublasLtCreate(void **handle);

BLAS_EXPORT int cublasLtCreate(void **handle)
{
    return blas_create(BLAS_cublasLtCreate, __builtin_return_address(0), handle);
}
