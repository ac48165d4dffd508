/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure: operands on the device, and the time of a kernel over them.
 *
 * What makes a time worth believing:
 *   - the device's clock, by events; short kernels share one pair of events, in a CUDA graph: so they follow one another as those of
 *     a program do that is ahead of the device, and neither events nor the host's launches are in the time;
 *   - operands rotate over more memory than three L2 caches, so a kernel finds what an application's would: nothing. A
 *     flush between launches would need a kernel of its own, whose tail leaks into the next time;
 *   - random operands: zeros draw less power, and a GPU at its power limit runs zeros faster;
 *   - medians, because a time can only be disturbed upwards.
 */
#include "measure.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "clock.h"
#include "error.h"
#include "timing.h"

static const double HOPELESS = 3.0;  /* times the best: no further launch */
static const double SLOWER = 1.15;   /* times the best: no second look */
static const double SHORT_US = 20;   /* of a launch: not worth giving up */
static const double SAMPLE_US = 500; /* about what stands between two events, which are felt for 2 us */
static const double LOOK_US = 3000;  /* about what a first look takes, and a second */
static const double CACHES = 3;      /* times the L2: what the sets exceed */
enum { MAX_SETS = 4096, FIRST_LOOK = 5, SECOND_LOOK = 30, MAX_PER_EVENT = MAX_SETS, MAX_TURN = 8, ALIGNMENT = 256 };

/* ---- operands ----------------------------------------------------------------------------------------------------- */

static size_t matrix_bytes(const tj_problem *known, tj_which which)
{
    return (size_t)tj_problem_span(known, which) * tj_type_bytes((tj_type)tj_problem_matrix(known, which)->type);
}

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static tj_status random_matrix(const tj_problem *known, tj_which which, uint64_t seed, void **matrix, tj_error *err)
{
    const tj_type type = (tj_type)tj_problem_matrix(known, which)->type;
    const size_t bytes = matrix_bytes(known, which);

    *matrix = malloc(bytes ? bytes : 1);
    if (!*matrix)
        return tj_fail_memory(err, "the operands of a tuning");
    tj_fill_random(type, *matrix, bytes / tj_type_bytes(type), seed);
    return TJ_OK;
}

/* One buffer with as many copies of host, each aligned. */
static tj_status place(const tj_bench *bench, const void *host, size_t bytes, tj_buffer **buffer, tj_error *err)
{
    tj_status status = tj_gpu_allocate(bench->gpu, bench->stream, bench->sets * rounded(bytes), buffer, err);

    for (size_t i = 0; i < bench->sets && status == TJ_OK && host; i++)
        status = tj_buffer_write(*buffer, i * rounded(bytes), host, bytes, err);
    return status;
}

static size_t count_sets(size_t set_bytes, const tj_device_facts *device, size_t free_bytes)
{
    const double wanted = ceil(CACHES * (double)device->l2_bytes / (double)set_bytes) + 1;
    const double room = floor((double)free_bytes / 4 / (double)set_bytes);
    double sets = wanted < room ? wanted : room;

    if ((double)set_bytes >= CACHES * (double)device->l2_bytes || sets < 1)
        sets = 1;
    return sets > MAX_SETS ? MAX_SETS : (size_t)sets;
}

static void *at(const tj_buffer *buffer, size_t set, size_t bytes)
{
    return buffer ? (char *)tj_buffer_address(buffer) + set * rounded(bytes) : NULL;
}

static size_t array_bytes(const tj_problem *known)
{
    return (size_t)known->batch * sizeof(void *);
}

/* For each set, the addresses of its matrices. */
static tj_status point(const tj_bench *bench, tj_which which, int64_t problem_stride, int64_t stride, const tj_buffer *matrices,
                       tj_buffer **array, tj_error *err)
{
    const tj_type type = (tj_type)tj_problem_matrix(&bench->known, which)->type;
    const size_t step = (size_t)stride * tj_type_bytes(type), bytes = array_bytes(&bench->known);
    const size_t batch = (size_t)bench->known.batch;
    tj_status status;
    void **address;

    if (!matrices || !tj_stride_is_pointers(problem_stride))
        return TJ_OK;
    address = malloc(bytes);
    if (!address)
        return tj_fail_memory(err, "the operands of a tuning");
    status = tj_gpu_allocate(bench->gpu, bench->stream, bench->sets * rounded(bytes), array, err);
    for (size_t set = 0; set < bench->sets && status == TJ_OK; set++) {
        for (size_t i = 0; i < batch; i++)
            address[i] = (char *)at(matrices, set, matrix_bytes(&bench->known, which)) + i * step;
        status = tj_buffer_write(*array, set * rounded(bytes), address, bytes, err);
    }
    free(address);
    return status;
}

