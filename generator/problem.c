/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem: is a request one that can be computed, and what does it mean with all defaults spelled out?
 */
#include <tilejit/problem.h>

#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "error.h"
#include "problem_text.h"
#include "text.h"

enum { PLACE_BYTES = 256 }; /* what an allocation of its own would be aligned to */

static const char *const dtype_names[] = {[TJ_F32] = "f32", [TJ_F64] = "f64", [TJ_F16] = "f16", [TJ_BF16] = "bf16"};

size_t tj_dtype_bytes(tj_dtype dtype)
{
    static const size_t bytes[] = {[TJ_F32] = 4, [TJ_F64] = 8, [TJ_F16] = 2, [TJ_BF16] = 2};

    return dtype >= TJ_F32 && dtype <= TJ_BF16 ? bytes[dtype] : 0;
}

const char *tj_dtype_name(tj_dtype dtype)
{
    return dtype >= TJ_F32 && dtype <= TJ_BF16 ? dtype_names[dtype] : "?";
}

tj_status tj_dtype_parse(const char *name, tj_dtype *dtype, tj_error *err)
{
    if (!name)
        return tj_fail_null(err, __func__, "name");
    if (!dtype)
        return tj_fail_null(err, __func__, "dtype");
    for (int i = TJ_F32; i <= TJ_BF16; i++)
        if (strcmp(name, dtype_names[i]) == 0) {
            *dtype = (tj_dtype)i;
            return TJ_OK;
        }
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "no element type is named \"%.40s\": use f32, f64, f16 or bf16", name);
}

/* ---- check -------------------------------------------------------------------------------------------------------- */

static tj_status check_dim(char name, const tj_dim *dim, int64_t minimum, tj_error *err)
{
    if (dim->mode != TJ_DIM_FIXED && dim->mode != TJ_DIM_ANY)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%c has mode %d: use TJ_DIM_FIXED or TJ_DIM_ANY", name, dim->mode);
    if (dim->multiple_of < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%c is promised to be a multiple of %d: use a positive number, or 0", name,
                       dim->multiple_of);
    if (dim->mode == TJ_DIM_ANY)
        return TJ_OK;
    if (dim->extent < minimum || dim->extent > INT32_MAX)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%c is %lld: it must be from %lld to 2147483647 elements", name,
                       (long long)dim->extent, (long long)minimum);
    if (dim->multiple_of > 1 && dim->extent % dim->multiple_of != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%c is %lld, which breaks its promise to be a multiple of %d", name,
                       (long long)dim->extent, dim->multiple_of);
    return TJ_OK;
}

static tj_status check_types(const tj_problem *problem, tj_error *err)
{
    /* Not by tj_problem_canonical, which multiplies what has not been checked yet. */
    const int32_t dtype = problem->dtype ? problem->dtype : TJ_F32, p_dtype = problem->p_dtype ? problem->p_dtype : dtype;

    if (tj_dtype_bytes((tj_dtype)dtype) == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "dtype is %d: use TJ_F32, TJ_F64, TJ_F16 or TJ_BF16", problem->dtype);
    if (tj_dtype_bytes((tj_dtype)p_dtype) == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "p_dtype is %d: use TJ_F32, TJ_F64, TJ_F16 or TJ_BF16", problem->p_dtype);
    if ((dtype == TJ_F64) != (p_dtype == TJ_F64))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "M and N are %s but P is %s: f64 goes with f64 only",
                       tj_dtype_name((tj_dtype)dtype), tj_dtype_name((tj_dtype)p_dtype));
    return TJ_OK;
}

static tj_status check_flag(const char *name, int32_t value, tj_error *err)
{
    return value == 0 || value == 1 ? TJ_OK : tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %d: use 0 or 1", name, value);
}

/* One stored matrix: lines of `width` neighbouring elements, `ld` apart, `count` of them. -1: not known before launch. */
typedef struct matrix {
    char name;
    int64_t width, count, ld, stride;
    size_t element_bytes;
    bool is_written;
} matrix;

static int64_t extent_or_unknown(const tj_dim *dim)
{
    return dim->mode == TJ_DIM_FIXED ? dim->extent : -1;
}

/* Products of a batch share no element: each lies behind the other, or they stand side by side within their lines. */
static bool are_apart(const matrix *m, int64_t ld, int64_t span, int64_t batch)
{
    int64_t side_by_side;

    if (m->count == 0 || m->stride >= span - (ld - m->width))
        return true;
    return m->stride >= m->width && tj_mul(m->stride, batch - 1, &side_by_side) &&
           tj_add(side_by_side, m->width, &side_by_side) && side_by_side <= ld;
}

