/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canonical: rewrite a request with all its defaults spelled out, and as its transpose.
 */
#include "checked.h"
#include "canonical.h"
#include "operand_table.h"
#include "symmetric.h"
#include "tree.h"

enum { PLACE_BYTES = 256 }; /* alignment of a separate allocation */

static const char *name_of(tj_extent_rule rule)
{
    static const char *const whole[] = {"j", "k", "l"}, *const halves[] = {"(j + 1) / 2", "(k + 1) / 2", "(l + 1) / 2"};

    return rule.per == 1 ? whole[rule.of - 'j'] : rule.is_even ? "l / 2" : halves[rule.of - 'j'];
}

static tj_lines lines_of(const tj_problem *problem, const tj_operand_row *row)
{
    return (tj_lines){tj_extent_dim(row->rows, problem), tj_extent_dim(row->width, problem), name_of(row->rows),
                      name_of(row->width)};
}

tj_lines tj_problem_lines(const tj_problem *problem, tj_which which)
{
    const tj_operand_row row = tj_operand_row_of(problem, (int)which);

    return lines_of(problem, &row);
}

tj_lines tj_problem_number_lines(const tj_problem *problem, tj_which which)
{
    tj_operand_row row = tj_operand_row_of(problem, (int)which);

    if (tj_type_is_pair((int32_t)row.type))
        row.width = (tj_extent_rule){row.width.of, true, row.width.per / 2, 1};
    return lines_of(problem, &row);
}

bool tj_matrix_has_no_gaps(const tj_problem *problem, tj_which which)
{
    const int64_t ld = tj_problem_matrix(problem, which)->ld;
    const tj_dim width = tj_problem_lines(problem, which).width;

    return ld == TJ_TIGHT || (width.mode == TJ_DIM_FIXED && ld == width.extent);
}

/* Make tight numbers explicit where the numbers that they derive from are fixed. */
static void spell_out(tj_problem *c, tj_which which)
{
    tj_matrix *m = tj_matrix_of(c, which);
    const tj_lines stored = tj_problem_lines(c, which);

    if (m->ld == TJ_TIGHT && stored.width.mode == TJ_DIM_FIXED)
        m->ld = stored.width.extent > 1 ? stored.width.extent : 1;
    if (tj_matrix_count(c, which) == 1 && !tj_stride_is_pointers(m->stride))
        m->stride = TJ_TIGHT;
    else if (m->stride == TJ_TIGHT && m->ld > 0 && stored.count.mode == TJ_DIM_FIXED &&
             !tj_mul(m->ld, stored.count.extent, &m->stride))
        m->stride = TJ_TIGHT; /* a problem with this fails its check */
}

static void forget_unused(tj_dim *dim)
{
    if (dim->mode == TJ_DIM_FIXED || dim->multiple_of == 1)
        dim->multiple_of = 0; /* the extent says more */
}

tj_problem tj_problem_words(const tj_problem *problem)
{
    tj_problem c = *problem;

    if (c.m.type == TJ_TYPE_DEFAULT)
        c.m.type = TJ_F32;
    if (c.n.type == TJ_TYPE_DEFAULT)
        c.n.type = c.m.type;
    if (tj_divides_k(&c) && (c.batch == 0 || c.batch == 1))
        c.batch = c.rows.groups;
    const int32_t leading = tj_leading_type(c.m.type, c.n.type);

    if (c.p.type == TJ_TYPE_DEFAULT && tj_facts_of(leading))
        c.p.type = tj_facts_of(leading)->product;
    c.c.type = c.p.type;
    c.c.layout = c.p.layout;
    c.c.order = c.p.order;
    c.c.transposed = c.p.transposed;
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        tj_matrix *m = tj_matrix_of(&c, which);

        m->layout ^= m->transposed;
        m->transposed = 0;
    }
    if (c.compute == TJ_COMPUTE_DEFAULT && tj_facts_of(leading))
        c.compute = (int8_t)tj_facts_of(leading)->compute;
    return c;
}