static tj_status point_to_all(tj_bench *b, const tj_problem *problem, tj_error *err)
{
    tj_status status = point(b, TJ_MATRIX_M, problem->m.stride, b->known.m.stride, b->m, &b->m_array, err);

    if (status == TJ_OK)
        status = point(b, TJ_MATRIX_N, problem->n.stride, b->known.n.stride, b->n, &b->n_array, err);
    if (status == TJ_OK)
        status = point(b, TJ_MATRIX_P, problem->p.stride, b->known.p.stride, b->p, &b->p_array, err);
    if (status == TJ_OK)
        status = point(b, TJ_MATRIX_C, problem->c.stride, b->known.c.stride, b->c, &b->c_array, err);
    return status;
}

/* A matrix, or the array of pointers that the kernel takes in its place. */
static void *operand(const tj_bench *bench, const tj_buffer *array, const tj_buffer *matrix, tj_which which, size_t set)
{
    return array ? at(array, set, array_bytes(&bench->known)) : at(matrix, set, matrix_bytes(&bench->known, which));
}

static void describe_sets(tj_bench *bench)
{
    const tj_problem *k = &bench->known;

    for (size_t i = 0; i < bench->sets; i++) {
        tj_operands *x = &bench->set[i];

        *x = (tj_operands)TJ_OPERANDS_INIT;
        x->m.address = operand(bench, bench->m_array, bench->m, TJ_MATRIX_M, i);
        x->n.address = operand(bench, bench->n_array, bench->n, TJ_MATRIX_N, i);
        x->p.address = operand(bench, bench->p_array, bench->p, TJ_MATRIX_P, i);
        x->c.address = operand(bench, bench->c_array, bench->c, TJ_MATRIX_C, i);
        x->alpha = bench->alpha;
        x->beta = bench->beta;
        x->j = k->j.extent;
        x->k = k->k.extent;
        x->l = k->l.extent;
        x->m.ld = k->m.ld;
        x->n.ld = k->n.ld;
        x->p.ld = k->p.ld;
        x->c.ld = k->epilogue.has_beta ? k->c.ld : 0;
        x->batch = k->batch;
        x->m.stride = k->m.stride;
        x->n.stride = k->n.stride;
        x->p.stride = k->p.stride;
        x->c.stride = k->epilogue.has_beta ? k->c.stride : 0;
    }
}

tj_status tj_bench_place(tj_gpu *gpu, struct CUstream_st *stream, const tj_problem *problem, const tj_device_facts *device,
                         uint64_t seed, int is_warm, tj_bench *bench, tj_error *err)
{
    size_t free_bytes = 0, total_bytes = 0, set_bytes;
    tj_status status;

    memset(bench, 0, sizeof *bench);
    bench->gpu = gpu;
    bench->stream = stream;
    bench->deadline = INFINITY;
    bench->known = tj_problem_known(problem);
    bench->known = tj_problem_strided(&bench->known);
    status = tj_problem_check(&bench->known, err); /* pointers may lead to more than one buffer can hold */
    if (status != TJ_OK)
        return status;
    bench->alpha = problem->epilogue.has_alpha ? 1.25 : 1.0;
    bench->beta = problem->epilogue.has_beta ? 0.5 : 0.0;
    bench->p_bytes = matrix_bytes(&bench->known, TJ_MATRIX_P);
    set_bytes = rounded(matrix_bytes(&bench->known, TJ_MATRIX_M)) + rounded(matrix_bytes(&bench->known, TJ_MATRIX_N)) +
                rounded(bench->p_bytes) + rounded(matrix_bytes(&bench->known, TJ_MATRIX_C));
    status = tj_gpu_memory(gpu, &free_bytes, &total_bytes, err);
    if (status != TJ_OK)
        return status;
    bench->is_emulated = tj_gpu_is_emulated(gpu);
    bench->sets = is_warm || bench->is_emulated ? 1 : count_sets(set_bytes, device, free_bytes);
    bench->set = calloc(bench->sets, sizeof *bench->set);
    bench->host_p = malloc(bench->p_bytes ? bench->p_bytes : 1);
    if (!bench->set || !bench->host_p)
        return tj_fail_memory(err, "the operands of a tuning");
    status = random_matrix(&bench->known, TJ_MATRIX_M, seed + 1, &bench->host_m, err);
    if (status == TJ_OK)
        status = random_matrix(&bench->known, TJ_MATRIX_N, seed + 2, &bench->host_n, err);
    if (status == TJ_OK && problem->epilogue.has_beta)
        status = random_matrix(&bench->known, TJ_MATRIX_C, seed + 3, &bench->host_c, err);
    if (status == TJ_OK)
        status = place(bench, bench->host_m, matrix_bytes(&bench->known, TJ_MATRIX_M), &bench->m, err);
    if (status == TJ_OK)
        status = place(bench, bench->host_n, matrix_bytes(&bench->known, TJ_MATRIX_N), &bench->n, err);
    if (status == TJ_OK && problem->epilogue.has_beta)
        status = place(bench, bench->host_c, matrix_bytes(&bench->known, TJ_MATRIX_C), &bench->c, err);
    if (status == TJ_OK)
        status = place(bench, NULL, bench->p_bytes, &bench->p, err);
    if (status == TJ_OK)
        status = point_to_all(bench, problem, err);
    if (status == TJ_OK)
        describe_sets(bench);
    return status;
}