static tj_status check_matrix(const matrix *m, int64_t batch, tj_error *err)
{
    int64_t least = m->width > 1 ? m->width : 1, span, step, total, bytes;

    if (m->ld < TJ_ANY || (m->ld > 0 && m->width >= 0 && m->ld < least))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "ld_%c is %lld: it must be at least the %lld elements of one line of %c",
                       m->name + ('a' - 'A'), (long long)m->ld, (long long)least, m->name);
    if (m->stride < TJ_POINTERS_16)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "stride_%c is %lld: use a count of elements, TJ_TIGHT, TJ_ANY, TJ_BROADCAST, TJ_POINTERS or TJ_POINTERS_16",
            m->name + ('a' - 'A'), (long long)m->stride);
    if (m->is_written && m->stride == TJ_BROADCAST)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "stride_p is TJ_BROADCAST: every product of a batch needs a P of its own");
    if (m->count < 0 || m->ld == TJ_ANY || (m->width < 0 && m->ld == TJ_TIGHT))
        return TJ_OK; /* the rest is checked when it is launched */

    /* From the first element to the last, in elements and in bytes. */
    if (!tj_mul(m->ld ? m->ld : least, m->count, &span))
        goto too_large;
    if (m->is_written && m->width >= 0 && batch > 1 && m->stride > 0 && !are_apart(m, m->ld ? m->ld : least, span, batch))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "stride_p is %lld: products of the batch would overlap, each P spans %lld elements",
                       (long long)m->stride, (long long)(span - ((m->ld ? m->ld : least) - m->width)));
    step = m->stride < 0 || batch < 2 ? 0 : m->stride == TJ_TIGHT ? span : m->stride;
    if (!tj_mul(step, batch, &total) || !tj_add(total, span, &total) || !tj_mul(total, (int64_t)m->element_bytes, &bytes))
        goto too_large;
    return TJ_OK;

too_large:
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%c is too large: with ld_%c %lld, stride_%c %lld and batch %lld its size in bytes does not fit 63 bits",
                   m->name, m->name + ('a' - 'A'), (long long)(m->ld ? m->ld : least), m->name + ('a' - 'A'),
                   (long long)m->stride, (long long)batch);
}

tj_status tj_problem_check(const tj_problem *problem, tj_error *err)
{
    if (!problem)
        return tj_fail_null(err, __func__, "problem");
    const tj_problem *p = problem;
    tj_status status;

    if (p->struct_size != sizeof *p)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "problem.struct_size is %lld, not %d: start from TJ_PROBLEM_INIT",
                       (long long)p->struct_size, (int)sizeof *p);
    if ((status = check_dim('j', &p->j, 1, err)) != TJ_OK || (status = check_dim('k', &p->k, 0, err)) != TJ_OK ||
        (status = check_dim('l', &p->l, 1, err)) != TJ_OK || (status = check_types(p, err)) != TJ_OK ||
        (status = check_flag("m_layout", p->m_layout, err)) != TJ_OK ||
        (status = check_flag("n_layout", p->n_layout, err)) != TJ_OK ||
        (status = check_flag("p_layout", p->p_layout, err)) != TJ_OK ||
        (status = check_flag("transpose_m", p->transpose_m, err)) != TJ_OK ||
        (status = check_flag("transpose_n", p->transpose_n, err)) != TJ_OK ||
        (status = check_flag("has_alpha", p->has_alpha, err)) != TJ_OK ||
        (status = check_flag("has_beta", p->has_beta, err)) != TJ_OK)
        return status;
    if (p->reserved != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "problem.reserved is %d: it must be 0", p->reserved);
    if (p->batch < TJ_ANY || p->batch > INT32_MAX)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "batch is %lld: use 1 to 2147483647, or TJ_ANY", (long long)p->batch);

    const int64_t j = extent_or_unknown(&p->j), k = extent_or_unknown(&p->k), l = extent_or_unknown(&p->l);
    const bool m_rows = (p->m_layout == TJ_ROW_MAJOR) != (p->transpose_m == 1);
    const bool n_rows = (p->n_layout == TJ_ROW_MAJOR) != (p->transpose_n == 1);
    const bool p_rows = p->p_layout == TJ_ROW_MAJOR;
    const size_t in = tj_dtype_bytes(p->dtype ? (tj_dtype)p->dtype : TJ_F32);
    const size_t out = p->p_dtype ? tj_dtype_bytes((tj_dtype)p->p_dtype) : in;
    const matrix matrices[] = {
        {'M', m_rows ? k : j, m_rows ? j : k, p->ld_m, p->stride_m, in, false},
        {'N', n_rows ? l : k, n_rows ? k : l, p->ld_n, p->stride_n, in, false},
        {'P', p_rows ? l : j, p_rows ? j : l, p->ld_p, p->stride_p, out, true},
        {'C', p_rows ? l : j, p_rows ? j : l, p->ld_c, p->stride_c, out, false},
    };
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++)
        if ((status = check_matrix(&matrices[i], p->batch, err)) != TJ_OK)
            return status;
    return TJ_OK;
}

