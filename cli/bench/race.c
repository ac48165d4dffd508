/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bound.h"
#include "error.h"

static const double CACHES = 3;       /* total size of the sets, in L2 caches */
static const double SHAPE_US = 1.5e6; /* approximate time for the rounds of a shape */
static const double CHECK_FLOP = 1e9; /* of the reference per contender; a larger product is checked by sampled rows */
enum { MAX_SETS = 1024, LEAST_ROUNDS = 7, MOST_ROUNDS = 41, PILOTS = 4, FINALISTS = 3 };

const char *const contender_name[CONTENDERS] = {"zero-shot", "tuned", "cuBLAS", "cuBLASLt"};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *value, size_t count)
{
    qsort(value, count, sizeof *value, by_value);
    return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

/* ---- names ----------------------------------------------------------------------------------------------------------- */

/* "-bf16", "-e4m3xe5m2-f16", "-tf32": of M, of N where it is another, of P where it is not M's usual one; and how it is summed. */
static void name_types(const tj_problem *p, char text[40])
{
    const tj_type_facts *m = tj_type_get_facts((tj_type)p->m.type);
    const bool names_n = p->n.type != p->m.type, names_p = p->p.type != m->product, names_compute = p->compute != m->compute;
    const bool names_m = p->m.type != TJ_F32 || names_n || names_p;

    (void)snprintf(text, 40, "%s%s%s%s%s%s%s%s", names_m ? "-" : "", names_m ? m->name : "", names_n ? "x" : "",
                   names_n ? tj_type_name((tj_type)p->n.type) : "", names_p ? "-" : "",
                   names_p ? tj_type_name((tj_type)p->p.type) : "", names_compute ? "-" : "",
                   names_compute ? tj_compute_name((tj_compute)p->compute) : "");
}

void bench_name(const tj_problem *p, char name[BENCH_NAME_BYTES])
{
    char batch[24] = "", groups[24] = "", types[40], layouts[8] = "";

    if (p->batch > 1)
        (void)snprintf(batch, sizeof batch, "b%" PRId64, p->batch);
    if (p->rows.groups > 0)
        (void)snprintf(groups, sizeof groups, "g%" PRId32, p->rows.groups);
    name_types(p, types);
    if (p->m.layout || p->n.layout || p->p.layout)
        (void)snprintf(layouts, sizeof layouts, "-%c%c%c", p->m.layout ? 'c' : 'r', p->n.layout ? 'c' : 'r',
                       p->p.layout ? 'c' : 'r');
    (void)snprintf(name, BENCH_NAME_BYTES, "%" PRId64 "x%" PRId64 "x%" PRId64 "%s%s%s%s%s", p->j.extent, p->k.extent,
                   p->l.extent, batch, groups, types, layouts,
                   p->m.order == TJ_ORDER_REPACKED || p->n.order == TJ_ORDER_REPACKED ? "-repacked" : "");
}

/* ---- operands -------------------------------------------------------------------------------------------------------- */

/* Sets of operands on the device, all with the same numbers, and one P read back. */
typedef struct operands {
    tj_workbench *bench;
    size_t sets;
    void *p;
} operands;

static size_t count_sets(const bench *b, size_t set_bytes, size_t free_bytes)
{
    const double wanted = ceil(CACHES * (double)b->device.l2_bytes / (double)set_bytes) + 1;
    const double room = floor((double)free_bytes / 4 / (double)set_bytes);
    const double sets = fmin(fmin(wanted, room), MAX_SETS);

    if (clock_is_emulated(b->clock))
        return 2; /* enough to show that rotation works */
    return (double)set_bytes >= CACHES * (double)b->device.l2_bytes || sets < 1 ? 1 : (size_t)sets;
}

/* Place operands, with a workspace for the plan that needs the most. */
static int place(const bench *b, const tj_problem *problem, operands *x, size_t workspace_bytes, tj_error *err)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    size_t free_bytes, total_bytes, set_bytes = 0;

    if (tj_device_memory(b->context, &free_bytes, &total_bytes, err) != TJ_OK)
        return 0;
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_P; which++)
        set_bytes += (size_t)tj_problem_span(problem, which) * tj_type_bytes((tj_type)tj_problem_matrix(problem, which)->type);
    x->sets = options.sets = count_sets(b, set_bytes, free_bytes);
    options.seed = 1;
    if (tj_workbench_create(b->context, problem, &options, &x->bench, err) != TJ_OK)
        return 0;
    x->p = malloc(tj_workbench_bytes(x->bench, TJ_MATRIX_P));
    return x->p ? tj_workbench_fit(x->bench, workspace_bytes, err) == TJ_OK : tj_fail_memory(err, "the operands") == TJ_OK;
}

static void drop(operands *x)
{
    tj_workbench_free(x->bench);
    free(x->p);
}