void tj_bench_drop(tj_bench *bench)
{
    tj_buffer_free(bench->m);
    tj_buffer_free(bench->n);
    tj_buffer_free(bench->c);
    tj_buffer_free(bench->p);
    tj_buffer_free(bench->workspace);
    tj_buffer_free(bench->m_array);
    tj_buffer_free(bench->n_array);
    tj_buffer_free(bench->c_array);
    tj_buffer_free(bench->p_array);
    free(bench->host_m);
    free(bench->host_n);
    free(bench->host_c);
    free(bench->host_p);
    free(bench->set);
    memset(bench, 0, sizeof *bench);
}

tj_status tj_bench_fit(tj_bench *bench, const tj_program *program, tj_error *err)
{
    const size_t wanted = tj_program_workspace_bytes(program);

    if (wanted > (bench->workspace ? tj_buffer_bytes(bench->workspace) : 0)) {
        tj_status status;

        tj_buffer_free(bench->workspace);
        bench->workspace = NULL;
        status = tj_gpu_allocate(bench->gpu, bench->stream, wanted, &bench->workspace, err);
        if (status != TJ_OK)
            return status;
    }
    /* One for all sets: launches of a stream come one after the other. */
    for (size_t i = 0; i < bench->sets; i++) {
        bench->set[i].workspace = bench->workspace ? tj_buffer_address(bench->workspace) : NULL;
        bench->set[i].workspace_bytes = bench->workspace ? tj_buffer_bytes(bench->workspace) : 0;
    }
    return TJ_OK;
}

/* ---- times -------------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double middle(const double *sorted, size_t count)
{
    return count > 0 ? (sorted[(count - 1) / 2] + sorted[count / 2]) / 2 : 0;
}

double tj_median(double *value, size_t count)
{
    qsort(value, count, sizeof *value, by_value);
    return middle(value, count);
}

double tj_spread(const double *sorted, size_t count)
{
    const double median = middle(sorted, count);

    return median > 0 ? (sorted[3 * (count - 1) / 4] - sorted[(count - 1) / 4]) / 2 / median : 0;
}

/* Launches of a sample, each over all sets. */
static int per_event(double us, size_t sets)
{
    const double rounds = us > 0 ? ceil(SAMPLE_US / (us * (double)sets)) : 1;
    const double most = floor((double)MAX_PER_EVENT / (double)sets);

    return us >= SAMPLE_US ? 1 : (int)((double)sets * fmin(rounds, most));
}

/* So many samples of that many launches as fill a look, and no fewer than low, or one more of single launches. */
static int repeats(double us, int launches, int low, int high)
{
    const double fit = us > 0 ? LOOK_US / (us * launches) : high;
    const int least = launches > 1 ? low : low + 1;

    return fit < least ? least : fit > high ? high : (int)fit;
}

