/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workbench: problem -> host arrays -> sets on the device, with guards -> operands -> a verified product.
 */
#include "workbench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "check.h"
#include "checked.h"
#include "error.h"
#include "kernel.h"
#include "list_table.h"
#include "operands.h"
#include "sized.h"
#include "symmetric.h"

enum { ALIGNMENT = 256, MOST_SETS = 4096 };

/* One matrix in all sets. */
typedef struct placed {
    tj_type type;
    size_t bytes;         /* of the elements, without guards; 0: there is none */
    size_t period;        /* bytes after which they repeat; bytes: they do not */
    void *drawn;          /* what host points to, unless it is the caller's */
    const void *host;     /* one period; NULL: all bits are 1 */
    void *stored;         /* room for what a launch stored, of an output of the expression */
    tj_buffer *elements;  /* guard, elements, guard: for each set */
    tj_buffer *addresses; /* of the matrices of the batch, for each set; NULL: the problem takes no array of pointers */
} placed;

struct tj_workbench {
    tj_gpu *gpu;
    CUstream stream;
    tj_request asked; /* every number known; arrays of pointers where the problem takes these */
    tj_request lies;  /* the same with a stride for each matrix */
    double alpha, beta, alpha_im, beta_im, number[TJ_EPILOGUE_OPERANDS];
    size_t sets, guard;
    placed matrix[TJ_ADDRESSES];
    struct {
        void *host;
        tj_buffer *device; /* the same, unless a launch takes it from the host */
    } list[TJ_LISTS];
    tj_buffer *workspace;
    size_t workspace_bytes; /* without guards */
    tj_operands *set;
};

static size_t operand_bytes(const tj_request *lies, int which)
{
    tj_operand_row row = lies->operand[which];

    row.ld = row.ld == TJ_ANY ? TJ_TIGHT : row.ld; /* where a launch may say another number, ours says this one */
    row.stride = row.stride == TJ_ANY ? TJ_TIGHT : row.stride;
    const int64_t span = tj_operand_span(&lies->problem, &row);

    return span > 0 ? (size_t)span * tj_type_bytes(row.type) : 0;
}

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t tj_workbench_set_bytes(const tj_request *request)
{
    tj_request lies;
    size_t bytes = 0;

    tj_request_known(request, &lies);
    if (tj_request_strided(&lies, &lies, NULL) != TJ_OK)
        return 0;
    for (int i = 0; i < TJ_ADDRESSES; i++)
        bytes += rounded(operand_bytes(&lies, i));
    return bytes;
}

/* A permutation of the batch: the factor is a prime beyond any batch. */
static int64_t place_of(int64_t product, int64_t batch)
{
    return (product + batch / 2) % batch * INT64_C(2147483629) % batch;
}

/* ---- placing ------------------------------------------------------------------------------------------------------ */

/* From one set to the next. */
static size_t set_step(const tj_workbench *bench, int which)
{
    return rounded(bench->matrix[which].bytes) + 2 * bench->guard;
}

static tj_status draw(tj_workbench *bench, int which, const tj_workbench_options *options, tj_error *err)
{
    placed *m = &bench->matrix[which];
    const size_t size = tj_type_bytes(m->type);
    const uint64_t added = (uint64_t)which - (which > TJ_MATRIX_P); /* P is not drawn */
    const void *const given = options->host[which];

    m->period = options->period > 0 && !given && which < TJ_MATRICES && (size_t)options->period * size < m->bytes
                    ? (size_t)options->period * size
                    : m->bytes;
    if (which != TJ_MATRIX_P && bench->lies.operand[which].is_written) {
        m->stored = malloc(m->bytes);
        return m->stored ? TJ_OK : tj_fail_memory(err, "the outputs of a workbench");
    }
    if (which == TJ_MATRIX_P && !given)
        return TJ_OK;
    m->host = given;
    if (m->host)
        return TJ_OK;
    m->host = m->drawn = malloc(m->period ? m->period : 1);
    if (!m->drawn)
        return tj_fail_memory(err, "the operands of a workbench");
    tj_fill_operand(&bench->lies.problem, which, m->drawn, m->period / size, options->seed + added);
    return TJ_OK;
}