/* ---- runners --------------------------------------------------------------------------------------------------------- */

/* One way to compute the product, ready to be timed. */
typedef struct runner {
    contender who;
    const operands *x;
    const tj_plan *plan;        /* TileJIT's */
    const cublas_problem *peer; /* cuBLAS's */
    int idea;                   /* cuBLASLt's */
    samples samples;
    double us[MOST_ROUNDS > PILOTS ? MOST_ROUNDS : PILOTS];
} runner;

static int queue(void *what, size_t set, struct CUstream_st *stream, tj_error *err)
{
    const runner *r = what;

    if (r->who == CUBLAS)
        return cublas_queue_default(r->peer, &tj_workbench_operands(r->x->bench)[set], err);
    if (r->who == CUBLASLT)
        return cublas_queue_idea(r->peer, r->idea, &tj_workbench_operands(r->x->bench)[set], err);
    return tj_plan_launch(r->plan, &tj_workbench_operands(r->x->bench)[set], stream, err) == TJ_OK;
}

static int start(const bench *b, runner *r, tj_error *err)
{
    return clock_try(b->clock, queue, r, err) && clock_capture(b->clock, queue, r, r->x->sets, &r->samples, err);
}

/*
 * The clock of a device at its power limit drops by a tenth in the middle of a race. A slowdown of a whole round is not due to
 * a contender, and with few rounds it would move one contender's median and not another's. So scale each round's times to the
 * usual pace, the geometric mean of rounds.
 */
static void even_out(runner *const *order, int count, int rounds)
{
    double pace[MOST_ROUNDS], sorted[MOST_ROUNDS], usual;

    for (int round = 0; round < rounds; round++) {
        double logs = 0;

        for (int i = 0; i < count; i++) {
            if (order[i]->us[round] <= 0)
                return;
            logs += log(order[i]->us[round]);
        }
        sorted[round] = pace[round] = exp(logs / count);
    }
    usual = bench_median(sorted, (size_t)rounds);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++)
            order[i]->us[round] *= usual / pace[round];
}

/* Run rounds over the runners, each first in its turn. Drop the round before the first. */
static int run_rounds(const bench *b, runner *const *order, int count, int rounds, tj_error *err)
{
    for (int round = -1; round < rounds; round++)
        for (int i = 0; i < count; i++) {
            runner *r = order[(i + round + count) % count];
            const double us = clock_sample(b->clock, &r->samples, err);

            if (us < 0)
                return 0;
            if (round >= 0)
                r->us[round] = us;
        }
    if (count > 0)
        even_out(order, count, rounds);
    return 1;
}

static int by_median(const void *a, const void *b)
{
    const runner *x = *(runner *const *)a, *y = *(runner *const *)b;

    return (x->us[PILOTS / 2] > y->us[PILOTS / 2]) - (x->us[PILOTS / 2] < y->us[PILOTS / 2]);
}

/* Time every algorithm of cuBLASLt; the fastest few join the rounds. Returns their number, or below 0. */
static int choose_finalists(const bench *b, const operands *x, const cublas_problem *peer, runner *idea, runner **finalist,
                            tj_error *err)
{
    runner *order[CUBLAS_IDEAS];
    tj_error why;
    int count = 0;

    for (int i = 0; i < cublas_idea_count(peer); i++) {
        idea[i] = (runner){.who = CUBLASLT, .x = x, .peer = peer, .idea = i};
        /* An algorithm that the library then refuses is not a contender. */
        if (start(b, &idea[i], &why))
            order[count++] = &idea[i];
    }
    if (!run_rounds(b, order, count, PILOTS, err))
        return -1;
    for (int i = 0; i < count; i++)
        (void)bench_median(order[i]->us, PILOTS);
    qsort(order, (size_t)count, sizeof(runner *), by_median);
    for (int i = FINALISTS; i < count; i++)
        clock_drop(b->clock, &order[i]->samples);
    count = count < FINALISTS ? count : FINALISTS;
    memcpy(finalist, order, (size_t)count * sizeof(runner *));
    return count;
}

/* ---- checks ---------------------------------------------------------------------------------------------------------- */

/*
 * The source names its features, and only kernels for tensor cores load fragments. Peers use tensor cores for all types but
 * f32.
 */
static adder adder_of(const tj_problem *problem, const runner *r)
{
    const uint32_t fragments = TJ_FEATURE_LDMATRIX | TJ_FEATURE_MMA_F16 | TJ_FEATURE_MMA_S8 | TJ_FEATURE_MMA_BF16 |
                               TJ_FEATURE_MMA_TF32 | TJ_FEATURE_MMA_F64 | TJ_FEATURE_WGMMA;

    if (r->plan)
        return tj_source_launch(tj_plan_source(r->plan))->needs & fragments ? ADDER_TENSOR : ADDER_FMA;
    return problem->m.type == TJ_F32 && problem->compute != TJ_COMPUTE_TF32 ? ADDER_FMA : ADDER_PEER;
}