/* ---- canonical ---------------------------------------------------------------------------------------------------- */

/* Tight numbers where what they derive from is fixed. */
static void spell_out(int64_t *ld, int64_t *stride, const tj_dim *width, const tj_dim *count, int64_t batch)
{
    if (*ld == TJ_TIGHT && width->mode == TJ_DIM_FIXED)
        *ld = width->extent > 1 ? width->extent : 1;
    if (batch == 1 && !tj_stride_is_pointers(*stride))
        *stride = TJ_TIGHT;
    else if (*stride == TJ_TIGHT && *ld > 0 && count->mode == TJ_DIM_FIXED && !tj_mul(*ld, count->extent, stride))
        *stride = TJ_TIGHT; /* no problem that has passed its check */
}

static void forget_unused(tj_dim *dim)
{
    if (dim->mode == TJ_DIM_FIXED)
        dim->multiple_of = 0; /* the extent says it all */
    else if (dim->multiple_of == 1)
        dim->multiple_of = 0;
}

tj_problem tj_problem_canonical(const tj_problem *problem)
{
    if (!problem)
        return (tj_problem){0};
    tj_problem c = *problem;
    const tj_dim *m_width, *m_count, *n_width, *n_count, *p_width, *p_count;

    if (c.dtype == TJ_DTYPE_DEFAULT)
        c.dtype = TJ_F32;
    if (c.p_dtype == TJ_DTYPE_DEFAULT)
        c.p_dtype = c.dtype;
    if (c.batch == 0)
        c.batch = 1;
    c.m_layout ^= c.transpose_m;
    c.n_layout ^= c.transpose_n;
    c.transpose_m = c.transpose_n = 0;
    forget_unused(&c.j);
    forget_unused(&c.k);
    forget_unused(&c.l);

    m_width = c.m_layout == TJ_ROW_MAJOR ? &c.k : &c.j;
    m_count = c.m_layout == TJ_ROW_MAJOR ? &c.j : &c.k;
    n_width = c.n_layout == TJ_ROW_MAJOR ? &c.l : &c.k;
    n_count = c.n_layout == TJ_ROW_MAJOR ? &c.k : &c.l;
    p_width = c.p_layout == TJ_ROW_MAJOR ? &c.l : &c.j;
    p_count = c.p_layout == TJ_ROW_MAJOR ? &c.j : &c.l;
    spell_out(&c.ld_m, &c.stride_m, m_width, m_count, c.batch);
    spell_out(&c.ld_n, &c.stride_n, n_width, n_count, c.batch);
    spell_out(&c.ld_p, &c.stride_p, p_width, p_count, c.batch);
    if (c.has_beta)
        spell_out(&c.ld_c, &c.stride_c, p_width, p_count, c.batch);
    else
        c.ld_c = c.stride_c = TJ_TIGHT;
    return c;
}

/* From one matrix to the next where they lie in one buffer, a gap between them. */
static void make_strided(int64_t *stride, int64_t ld, const tj_dim *count, int32_t dtype)
{
    const int64_t size = (int64_t)tj_dtype_bytes((tj_dtype)dtype), place = size > 0 ? PLACE_BYTES / size : 1;

    if (!tj_stride_is_pointers(*stride))
        return;
    *stride = ld > 0 && count->mode == TJ_DIM_FIXED ? (ld * count->extent / place + 1) * place : TJ_TIGHT;
}

tj_problem tj_problem_strided(const tj_problem *problem)
{
    if (!problem)
        return (tj_problem){0};
    tj_problem c = tj_problem_canonical(problem);
    const tj_dim *p_count = c.p_layout == TJ_ROW_MAJOR ? &c.j : &c.l;

    make_strided(&c.stride_m, c.ld_m, c.m_layout == TJ_ROW_MAJOR ? &c.j : &c.k, c.dtype);
    make_strided(&c.stride_n, c.ld_n, c.n_layout == TJ_ROW_MAJOR ? &c.k : &c.l, c.dtype);
    make_strided(&c.stride_p, c.ld_p, p_count, c.p_dtype);
    make_strided(&c.stride_c, c.ld_c, p_count, c.p_dtype);
    return tj_problem_canonical(&c); /* a single product has no strides */
}