/* Each set with guards around it; what is neither guard nor element has all bits 1 too. */
static tj_status place(tj_workbench *bench, int which, tj_error *err)
{
    placed *m = &bench->matrix[which];
    const size_t step = set_step(bench, which);
    int64_t bytes;
    tj_status status;

    if (!tj_mul((int64_t)step, (int64_t)bench->sets, &bytes))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "sets is %zu: the size in bytes of so many operands does not fit 63 bits",
                       bench->sets);
    status = tj_gpu_allocate(bench->gpu, bench->stream, (size_t)bytes, &m->elements, err);
    if (status == TJ_OK)
        status = tj_buffer_fill(m->elements, 0xff, err);
    for (size_t i = 0; i < bench->sets && status == TJ_OK && m->host; i++)
        status = tj_buffer_write_over_and_over(m->elements, i * step + bench->guard, m->host, m->period, m->bytes, err);
    return status;
}

size_t tj_workbench_offset(const tj_workbench *bench, tj_which which, int64_t product)
{
    const int64_t stride = tj_problem_matrix(&bench->lies.problem, which)->stride;
    const bool is_array = tj_stride_is_pointers(tj_problem_matrix(&bench->asked.problem, which)->stride);

    if (stride <= 0)
        return 0; /* every product's */
    return (size_t)((is_array ? place_of(product, tj_matrix_count(&bench->lies.problem, which)) : product) * stride) *
           tj_type_bytes(bench->matrix[which].type);
}

/* For each set, the addresses of its matrices. */
static tj_status point(tj_workbench *bench, tj_which which, tj_error *err)
{
    placed *m = &bench->matrix[which];
    const size_t batch = (size_t)tj_matrix_count(&bench->lies.problem, which), bytes = batch * sizeof(void *);
    void **address;
    tj_status status;

    if (!tj_stride_is_pointers(tj_problem_matrix(&bench->asked.problem, which)->stride))
        return TJ_OK;
    address = malloc(bytes);
    if (!address)
        return tj_fail_memory(err, "the operands of a workbench");
    status = tj_gpu_allocate(bench->gpu, bench->stream, bench->sets * rounded(bytes), &m->addresses, err);
    for (size_t set = 0; set < bench->sets && status == TJ_OK; set++) {
        for (size_t i = 0; i < batch; i++)
            address[i] = (char *)tj_workbench_address(bench, set, which) + tj_workbench_offset(bench, which, (int64_t)i);
        status = tj_buffer_write(m->addresses, set * rounded(bytes), address, bytes, err);
    }
    free(address);
    return status;
}

static char *address_of(const tj_workbench *bench, size_t set, int which)
{
    return (char *)tj_buffer_address(bench->matrix[which].elements) + set * set_step(bench, which) + bench->guard;
}

/* A matrix, or the array of pointers that the kernel takes in its place. All numbers: what the problem fixes is ignored. */
static tj_operand describe(const tj_workbench *bench, size_t set, int which)
{
    const placed *m = &bench->matrix[which];
    const size_t array = rounded((size_t)tj_matrix_count(&bench->lies.problem, (tj_which)which) * sizeof(void *));

    if (!m->elements)
        return (tj_operand){NULL, 0, 0};
    if (which >= TJ_WITH) /* tight */
        return (tj_operand){m->elements ? address_of(bench, set, which) : NULL, 0, 0};
    if (which >= TJ_MATRICES)
        return (tj_operand){address_of(bench, set, which), 0, tj_operand_elements(&bench->lies.problem, which)};

    const tj_matrix *lies = tj_problem_matrix(&bench->lies.problem, (tj_which)which);
    return (tj_operand){m->addresses ? (const char *)tj_buffer_address(m->addresses) + set * array
                                     : address_of(bench, set, which),
                        lies->ld, lies->stride};
}