/* So many samples as end before the deadline, and one launch ahead of them; no more than wanted. 0: not one. */
static int in_time(const tj_bench *bench, double us, int launches, int wanted)
{
    const double left_us = 1e6 * (bench->deadline - tj_clock_s()) - us;

    if (left_us >= us * launches * wanted)
        return wanted;
    return left_us > 0 ? (int)(left_us / (us * launches)) : 0;
}

static tj_status launch(const void *kernel, const tj_operands *operands, struct CUstream_st *stream, tj_error *err)
{
    return tj_kernel_launch(kernel, operands, stream, err);
}

static tj_status queue(tj_bench *bench, const tj_program *program, size_t sets, int warmup, int repeat, int launches,
                       double *us, tj_error *err)
{
    return tj_gpu_time(bench->gpu, launch, program->kernel, bench->set, sets, bench->stream, warmup, repeat, launches, us, err);
}

/* What no other config would mend ends the tuning; the rest is this config's own trouble. */
static bool is_fatal(tj_status status)
{
    return status == TJ_ERR_DEVICE_LOST || status == TJ_ERR_OUT_OF_MEMORY || status == TJ_ERR_NO_DRIVER ||
           status == TJ_ERR_FORKED || status == TJ_ERR_INTERNAL;
}

static tj_status refuse(tj_trial *trial, tj_status status, const tj_error *why, tj_error *err)
{
    if (is_fatal(status)) {
        if (err)
            *err = *why;
        return status;
    }
    trial->state = TJ_TRIAL_REFUSED;
    (void)strncpy(trial->why, why->message, sizeof trial->why - 1);
    return TJ_OK;
}

tj_status tj_bench_time(tj_bench *bench, const tj_program *program, double best_us, tj_trial *trial, tj_error *err)
{
    double us[FIRST_LOOK + SECOND_LOOK];
    int launches, count;
    tj_error why;
    tj_status status = tj_bench_fit(bench, program, &why);

    trial->state = TJ_TRIAL_TIMED;
    /* The first launch loads what the driver left for later; the emulator leaves nothing. */
    if (status == TJ_OK)
        status = queue(bench, program, bench->sets, bench->is_emulated ? 0 : 1, 1, 1, us, &why);
    if (status != TJ_OK)
        return refuse(trial, status, &why, err);
    trial->us = us[0];
    if (bench->is_emulated)
        return TJ_OK;
    if (best_us > 0 && us[0] > HOPELESS * best_us && us[0] > HOPELESS * SHORT_US) {
        trial->state = TJ_TRIAL_SLOW;
        return TJ_OK;
    }
    launches = per_event(us[0], bench->sets);
    count = in_time(bench, us[0], launches, repeats(us[0], launches, 1, FIRST_LOOK));
    if (count == 0)
        return TJ_OK; /* a time can only be disturbed upwards: one launch says at most too much */
    status = queue(bench, program, bench->sets, 1, count, launches, us, &why);
    if (status == TJ_OK)
        trial->us = tj_median(us, (size_t)count);
    if (status == TJ_OK && (best_us == 0 || trial->us < SLOWER * best_us)) {
        const int more = in_time(bench, trial->us, launches, repeats(trial->us, launches, 2, SECOND_LOOK));

        if (more > 0)
            status = queue(bench, program, bench->sets, 0, more, launches, us + count, &why);
        count += more;
    }
    if (status != TJ_OK)
        return refuse(trial, status, &why, err);
    trial->us = tj_median(us, (size_t)count);
    trial->spread = tj_spread(us, (size_t)count);
    return TJ_OK;
}

double tj_bench_turn_seconds(const tj_bench *bench, double us)
{
    const int launches = per_event(us, bench->sets);

    return 1e-6 * us * (1 + launches * repeats(us, launches, 1, MAX_TURN));
}

tj_status tj_bench_turn(tj_bench *bench, const tj_program *program, double us, int is_warm, double *median, tj_error *err)
{
    const size_t sets = is_warm ? 1 : bench->sets;
    const int launches = per_event(us, sets), count = repeats(us, launches, 1, MAX_TURN);
    double sample[MAX_TURN];
    tj_status status = tj_bench_fit(bench, program, err);

    if (status == TJ_OK)
        status = queue(bench, program, sets, 1, count, launches, sample, err);
    *median = status == TJ_OK ? tj_median(sample, (size_t)count) : 0;
    return status;
}