tj_problem tj_problem_canonical(const tj_problem *problem)
{
    if (!problem)
        return (tj_problem){0};
    tj_problem c = tj_problem_words(problem);

    if (c.batch == 0)
        c.batch = 1;
    c.rows = tj_rows_canonical(&c.rows);
    if (tj_divides_k(&c) && c.batch > 1)
        c.m.stride = c.n.stride = TJ_BROADCAST;
    forget_unused(&c.j);
    forget_unused(&c.k);
    forget_unused(&c.l);
    for (int32_t i = 0; i < c.epilogue.expression.operands; i++)
        if (c.epilogue.expression.operand[i].type == tj_scalar_type(&c))
            c.epilogue.expression.operand[i].type = TJ_TYPE_DEFAULT;
    if (!c.epilogue.has_beta)
        c.c.ld = c.c.stride = TJ_TIGHT;
    for (tj_which which = TJ_MATRIX_M; which <= (c.epilogue.has_beta ? TJ_MATRIX_C : TJ_MATRIX_P); which++)
        spell_out(&c, which);
    return c;
}

tj_problem tj_problem_known(const tj_problem *problem)
{
    tj_problem known = tj_problem_canonical(problem);

    known.j.mode = known.k.mode = known.l.mode = TJ_DIM_FIXED;
    known.j.multiple_of = known.k.multiple_of = known.l.multiple_of = 0;
    if (known.batch == TJ_ANY)
        known.batch = 1;
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        tj_matrix *m = tj_matrix_of(&known, which);

        m->ld = m->ld == TJ_ANY ? TJ_TIGHT : m->ld;
        m->stride = m->stride == TJ_ANY ? TJ_TIGHT : m->stride;
    }
    return tj_problem_canonical(&known);
}

/* Set the stride between matrices that lie in one buffer, with a gap after each. */
static void make_strided(tj_problem *c, tj_which which)
{
    tj_matrix *m = tj_matrix_of(c, which);
    const tj_dim lines = tj_problem_lines(c, which).count;
    const int64_t size = (int64_t)tj_type_bytes((tj_type)m->type), place = size > 0 ? PLACE_BYTES / size : 1;

    if (tj_stride_is_pointers(m->stride))
        m->stride = m->ld > 0 && lines.mode == TJ_DIM_FIXED ? (m->ld * lines.extent / place + 1) * place : TJ_TIGHT;
}

tj_problem tj_problem_strided(const tj_problem *problem)
{
    if (!problem)
        return (tj_problem){0};
    tj_problem c = tj_problem_canonical(problem);

    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        make_strided(&c, which);
    return tj_problem_canonical(&c); /* removes the strides of a single product */
}

int64_t tj_problem_span(const tj_problem *problem, tj_which which)
{
    if (!problem || which < TJ_MATRIX_M || which > TJ_MATRIX_C)
        return -1;
    tj_problem p = *problem;

    /* This launch knows the extents that are arguments. */
    p.j.mode = p.k.mode = p.l.mode = TJ_DIM_FIXED;
    p = tj_problem_canonical(&p);
    const tj_operand_row row = tj_operand_row_of(&p, (int)which);

    return p.batch == TJ_ANY && row.is_taken ? -1 : tj_operand_span(&p, &row);
}

tj_problem tj_problem_even(const tj_problem *problem)
{
    tj_problem even = *problem;

    if (tj_divides_k(problem)) {
        even.rows = (tj_rows){0};
        even.k.extent = tj_ceil_div(problem->k.extent, problem->rows.groups);
        if (even.batch > 1 && even.k.extent > 0) { /* each product has elements of its own */
            even.m.stride = even.k.extent * (even.m.layout == TJ_ROW_MAJOR ? 1 : even.m.ld);
            even.n.stride = even.k.extent * (even.n.layout == TJ_ROW_MAJOR ? even.n.ld : 1);
        }
        return tj_problem_canonical(&even);
    }
    if (!tj_is_grouped(problem))
        return even;
    even.rows = (tj_rows){.gathered = problem->rows.gathered};
    even.batch = tj_group_count(problem);
    even.j.extent = tj_usual_rows(problem);
    even.j.multiple_of = 0;
    return tj_problem_canonical(&even); /* M, P and C follow each other, as rows of groups do */
}