static void describe_sets(tj_workbench *bench)
{
    for (size_t i = 0; i < bench->sets; i++) {
        tj_operands *x = &bench->set[i];

        *x = (tj_operands)TJ_OPERANDS_INIT;
        for (int which = 0; which < TJ_ADDRESSES; which++)
            *tj_operand_in(x, which) = describe(bench, i, which);
        memcpy(x->number, bench->number, sizeof x->number);
        x->alpha = bench->alpha;
        x->beta = bench->beta;
        x->alpha_im = bench->alpha_im;
        x->beta_im = bench->beta_im;
        x->j = bench->lies.problem.j.extent;
        x->k = bench->lies.problem.k.extent;
        x->l = bench->lies.problem.l.extent;
        x->batch = bench->lies.problem.batch;
        for (int list = 0; list < TJ_LISTS; list++) {
            const tj_list_row row = tj_list_row_of(&bench->lies.problem, (tj_list)list);
            const tj_buffer *const device = bench->list[list].device;

            tj_list_set(x, &row, device ? tj_buffer_address(device) : bench->list[list].host);
        }
    }
}

/* Draw a list, unless it is given, and copy it to the device, unless launches take it from the host. */
static tj_status place_list(tj_workbench *bench, tj_list list, const void *given, uint64_t seed, tj_error *err)
{
    const tj_problem *const lies = &bench->lies.problem;
    const tj_list_row row = tj_list_row_of(lies, list);
    const size_t bytes = tj_list_bytes(lies, &row);
    void *const host = row.read ? malloc(bytes) : NULL;
    tj_status status = TJ_OK;

    if (!row.read)
        return TJ_OK;
    if (!host)
        return tj_fail_memory(err, "the operands of a workbench");
    bench->list[list].host = host;
    if (given)
        memcpy(host, given, bytes);
    else
        tj_draw_list(lies, list, host, seed);
    if (list == TJ_LIST_OFFSETS)
        status = tj_groups_check(lies, 0, host, err);
    if (status == TJ_OK && !row.on_host)
        status = tj_gpu_allocate(bench->gpu, bench->stream, bytes, &bench->list[list].device, err);
    return status == TJ_OK && !row.on_host ? tj_buffer_write(bench->list[list].device, 0, host, bytes, err) : status;
}

static tj_status check_options(const tj_workbench_options *o, tj_error *err)
{
    if (o->sets > MOST_SETS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "sets is %zu: use at most %d", o->sets, MOST_SETS);
    if (o->guard_bytes % ALIGNMENT != 0 || o->guard_bytes > ((size_t)1 << 30))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "guard_bytes is %zu: use a multiple of %d, and at most 1 GiB",
                       o->guard_bytes, ALIGNMENT);
    if (o->period < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "period is %lld: use a positive number of elements, or 0",
                       (long long)o->period);
    return TJ_OK;
}

static tj_status settle(tj_workbench *bench, const tj_request *request, const tj_workbench_options *options, tj_error *err)
{
    tj_status status;

    tj_request_known(request, &bench->asked);
    status = options->lies ? tj_request_make(options->lies, &bench->lies, err)
                           : tj_request_strided(&bench->asked, &bench->lies, err);
    if (status != TJ_OK)
        return status;
    bench->alpha = options->alpha;
    bench->beta = options->beta;
    bench->alpha_im = options->alpha_im;
    bench->beta_im = options->beta_im;
    for (int i = 0; i < TJ_EPILOGUE_OPERANDS; i++)
        bench->number[i] = options->numbers_given >> i & 1 ? options->number[i] : tj_trial_number(i);
    bench->sets = options->sets ? options->sets : 1;
    bench->guard = options->guard_bytes;
    bench->set = calloc(bench->sets, sizeof *bench->set);
    return bench->set ? TJ_OK : tj_fail_memory(err, "the operands of a workbench");
}