/* Does the runner leave scales out, as cuBLAS does? */
static bool leaves_scales_out(const tj_problem *problem, const runner *r)
{
    return r->peer && (problem->scale[TJ_MATRIX_M].type != 0 || problem->scale[TJ_MATRIX_N].type != 0);
}

/*
 * Replay a sample over poisoned memory and check the last set that it wrote. An epilogue may amplify errors: then only the
 * check of each element, which knows the expression, applies.
 */
static int verify(const bench *b, operands *x, runner *r, outcome *o, tj_error *err)
{
    const tj_problem *problem = tj_workbench_problem(x->bench);
    bound limit = bound_of(problem, adder_of(problem, r));
    double rms;

    o->check = (tj_check_report)TJ_CHECK_REPORT_INIT;
    if (leaves_scales_out(problem, r))
        return 1; /* it is not the product that is checked */
    if (tj_workbench_reset(x->bench, err) != TJ_OK || clock_sample(b->clock, &r->samples, err) < 0 ||
        tj_workbench_read(x->bench, x->sets - 1, x->p, err) != TJ_OK ||
        tj_workbench_check(x->bench, x->p, CHECK_FLOP, 0, &o->check, err) != TJ_OK)
        return 0;
    rms = o->check.norm / sqrt((double)o->check.elements);
    o->rms_error = rms > 0 ? o->check.max_error / rms : 0;
    if (problem->epilogue.expression.nodes > 0)
        limit.rms = INFINITY;
    o->is_wrong = !bound_is_kept(&limit, &o->check, o->rms_error, o->why);
    return 1;
}

/* ---- the race -------------------------------------------------------------------------------------------------------- */

static void miss(outcome *o, bool is_broken, const char *why)
{
    (void)snprintf(o->why, sizeof o->why, "%s", why);
    o->is_broken = is_broken;
}

/* Take a runner's time if its contender has no better one. */
static bool settle(outcome *o, runner *r, int rounds)
{
    const double us = bench_median(r->us, (size_t)rounds);

    if (o->has_run && o->us <= us)
        return false;
    o->has_run = true;
    o->us = us;
    o->low_us = r->us[(rounds - 1) / 4];
    o->high_us = r->us[3 * (rounds - 1) / 4];
    o->launches = r->samples.launches;
    return true;
}

/* Times on the emulator do not measure anything. */
static void forget_times(result *out)
{
    for (int who = 0; who < CONTENDERS; who++)
        out->of[who].us = out->of[who].low_us = out->of[who].high_us = 0;
}

/* config NULL: choose without records, even if there are some. */
static const tj_plan *prepare(const bench *b, const tj_problem *problem, const tj_config *config, outcome *o)
{
    const tj_plan *plan;
    tj_config chosen;
    tj_error why;
    const tj_status status = config ? tj_plan_prepare(b->context, problem, config, &plan, &why)
                                    : tj_choose_plan(b->context, NULL, problem, &b->device, &chosen, &plan, &why);

    if (status != TJ_OK) {
        /* A forced config may be invalid for this shape. */
        miss(o, !(config && status == TJ_ERR_INVALID_ARGUMENT), why.message);
        return NULL;
    }
    tj_config_print(tj_source_config(tj_plan_source(plan)), o->how);
    return plan;
}

/* All runners of a shape: TileJIT's two, cuBLAS's, and some of cuBLASLt's algorithms. */
typedef struct field {
    runner ours[2], blas, idea[CUBLAS_IDEAS];
    runner *racing[3 + FINALISTS];
    int count;
} field;

static void enter(const bench *b, field *f, runner *r, result *out)
{
    tj_error why = {0};

    if (start(b, r, &why))
        f->racing[f->count++] = r;
    else
        miss(&out->of[r->who], !(r->peer && why.status == TJ_ERR_UNSUPPORTED), why.message);
}

static int enter_peers(const bench *b, field *f, const operands *x, const cublas_problem *peer, result *out, tj_error *err)
{
    int finalists;

    f->blas = (runner){.who = CUBLAS, .x = x, .peer = peer};
    enter(b, f, &f->blas, out);
    finalists = choose_finalists(b, x, peer, f->idea, f->racing + f->count, err);
    if (finalists < 0)
        return 0;
    if (finalists == 0)
        miss(&out->of[CUBLASLT], 0,
             cublas_idea_count(peer) ? "each way that the heuristic offers is refused" : cublas_no_idea(peer));
    f->count += finalists;
    return 1;
}

