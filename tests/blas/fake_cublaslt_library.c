/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublaslt_library: a libcublasLt for programs that tilejit with and tilejit trace run. */
#include "fake_product.h"

enum { ATTRIBUTES = 40, LAYOUT_WORDS = 8 };

/* As many bytes as the real one, and all of them count. */
typedef struct layout {
    int32_t type, order;
    uint64_t rows, cols;
    int64_t ld;
    int32_t batch, mode;
    int64_t stride, plane, unused;
} layout;

_Static_assert(sizeof(layout) == 8 * LAYOUT_WORDS, "cuBLASLt's layout");

typedef struct desc {
    int64_t value[ATTRIBUTES];
} desc;

EXPORT int fake_cublaslt_count(void)
{
    return atomic_load(&fake_computed);
}

EXPORT int cublasLtCreate(void **handle)
{
    *handle = &fake_driver;
    return fake_open_driver() ? SUCCESS : NOT_INITIALIZED;
}

EXPORT int cublasLtDestroy(void *handle)
{
    return handle == &fake_driver ? SUCCESS : NOT_INITIALIZED;
}

EXPORT int cublasLtMatmulDescCreate(void **made, int compute, int scale_type)
{
    desc *d = calloc(1, sizeof *d);

    d->value[0] = compute;
    d->value[1] = scale_type;
    d->value[6] = 2;
    d->value[7] = 1;
    d->value[26] = -1;
    *made = d;
    return SUCCESS;
}

EXPORT int cublasLtMatmulDescDestroy(void *d)
{
    free(d);
    return SUCCESS;
}

EXPORT int cublasLtMatmulDescSetAttribute(void *d, int attribute, const void *value, size_t bytes)
{
    if (attribute < 0 || attribute >= ATTRIBUTES || bytes > 8)
        return INVALID_VALUE;
    ((desc *)d)->value[attribute] = 0;
    memcpy(&((desc *)d)->value[attribute], value, bytes);
    return SUCCESS;
}

EXPORT int cublasLtMatmulDescGetAttribute(const void *d, int attribute, void *value, size_t bytes, size_t *written)
{
    if (attribute < 0 || attribute >= ATTRIBUTES || bytes > 8)
        return INVALID_VALUE;
    memcpy(value, &((const desc *)d)->value[attribute], bytes);
    *written = bytes;
    return SUCCESS;
}

EXPORT int cublasLtMatrixLayoutCreate(void **made, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    layout *l = calloc(1, sizeof *l);

    *l = (layout){.type = type, .rows = rows, .cols = cols, .ld = ld, .batch = 1};
    *made = l;
    return SUCCESS;
}

EXPORT int cublasLtMatrixLayoutDestroy(void *l)
{
    free(l);
    return SUCCESS;
}

static void *member(layout *l, int attribute, size_t bytes)
{
    const struct {
        void *at;
        size_t bytes;
    } all[] = {{&l->type, 4},  {&l->order, 4},  {&l->rows, 8},  {&l->cols, 8}, {&l->ld, 8},
               {&l->batch, 4}, {&l->stride, 8}, {&l->plane, 8}, {&l->mode, 4}};

    return attribute >= 0 && (size_t)attribute < sizeof all / sizeof all[0] && all[attribute].bytes == bytes ? all[attribute].at
                                                                                                             : NULL;
}

EXPORT int cublasLtMatrixLayoutSetAttribute(void *l, int attribute, const void *value, size_t bytes)
{
    void *at = member(l, attribute, bytes);

    if (at)
        memcpy(at, value, bytes);
    return at ? SUCCESS : INVALID_VALUE;
}

EXPORT int cublasLtMatrixLayoutGetAttribute(const void *l, int attribute, void *value, size_t bytes, size_t *written)
{
    layout copy = *(const layout *)l;
    const void *at = member(&copy, attribute, bytes);

    if (at)
        memcpy(value, at, bytes);
    *written = at ? bytes : 0;
    return at ? SUCCESS : INVALID_VALUE;
}

EXPORT int cublasLtMatmul(void *handle, const void *given, const void *alpha, const void *a, const void *layout_a,
                          const void *b, const void *layout_b, const void *beta, const void *c, const void *layout_c, void *d,
                          const void *layout_d, const void *algo, void *workspace, size_t workspace_bytes, void *stream)
{
    const desc *is = given;
    const layout *la = layout_a, *lb = layout_b, *lc = layout_c, *ld = layout_d;
    fake_product p = {.alpha = alpha, .beta = beta, .a = a, .b = b, .c = c, .d = d, .batch = ld->batch, .stream = stream};

    (void)algo, (void)workspace, (void)workspace_bytes;
    if (handle != &fake_driver)
        return NOT_INITIALIZED;
    if (ld->order || lc->type != ld->type)
        return NOT_SUPPORTED;
    p.compute = (int)is->value[0];
    p.scalar_type = (int)is->value[1];
    p.is_on_device = (int)is->value[2];
    p.op_a = (int)is->value[3];
    p.op_b = (int)is->value[4];
    p.epilogue = (int)is->value[7];
    p.scale_a = (const void *)(uintptr_t)is->value[17];
    p.scale_b = (const void *)(uintptr_t)is->value[18];
    if (p.epilogue & EPILOGUE_BIAS) {
        p.bias = (const void *)(uintptr_t)is->value[8];
        p.bias_type = (int)(int32_t)is->value[26] < 0 ? ld->type : (int)is->value[26];
    }
    p.type_a = la->type;
    p.type_b = lb->type;
    p.type_c = ld->type;
    p.m = (int64_t)ld->rows;
    p.n = (int64_t)ld->cols;
    p.k = (int64_t)(p.op_a ? la->rows : la->cols);
    p.lda = la->ld, p.ldb = lb->ld, p.ldc = lc->ld, p.ldd = ld->ld;
    p.stride_a = la->stride, p.stride_b = lb->stride, p.stride_c = lc->stride, p.stride_d = ld->stride;
    return fake_compute(&p);
}