/* Leave a number to the launch. An array of pointers is not a number. */
static void leave_open(int64_t *number)
{
    if (!tj_stride_is_pointers(*number))
        *number = TJ_ANY;
}

tj_problem tj_problem_general(const tj_problem *problem)
{
    tj_problem general = *problem;

    general.j = (tj_dim){0, TJ_DIM_ANY, 0};
    general.k = tj_open_k(&general);
    general.l = tj_open_l(&general);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        leave_open(&tj_matrix_of(&general, which)->ld);
    if (tj_group_count(&general) > 1)
        leave_open(&general.n.stride);
    if (general.batch == 1)
        return general;
    general.batch = TJ_ANY;
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        leave_open(&tj_matrix_of(&general, which)->stride);
    return general;
}

tj_problem tj_problem_loose(const tj_problem *problem)
{
    tj_problem loose = *problem, tight = *problem;

    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        tj_matrix *matrix = tj_matrix_of(&tight, which);

        if (matrix->ld > 0)
            matrix->ld = TJ_TIGHT;
        if (matrix->stride > 0)
            matrix->stride = TJ_TIGHT;
    }
    tight = tj_problem_canonical(&tight);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        tj_matrix *matrix = tj_matrix_of(&loose, which);
        const tj_matrix *numbers = tj_problem_matrix(&tight, which);

        if (matrix->ld > 0 && matrix->ld == numbers->ld)
            matrix->ld = TJ_TIGHT;
        if (matrix->stride > 0 && matrix->stride == numbers->stride)
            matrix->stride = TJ_TIGHT;
    }
    return loose;
}

bool tj_problem_points(const tj_problem *problem)
{
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        if (tj_stride_is_pointers(tj_problem_matrix(problem, which)->stride))
            return true;
    return false;
}

tj_problem tj_problem_unfinished(const tj_problem *problem)
{
    enum { LINE_BYTES = 128 };
    tj_problem p = *problem;

    p.p = (tj_matrix){.type = tj_is_combined(problem) ? p.p.type : TJ_F32, .layout = p.p.layout};
    p.scale[TJ_MATRIX_P] = (tj_scale){0};
    p.rows.combined = 0;
    p.epilogue.has_beta = 0; /* a P with scales has none; with rows that are added up, C is added last */
    const int64_t line = LINE_BYTES / tj_facts_of(p.p.type)->bytes;

    if (p.j.mode == TJ_DIM_FIXED && p.l.mode == TJ_DIM_FIXED)
        p.p.ld = tj_ceil_div(tj_problem_lines(&p, TJ_MATRIX_P).width.extent, line) * line;
    p.c = p.p;
    return tj_problem_canonical(&p);
}

tj_problem tj_problem_of_sums(const tj_problem *problem)
{
    tj_problem sums = tj_is_finished(problem) ? tj_problem_unfinished(problem) : *problem;

    if (problem->epilogue.expression.nodes > 0 || tj_is_combined(problem)) {
        if (problem->epilogue.expression.nodes > 0)
            sums.epilogue = (tj_epilogue){0};
        sums.p.type = sums.c.type = tj_scalar_type(problem) == TJ_F64 ? TJ_F64 : TJ_F32; /* integers continue as floats */
    }
    return sums;
}

tj_problem tj_problem_transpose(const tj_problem *problem)
{
    tj_problem t = *problem;

    t.j = problem->l;
    t.l = problem->j;
    t.m = problem->n;
    t.n = problem->m;
    t.scale[TJ_MATRIX_M] = problem->scale[TJ_MATRIX_N];
    t.scale[TJ_MATRIX_N] = problem->scale[TJ_MATRIX_M];
    t.symmetric = tj_symmetric_across(problem->symmetric);
    tj_expression_transpose(&t.epilogue.expression);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        tj_matrix_of(&t, which)->layout ^= 1;
    return t;
}