static int count_rounds(const bench *b, const field *f)
{
    double us = 0;

    if (b->rounds)
        return b->rounds < MOST_ROUNDS ? b->rounds : MOST_ROUNDS;
    if (clock_is_emulated(b->clock))
        return 1;
    for (int i = 0; i < f->count; i++)
        us += clock_cost(&f->racing[i]->samples);
    return (int)fmax(LEAST_ROUNDS, fmin(MOST_ROUNDS, SHAPE_US / us));
}

/* The winner among a contender's runners is the one whose time was kept. */
static int finish(const bench *b, field *f, operands *x, result *out, tj_error *err)
{
    runner *best[CONTENDERS] = {NULL};

    out->rounds = count_rounds(b, f);
    if (!run_rounds(b, f->racing, f->count, out->rounds, err))
        return 0;
    for (int i = 0; i < f->count; i++) {
        runner *r = f->racing[i];

        if (settle(&out->of[r->who], r, out->rounds))
            best[r->who] = r;
    }
    if (best[CUBLASLT])
        (void)snprintf(out->of[CUBLASLT].how, sizeof out->of[CUBLASLT].how, "heuristic %d of %d%s", best[CUBLASLT]->idea + 1,
                       cublas_idea_count(best[CUBLASLT]->peer),
                       leaves_scales_out(&out->shape->problem, best[CUBLASLT]) ? ", without scales, not checked" : "");
    if (clock_is_emulated(b->clock))
        forget_times(out);
    for (int who = 0; who < CONTENDERS; who++)
        if (best[who] && !verify(b, x, best[who], &out->of[who], err))
            return 0;
    return 1;
}

static int hold(const bench *b, field *f, operands *x, const tj_plan *const *plan, cublas_problem **peer, result *out,
                tj_error *err)
{
    const tj_problem canonical = tj_problem_canonical(&out->shape->problem), *settled;
    size_t workspace = 0;
    tj_error why;

    for (int i = 0; i < 2; i++)
        if (plan[i] && tj_plan_workspace_bytes(plan[i]) > workspace)
            workspace = tj_plan_workspace_bytes(plan[i]);
    if (!place(b, &out->shape->problem, x, workspace, err))
        return 0;
    settled = tj_workbench_problem(x->bench);
    out->sets = x->sets;
    out->flop = 2 * (double)settled->batch * (double)settled->k.extent *
                (settled->symmetric ? (double)settled->j.extent * ((double)settled->j.extent + 1) / 2
                                    : (double)settled->j.extent * (double)settled->l.extent);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        out->bytes += (double)tj_workbench_bytes(x->bench, which);
    if (b->peaks.per_s[TJ_PIPE_MEMORY] > 0)
        out->floor_us = out->bytes / b->peaks.per_s[TJ_PIPE_MEMORY] * 1e6;
    for (int i = 0; i < 2; i++)
        if (plan[i]) {
            f->ours[i] = (runner){.who = i ? TUNED : ZERO_SHOT, .x = x, .plan = plan[i]};
            enter(b, f, &f->ours[i], out);
        }
    if (b->peers && (!cublas_is_asked(&canonical, &why) || !(*peer = cublas_describe(b->peers, settled, &why))))
        for (int who = CUBLAS; who <= CUBLASLT; who++)
            miss(&out->of[who], why.status != TJ_ERR_UNSUPPORTED, why.message);
    return (!*peer || enter_peers(b, f, x, *peer, out, err)) && finish(b, f, x, out, err);
}

bool race_shape(const bench *b, const cli_shape *what, const tj_config *config, result *out, tj_error *err)
{
    const tj_plan *plan[2] = {NULL, NULL};
    cublas_problem *peer = NULL;
    field *f = calloc(1, sizeof *f);
    operands x = {0};
    const tj_problem canonical = tj_problem_canonical(&what->problem);
    bool is_held;

    *out = (result){.shape = what};
    out->has_config = config != NULL;
    bench_name(&canonical, out->name);
    if (!f)
        return tj_fail_memory(err, "the contenders") == TJ_OK;
    plan[0] = prepare(b, &what->problem, NULL, &out->of[ZERO_SHOT]);
    if (config)
        plan[1] = prepare(b, &what->problem, config, &out->of[TUNED]);
    else
        miss(&out->of[TUNED], false, b->is_zero_shot_only ? "not asked for" : "no record: tilejit tune finds one");
    for (int who = CUBLAS; who <= CUBLASLT && !b->peers; who++)
        miss(&out->of[who], false, b->no_peers);
    is_held = hold(b, f, &x, plan, &peer, out, err);
    for (int i = 0; i < 2; i++)
        clock_drop(b->clock, &f->ours[i].samples);
    clock_drop(b->clock, &f->blas.samples);
    for (int i = 0; i < CUBLAS_IDEAS; i++)
        clock_drop(b->clock, &f->idea[i].samples);
    cublas_forget(peer);
    drop(&x);
    free(f);
    return is_held;
}
