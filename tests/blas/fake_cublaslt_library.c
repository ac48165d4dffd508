/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublaslt_library: a libcublasLt for programs that tilejit with and tilejit trace run. */
#include "fake_library.h"

enum { ATTRIBUTES = 41, LAYOUT_WORDS = 8 };

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
    d->value[22] = d->value[26] = -1;
    *made = d;
    return SUCCESS;
}

EXPORT int cublasLtMatmulDescDestroy(void *d)
{
    free(d);
    return SUCCESS;
}

/* Those of a release: those of CUDA 11 have no modes of scales, and those before 13 no strides of alpha and beta. */
static int has_attribute(int attribute, size_t bytes)
{
    return attribute >= 0 && attribute < (VERSION == 11 ? 27 : VERSION == 12 ? 38 : ATTRIBUTES) && bytes <= 8;
}

EXPORT int cublasLtMatmulDescSetAttribute(void *d, int attribute, const void *value, size_t bytes)
{
    if (!has_attribute(attribute, bytes))
        return INVALID_VALUE;
    ((desc *)d)->value[attribute] = 0;
    memcpy(&((desc *)d)->value[attribute], value, bytes);
    return SUCCESS;
}

EXPORT int cublasLtMatmulDescGetAttribute(const void *d, int attribute, void *value, size_t bytes, size_t *written)
{
    if (!has_attribute(attribute, bytes))
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
    const int64_t *const value = ((const desc *)given)->value;
    const layout *of[] = {layout_a, layout_b, layout_c, layout_d};
    fake_product p = {.alpha = alpha,
                      .beta = beta,
                      .at = {(void *)(uintptr_t)a, (void *)(uintptr_t)b, (void *)(uintptr_t)c, d},
                      .batch = of[D]->batch,
                      .stream = stream,
                      .is_pointers = of[D]->mode};

    (void)algo, (void)workspace, (void)workspace_bytes;
    if (handle != &fake_driver)
        return NOT_INITIALIZED;
    p.compute = (int)value[0];
    p.scalar_type = (int)value[1];
    p.scalars = (int)value[2];
    p.op_a = (int)value[3];
    p.op_b = (int)value[4];
    p.epilogue = (int)value[7];
    p.bias = (void *)(uintptr_t)value[8];
    p.bias_stride = value[10];
    p.aux = (void *)(uintptr_t)value[11];
    p.aux_ld = value[12];
    p.aux_stride = value[13];
    p.alpha_stride = value[14];
    p.aux_type = (int)(int32_t)value[22] < 0 ? of[D]->type : (int)value[22];
    p.bias_type = (int)(int32_t)value[26] < 0 ? of[D]->type : (int)value[26];
    for (int i = 0; i < MATRICES; i++) {
        if (of[i]->order > 1 || (value[17 + i] && (value[31 + i] == 1 || value[31 + i] == 2))) /* as a GPU before Blackwell */
            return NOT_SUPPORTED;
        p.by_rows[i] = of[i]->order;
        p.type[i] = of[i]->type;
        p.ld[i] = of[i]->ld;
        p.stride[i] = of[i]->stride;
        p.scale[i] = (const void *)(uintptr_t)value[17 + i];
        p.scale_mode[i] = (int)value[31 + i];
    }
    p.m = (int64_t)of[D]->rows;
    p.n = (int64_t)of[D]->cols;
    p.k = (int64_t)(p.op_a ? of[A]->rows : of[A]->cols);
    return fake_compute(&p);
}