tj_status tj_gpu_place(tj_gpu *gpu, const tj_request *request, const tj_workbench_options *options, tj_workbench **out,
                       tj_error *err)
{
    const tj_workbench_options standard = TJ_WORKBENCH_INIT;
    tj_workbench *bench;
    tj_status status;

    *out = NULL;
    options = options ? options : &standard;
    status = check_options(options, err);
    if (status != TJ_OK)
        return status;
    bench = calloc(1, sizeof *bench);
    if (!bench)
        return tj_fail_memory(err, "a workbench");
    bench->gpu = gpu;
    bench->stream = options->stream;
    status = settle(bench, request, options, err);
    for (int list = 0; list < TJ_LISTS && status == TJ_OK; list++)
        status = place_list(bench, (tj_list)list, list == TJ_LIST_OFFSETS ? options->offsets : NULL, options->seed, err);
    for (int i = 0; i < TJ_ADDRESSES && status == TJ_OK; i++) {
        placed *m = &bench->matrix[i];

        const tj_operand_row *const row = &bench->lies.operand[i];

        m->type = row->type;
        m->bytes = operand_bytes(&bench->lies, i);
        if (!row->is_taken || (i >= TJ_MATRICES && m->bytes == 0))
            continue;
        status = draw(bench, i, options, err);
        if (status == TJ_OK)
            status = place(bench, i, err);
        if (status == TJ_OK && i < TJ_MATRICES)
            status = point(bench, (tj_which)i, err);
    }
    if (status == TJ_OK)
        describe_sets(bench);
    else
        tj_workbench_free(bench);
    *out = status == TJ_OK ? bench : NULL;
    return status;
}

void tj_workbench_free(tj_workbench *bench)
{
    if (!bench)
        return;
    for (int i = 0; i < TJ_ADDRESSES; i++) {
        tj_buffer_free(bench->matrix[i].elements);
        tj_buffer_free(bench->matrix[i].addresses);
        free(bench->matrix[i].drawn);
        free(bench->matrix[i].stored);
    }
    tj_buffer_free(bench->workspace);
    for (int list = 0; list < TJ_LISTS; list++) {
        tj_buffer_free(bench->list[list].device);
        free(bench->list[list].host);
    }
    free(bench->set);
    free(bench);
}

/* ---- looking ------------------------------------------------------------------------------------------------------ */

const tj_problem *tj_workbench_problem(const tj_workbench *bench)
{
    return bench ? &bench->lies.problem : NULL;
}

const tj_operands *tj_workbench_operands(const tj_workbench *bench)
{
    return bench ? bench->set : NULL;
}

static const placed *matrix_of(const tj_workbench *bench, tj_which which)
{
    return bench && which >= TJ_MATRIX_M && which <= TJ_MATRIX_C ? &bench->matrix[which] : NULL;
}

const void *tj_workbench_list(const tj_workbench *bench, tj_list list)
{
    return bench->list[list].host;
}

size_t tj_workbench_bytes(const tj_workbench *bench, tj_which which)
{
    const placed *m = matrix_of(bench, which);

    return m ? m->bytes : 0;
}

void *tj_workbench_address(const tj_workbench *bench, size_t set, tj_which which)
{
    const placed *m = matrix_of(bench, which);

    if (!m || !m->elements || set >= bench->sets)
        return NULL;
    return address_of(bench, set, (int)which);
}

const void *tj_workbench_host(const tj_workbench *bench, tj_which which)
{
    const placed *m = matrix_of(bench, which);

    return m ? m->host : NULL;
}

/* ---- a launch ----------------------------------------------------------------------------------------------------- */