bool tj_problem_points(const tj_problem *problem)
{
    return tj_stride_is_pointers(problem->stride_m) || tj_stride_is_pointers(problem->stride_n) ||
           tj_stride_is_pointers(problem->stride_p) || tj_stride_is_pointers(problem->stride_c);
}

static int32_t other_layout(int32_t layout)
{
    return layout == TJ_ROW_MAJOR ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
}

tj_problem tj_problem_transpose(const tj_problem *problem)
{
    const tj_problem c = tj_problem_canonical(problem);
    tj_problem t = c;

    t.j = c.l;
    t.l = c.j;
    t.p_layout = other_layout(c.p_layout);
    t.m_layout = other_layout(c.n_layout);
    t.n_layout = other_layout(c.m_layout);
    t.ld_m = c.ld_n;
    t.ld_n = c.ld_m;
    t.stride_m = c.stride_n;
    t.stride_n = c.stride_m;
    return t;
}

/* ---- one line ----------------------------------------------------------------------------------------------------- */

static void print_dim(tj_text *text, const char *name, const tj_dim *dim)
{
    tj_text_append(text, name);
    if (dim->mode == TJ_DIM_FIXED) {
        tj_text_append_int(text, dim->extent);
        return;
    }
    tj_text_append(text, "=any");
    if (dim->multiple_of > 1) {
        tj_text_append(text, "*");
        tj_text_append_int(text, dim->multiple_of);
    }
}

static void print_number(tj_text *text, const char *name, int64_t value, int64_t standard)
{
    if (value == standard)
        return;
    tj_text_append(text, name);
    if (value == TJ_ANY)
        tj_text_append(text, "any");
    else if (value == TJ_BROADCAST)
        tj_text_append(text, "broadcast");
    else if (value == TJ_POINTERS)
        tj_text_append(text, "pointers");
    else if (value == TJ_POINTERS_16)
        tj_text_append(text, "pointers16");
    else
        tj_text_append_int(text, value);
}

void tj_problem_print(const tj_problem *problem, char out[TJ_PROBLEM_TEXT_BYTES])
{
    const tj_problem c = tj_problem_canonical(problem);
    tj_problem bare = c; /* the same with tight leading dimensions and strides: what need not be said */
    tj_text text = TJ_TEXT_INIT(TJ_PROBLEM_TEXT_BYTES - 1);
    char *line = NULL;

    bare.ld_m = bare.ld_n = bare.ld_p = bare.ld_c = TJ_TIGHT;
    bare.stride_m = bare.stride_n = bare.stride_p = bare.stride_c = TJ_TIGHT;
    bare = tj_problem_canonical(&bare);
    print_dim(&text, "j", &c.j);
    print_dim(&text, " k", &c.k);
    print_dim(&text, " l", &c.l);
    tj_text_append(&text, " ");
    tj_text_append(&text, tj_dtype_name((tj_dtype)c.dtype));
    if (c.p_dtype != c.dtype) {
        tj_text_append(&text, " P:");
        tj_text_append(&text, tj_dtype_name((tj_dtype)c.p_dtype));
    }
    tj_text_append(&text, c.m_layout == TJ_COL_MAJOR ? " M:col" : "");
    tj_text_append(&text, c.n_layout == TJ_COL_MAJOR ? " N:col" : "");
    tj_text_append(&text, c.p_layout == TJ_COL_MAJOR ? " P:col" : "");
    tj_text_append(&text, c.has_alpha ? " alpha" : "");
    tj_text_append(&text, c.has_beta ? " beta" : "");
    print_number(&text, " ld_m=", c.ld_m, bare.ld_m);
    print_number(&text, " ld_n=", c.ld_n, bare.ld_n);
    print_number(&text, " ld_p=", c.ld_p, bare.ld_p);
    print_number(&text, " ld_c=", c.ld_c, bare.ld_c);
    print_number(&text, " batch=", c.batch, 1);
    print_number(&text, " stride_m=", c.stride_m, bare.stride_m);
    print_number(&text, " stride_n=", c.stride_n, bare.stride_n);
    print_number(&text, " stride_p=", c.stride_p, bare.stride_p);
    print_number(&text, " stride_c=", c.stride_c, bare.stride_c);
    out[0] = '\0';
    if (tj_text_take(&text, &line, NULL) == TJ_OK)
        strcpy(out, line);
    free(line);
}
