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

/* The number of an attribute that asks for something which blas_form does not say, plus 1; 0: there is none. */
static int find_special(get_fn *ask, const void *desc)
{
    static const struct {
        int attribute;
        size_t bytes;
        int64_t usual;
    } known[] = {
        {BLAS_DESC_TRANSC, 4, BLAS_OP_N},  {BLAS_DESC_FILL_MODE, 4, BLAS_FILL_FULL}, {BLAS_DESC_BIAS_BATCH_STRIDE, 8, 0},
        {BLAS_DESC_C_SCALE_POINTER, 8, 0}, {BLAS_DESC_D_SCALE_POINTER, 8, 0},        {BLAS_DESC_AMAX_D_POINTER, 8, 0},
        {BLAS_DESC_A_SCALE_MODE, 4, 0},    {BLAS_DESC_A_SCALE_MODE + 1, 4, 0},       {BLAS_DESC_A_SCALE_MODE + 2, 4, 0},
        {BLAS_DESC_D_SCALE_MODE, 4, 0},    {BLAS_DESC_D_OUT_SCALE_POINTER, 8, 0}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        int64_t value = 0;

        if (known[i].attribute == BLAS_DESC_FILL_MODE)
            value = BLAS_FILL_FULL;
        get(ask, desc, known[i].attribute, &value, known[i].bytes);
        if (value != known[i].usual)
            return known[i].attribute + 1;
    }
    return 0;
}

static void read_desc(get_fn *ask, const void *desc, blas_call *call)
{
    blas_form *form = &call->form;
    int32_t pointer_mode = BLAS_SCALARS_ON_HOST;

    form->epilogue = BLAS_EPILOGUE_NONE;
    form->bias_type = -1;
    get(ask, desc, BLAS_DESC_COMPUTE_TYPE, &form->compute, sizeof form->compute);
    get(ask, desc, BLAS_DESC_SCALE_TYPE, &form->scalar_type, sizeof form->scalar_type);
    get(ask, desc, BLAS_DESC_POINTER_MODE, &pointer_mode, sizeof pointer_mode);
    get(ask, desc, BLAS_DESC_TRANSA, &form->op_a, sizeof form->op_a);
    get(ask, desc, BLAS_DESC_TRANSB, &form->op_b, sizeof form->op_b);
    get(ask, desc, BLAS_DESC_EPILOGUE, &form->epilogue, sizeof form->epilogue);
    get(ask, desc, BLAS_DESC_A_SCALE_POINTER, &call->scale[0], sizeof call->scale[0]);
    get(ask, desc, BLAS_DESC_B_SCALE_POINTER, &call->scale[1], sizeof call->scale[1]);
    if (form->epilogue & BLAS_EPILOGUE_BIAS) {
        get(ask, desc, BLAS_DESC_BIAS_POINTER, &call->bias, sizeof call->bias);
        get(ask, desc, BLAS_DESC_BIAS_TYPE, &form->bias_type, sizeof form->bias_type);
    }
    form->has_scale[0] = call->scale[0] != NULL;
    form->has_scale[1] = call->scale[1] != NULL;
    form->is_on_device = pointer_mode != BLAS_SCALARS_ON_HOST;
    form->is_special = find_special(ask, desc);
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
        if (is[i].order != 0 || is[i].plane != 0 || is[i].mode != 0 || is[i].batch != is[BLAS_D].batch)
            form->is_special = -1;
    }
    if (!has_size(&is[BLAS_A], form->op_a, form->m, form->k) || !has_size(&is[BLAS_B], form->op_b, form->k, form->n) ||
        !has_size(&is[BLAS_C], BLAS_OP_N, form->m, form->n))
        form->is_special = -1; /* cuBLASLt refuses it */
    return true;
}

BLAS_EXPORT int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b,
                               void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d,
                               const void *algo, void *workspace, size_t workspace_bytes, void *stream);

BLAS_EXPORT int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b,
                               void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d,
                               const void *algo, void *workspace, size_t workspace_bytes, void *stream)
{
    blas_library *const library = blas_find_library(BLAS_cublasLtMatmul, __builtin_return_address(0));
    void *const symbol = library ? blas_real(library, BLAS_cublasLtMatmul) : NULL;
    const void *const object[] = {layout_a, layout_b, layout_c, layout_d};
    __typeof__(&cublasLtMatmul) real;
    blas_visit visit = {0};
    int status;

    memcpy(&real, &symbol, sizeof real);
    if (!real)
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
    blas_library *const library = blas_find_library(BLAS_cublasLtCreate, __builtin_return_address(0));
    void *const symbol = library ? blas_real(library, BLAS_cublasLtCreate) : NULL;
    __typeof__(&cublasLtCreate) real;
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