tj_status tj_workbench_fit(tj_workbench *bench, size_t bytes, tj_error *err)
{
    if (!bench)
        return tj_fail_null(err, __func__, "bench");
    tj_status status = TJ_OK;

    if (bytes > bench->workspace_bytes) {
        tj_buffer_free(bench->workspace);
        bench->workspace = NULL;
        bench->workspace_bytes = 0;
        status = tj_gpu_allocate(bench->gpu, bench->stream, bytes + 2 * bench->guard, &bench->workspace, err);
        if (status == TJ_OK)
            status = tj_buffer_fill(bench->workspace, 0xff, err);
        if (status == TJ_OK)
            bench->workspace_bytes = bytes;
    }
    for (size_t i = 0; i < bench->sets; i++) {
        bench->set[i].workspace = bench->workspace ? (char *)tj_buffer_address(bench->workspace) + bench->guard : NULL;
        bench->set[i].workspace_bytes = bench->workspace_bytes;
    }
    return status;
}

tj_status tj_workbench_reset(tj_workbench *bench, tj_error *err)
{
    if (!bench)
        return tj_fail_null(err, __func__, "bench");
    tj_status status = tj_buffer_fill(bench->matrix[TJ_MATRIX_P].elements, 0xff, err);

    for (int i = TJ_MATRICES; i < TJ_ADDRESSES && status == TJ_OK; i++)
        if (bench->matrix[i].stored)
            status = tj_buffer_fill(bench->matrix[i].elements, 0xff, err);
    return status == TJ_OK && bench->workspace ? tj_buffer_fill(bench->workspace, 0xff, err) : status;
}

static tj_status check_set(const tj_workbench *bench, size_t set, tj_error *err)
{
    return set < bench->sets
               ? TJ_OK
               : tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "set %zu of a workbench that has %zu: count from 0", set, bench->sets);
}

/* operand: a number that there is. A stretch of it. */
static tj_status read_part(const tj_workbench *bench, size_t set, int operand, size_t offset, size_t bytes, void *to,
                           tj_error *err)
{
    const tj_status status = check_set(bench, set, err);

    return status == TJ_OK ? tj_buffer_read(bench->matrix[operand].elements,
                                            set * set_step(bench, operand) + bench->guard + offset, to, bytes, err)
                           : status;
}

tj_status tj_workbench_read(const tj_workbench *bench, size_t set, void *p, tj_error *err)
{
    if (TJ_HAS_NULL(err, bench, p))
        return TJ_ERR_INVALID_ARGUMENT;
    return tj_workbench_read_part(bench, set, 0, bench->matrix[TJ_MATRIX_P].bytes, p, err);
}

tj_status tj_workbench_read_operand(const tj_workbench *bench, size_t set, int operand, void *to, tj_error *err)
{
    if (TJ_HAS_NULL(err, bench, to))
        return TJ_ERR_INVALID_ARGUMENT;
    if (operand < 0 || operand >= TJ_ADDRESSES || !bench->matrix[operand].elements)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "operand is %d: the problem has none of that number, see TJ_OPERAND_SCALE and the others", operand);
    return read_part(bench, set, operand, 0, bench->matrix[operand].bytes, to, err);
}

tj_status tj_workbench_read_part(const tj_workbench *bench, size_t set, size_t offset, size_t bytes, void *p, tj_error *err)
{
    return read_part(bench, set, TJ_MATRIX_P, offset, bytes, p, err);
}

/* ---- is it right? ------------------------------------------------------------------------------------------------- */

/* The reference takes arrays of pointers where the kernel does, in the same order. */
static const void *refer(const tj_workbench *bench, tj_which which, const void *base, const void ***array)
{
    const int64_t batch = tj_matrix_count(&bench->lies.problem, which);

    if (!base || !tj_stride_is_pointers(tj_problem_matrix(&bench->asked.problem, which)->stride))
        return base;
    *array = malloc((size_t)batch * sizeof **array);
    for (int64_t i = 0; i < batch && *array; i++)
        (*array)[i] = (const char *)base + tj_workbench_offset(bench, which, i);
    return *array;
}

tj_status tj_workbench_fill_operands(const tj_workbench *bench, tj_host_operands *host, tj_error *err)
{
    tj_status status = TJ_OK;

    for (int which = TJ_MATRICES; which < TJ_ADDRESSES && status == TJ_OK; which++) {
        const placed *m = &bench->matrix[which];

        if (m->stored)
            status = tj_buffer_read(m->elements, bench->guard, m->stored, m->bytes, err);
        *tj_host_operand_in(host, which) = (tj_host_operand){m->stored ? m->stored : m->host, 0, 0};
    }
    for (int list = 0; list < TJ_LISTS; list++) {
        const tj_list_row row = tj_list_row_of(&bench->lies.problem, (tj_list)list);

        tj_list_set_host(host, &row, bench->list[list].host);
    }
    memcpy(host->number, bench->number, sizeof host->number);
    return status;
}

/* Return the host's elements of a matrix, all of them: *laid owns a copy if they repeat. NULL: none, or memory ran out. */
static const void *lay_out(const placed *m, void **laid)
{
    if (!m->host || m->period >= m->bytes)
        return m->host;
    *laid = malloc(m->bytes);
    for (size_t at = 0; *laid && at < m->bytes; at += m->period)
        memcpy((char *)*laid + at, m->host, m->period < m->bytes - at ? m->period : m->bytes - at);
    return *laid;
}

tj_status tj_workbench_check(const tj_workbench *bench, const void *p, double max_flop, int threads, tj_check_report *report,
                             tj_error *err)
{
    if (TJ_HAS_NULL(err, bench, p, report))
        return TJ_ERR_INVALID_ARGUMENT;
    const void **array[TJ_MATRICES] = {NULL, NULL, NULL, NULL}, *host[TJ_MATRICES] = {NULL, NULL, NULL, NULL};
    void *laid[TJ_MATRICES] = {NULL, NULL, NULL, NULL};
    tj_host_operands x = {.alpha = bench->alpha, .beta = bench->beta, .alpha_im = bench->alpha_im, .beta_im = bench->beta_im};
    tj_check_report own = TJ_CHECK_REPORT_INIT;
    tj_status status = TJ_CLEAR(report, TJ_CHECK_REPORT_INIT, err);

    if (status == TJ_OK)
        status = tj_workbench_fill_operands(bench, &x, err);
    for (tj_which i = TJ_MATRIX_M; i <= TJ_MATRIX_C && status == TJ_OK; i++) {
        const void *base = i == TJ_MATRIX_P ? p : lay_out(&bench->matrix[i], &laid[i]);

        host[i] = refer(bench, i, base, &array[i]);
        if ((base && !host[i]) || (!base && bench->matrix[i].host))
            status = tj_fail_memory(err, "the operands of a workbench");
    }
    x.m = host[TJ_MATRIX_M];
    x.n = host[TJ_MATRIX_N];
    x.c = host[TJ_MATRIX_C];
    if (status == TJ_OK)
        status = tj_request_compare(&bench->asked, &x, host[TJ_MATRIX_P], max_flop, threads, &own, err);
    (void)TJ_FILL(report, &own, TJ_CHECK_REPORT_INIT, NULL);
    for (tj_which i = TJ_MATRIX_M; i <= TJ_MATRIX_C; i++) {
        free(array[i]);
        free(laid[i]);
    }
    return status;
}

bool tj_workbench_is_untouched(const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < count; i++)
        if (byte[i] != 0xff)
            return false;
    return true;
}

/* Bytes of one buffer that nothing may have changed: there all bits are 1 unless was says otherwise. */
static tj_status compare(const tj_buffer *buffer, size_t offset, size_t bytes, const void *was, bool *is_same, tj_error *err)
{
    unsigned char *now = malloc(bytes ? bytes : 1);
    tj_status status;

    if (!now)
        return tj_fail_memory(err, "the operands of a workbench");
    status = tj_buffer_read(buffer, offset, now, bytes, err);
    *is_same = was ? memcmp(now, was, bytes) == 0 : tj_workbench_is_untouched(now, bytes);
    free(now);
    return status;
}

static tj_status check_guards(const tj_workbench *bench, const tj_buffer *buffer, size_t start, size_t bytes, size_t room,
                              const char *name, char *reason, tj_error *err)
{
    bool is_same = true;
    tj_status status = compare(buffer, start, bench->guard, NULL, &is_same, err);

    if (status == TJ_OK && !is_same)
        (void)snprintf(reason, 160, "it writes before %s", name);
    if (status == TJ_OK && is_same)
        status = compare(buffer, start + bench->guard + bytes, room - bytes + bench->guard, NULL, &is_same, err);
    if (status == TJ_OK && !is_same && !*reason)
        (void)snprintf(reason, 160, "it writes after %s", name);
    return status;
}

/* Every sum is stored. Other lines are those of one row each, and the same function leads from P to the product. */
bool tj_workbench_has_line(const tj_workbench *bench, int64_t line)
{
    const tj_problem *const lies = &bench->lies.problem;

    return tj_is_combined(lies) ||
           tj_row_has_group(lies, lies->j.extent, bench->list[TJ_LIST_OFFSETS].host, tj_drawn_row_of_p(lies, line));
}

/* Check that padding between rows, batches and groups of P is untouched. */
static tj_status check_gaps(const tj_workbench *bench, const unsigned char *p, char *reason, tj_error *err)
{
    const placed *m = &bench->matrix[TJ_MATRIX_P];
    const tj_matrix *lies = &bench->lies.problem.p;
    const tj_lines stored = tj_problem_lines(&bench->lies.problem, TJ_MATRIX_P);
    const size_t size = tj_type_bytes(m->type);
    const unsigned char *before = m->host;
    unsigned char *is_element = calloc(1, m->bytes + 1);

    if (!is_element)
        return tj_fail_memory(err, "the operands of a workbench");
    for (int64_t b = 0; b < bench->lies.problem.batch; b++)
        for (int64_t line = 0; line < stored.count.extent; line++)
            if (tj_workbench_has_line(bench, line)) {
                const tj_row_part written = tj_written_part(&bench->lies.problem, line, stored.width.extent);

                memset(is_element + (size_t)(b * lies->stride + line * lies->ld + written.begin) * size, 1,
                       (size_t)(written.end - written.begin) * size);
            }
    for (size_t i = 0; i < m->bytes && !*reason; i++)
        if (!is_element[i] && p[i] != (before ? before[i] : 0xff))
            (void)snprintf(reason, 160, "it writes between the lines of P, at byte %zu", i);
    free(is_element);
    return TJ_OK;
}

tj_status tj_workbench_find_damage(const tj_workbench *bench, size_t set, const void *p, char reason[160], tj_error *err)
{
    if (TJ_HAS_NULL(err, bench, reason))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_status status = check_set(bench, set, err);

    reason[0] = '\0';
    for (int i = 0; i < TJ_ADDRESSES && status == TJ_OK && !*reason; i++) {
        const placed *m = &bench->matrix[i];
        const char *what = i < TJ_WITH ? bench->lies.operand[i].title : "an operand of the epilogue";
        const size_t start = set * set_step(bench, i);
        bool is_same = true;

        if (!m->elements)
            continue;
        status = check_guards(bench, m->elements, start, m->bytes, rounded(m->bytes), what, reason, err);
        if (status == TJ_OK && i != TJ_MATRIX_P && m->host)
            status = compare(m->elements, start + bench->guard, m->period, m->host, &is_same, err);
        if (status == TJ_OK && !is_same && !*reason)
            (void)snprintf(reason, 160, "it writes to %s", what);
    }
    if (status == TJ_OK && bench->workspace && bench->guard > 0 && !*reason)
        status = check_guards(bench, bench->workspace, 0, bench->workspace_bytes, bench->workspace_bytes, "the workspace",
                              reason, err);
    if (status == TJ_OK && p && !*reason)
        status = check_gaps(bench, p, reason, err);
    return status;
}
