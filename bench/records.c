/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_records A.json B.json: compare two tunings. For each shape with a record in both files, time the two configs in turns, in one
 * process, over the same operands in a cold L2. A third contender is A's config again: its distance to itself shows how much the distance
 * of the two means. Shapes with the same config in both files are skipped, unless --all is given.
 */
#include <math.h>
#include <string.h>

#include "clock.h"
#include "program.h"

const char program[] = "bench_records";

static const double CACHES = 3; /* total size of the sets, in L2 caches */
static const double BAND = 1.01;
enum { ROUNDS = 81, MOST_SETS = 1024, MOST_FILE_BYTES = 256 << 20 };
enum { OF_A, OF_B, AGAIN, CONTENDERS };

/* The ratio of two contenders' times over all rounds. */
typedef struct ratio {
    double low, middle, high; /* quartiles and median */
} ratio;

typedef struct contender {
    const tj_plan *plan;
    const tj_operands *set;
    samples samples;
    double us[ROUNDS];
} contender;

/* ---- records ------------------------------------------------------------------------------------------------------ */

static tj_records *read_records(const char *path)
{
    FILE *file = fopen(path, "rb");
    tj_records *records = tj_records_create();
    char *text = malloc(MOST_FILE_BYTES);
    tj_error err;
    size_t size;

    if (!file || !records || !text)
        die(1, "%s cannot be read", path);
    size = fread(text, 1, MOST_FILE_BYTES - 1, file);
    text[size] = '\0';
    if (tj_records_parse(text, NULL, NULL, records, NULL, &err) != TJ_OK)
        die(1, "%s holds no records: %s", path, err.message);
    fclose(file);
    free(text);
    return records;
}

static const tj_record *find(const tj_records *records, const tj_problem *problem)
{
    char wanted[TJ_PROBLEM_ID_BYTES], id[TJ_PROBLEM_ID_BYTES];
    const tj_record *record;

    tj_problem_id(problem, wanted);
    for (size_t i = 0; (record = tj_records_at(records, i)); i++) {
        tj_problem_id(tj_record_problem(record), id);
        if (strcmp(id, wanted) == 0)
            return record;
    }
    return NULL;
}

/* ---- the race ----------------------------------------------------------------------------------------------------- */

static int queue(void *what, size_t set, struct CUstream_st *stream, tj_error *err)
{
    const contender *c = what;

    return tj_plan_launch(c->plan, &c->set[set], stream, err) == TJ_OK;
}

static size_t count_sets(tj_context *context, const bench_clock *clock, const tj_device_facts *device,
                         const tj_problem *problem)
{
    size_t bytes = 0, free_bytes, total_bytes;
    double wanted, room;
    tj_error err;

    must(tj_device_memory(context, &free_bytes, &total_bytes, &err), &err);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_P; which++)
        bytes += (size_t)tj_problem_span(problem, which) * tj_type_bytes((tj_type)tj_problem_matrix(problem, which)->type);
    wanted = ceil(CACHES * (double)device->l2_bytes / (double)bytes) + 1;
    room = floor((double)free_bytes / 4 / (double)bytes);
    wanted = fmin(fmin(wanted, room), MOST_SETS);
    return clock_is_emulated(clock) || wanted < 1 ? 1 : (size_t)wanted;
}

static const tj_plan *prepare(tj_context *context, const tj_record *record)
{
    const tj_plan *plan;
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;
    tj_config config;
    tj_error err;

    must(tj_record_get_facts(record, &facts, &err), &err);
    must(tj_config_parse(facts.config, &config, &err), &err);
    must(tj_plan_prepare(context, tj_record_problem(record), &config, &plan, &err), &err);
    return plan;
}

/* Run rounds over the contenders, each first in its turn. Drop the round before the first. */
static void run_rounds(bench_clock *clock, contender *c)
{
    tj_error err;

    for (int round = -1; round < ROUNDS; round++)
        for (int i = 0; i < CONTENDERS; i++) {
            contender *one = &c[(i + round + CONTENDERS) % CONTENDERS];
            const double us = clock_sample(clock, &one->samples, &err);

            if (us < 0)
                die(1, "%s", err.message);
            if (round >= 0)
                one->us[round] = us;
        }
}

/* Compare times of the same round: a disturbance affects both. */
static ratio compare(const contender *a, const contender *b)
{
    double share[ROUNDS], middle;

    for (int i = 0; i < ROUNDS; i++)
        share[i] = a->us[i] > 0 ? b->us[i] / a->us[i] : 1;
    middle = median(share, ROUNDS);
    return (ratio){share[(ROUNDS - 1) / 4], middle, share[3 * (ROUNDS - 1) / 4]};
}

static void race(tj_context *context, bench_clock *clock, const tj_device_facts *device, const tj_record *const pair[2],
                 contender *c)
{
    const tj_problem *problem = tj_record_problem(pair[OF_A]);
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    size_t workspace = 0;
    tj_workbench *bench;
    tj_error err;

    options.seed = 1;
    options.sets = count_sets(context, clock, device, problem);
    must(tj_workbench_create(context, problem, &options, &bench, &err), &err);
    for (int i = 0; i < CONTENDERS; i++) {
        c[i].plan = prepare(context, pair[i % AGAIN]);
        if (workspace < tj_plan_workspace_bytes(c[i].plan))
            workspace = tj_plan_workspace_bytes(c[i].plan);
    }
    must(tj_workbench_fit(bench, workspace, &err), &err);
    for (int i = 0; i < CONTENDERS; i++) {
        c[i].set = tj_workbench_operands(bench);
        if (!clock_try(clock, queue, &c[i], &err) || !clock_capture(clock, queue, &c[i], options.sets, &c[i].samples, &err))
            die(1, "%s", err.message);
    }
    run_rounds(clock, c);
    for (int i = 0; i < CONTENDERS; i++)
        clock_drop(clock, &c[i].samples);
    tj_workbench_free(bench);
}

/* ---- totals ------------------------------------------------------------------------------------------------------- */

/* Totals over all pairs that were timed. */
typedef struct sum {
    size_t count, close;
    double least, most, log;
} sum;

static void add(sum *s, double value)
{
    s->least = s->count == 0 || value < s->least ? value : s->least;
    s->most = s->count == 0 || value > s->most ? value : s->most;
    s->close += value < BAND && value > 1 / BAND;
    s->log += log(value);
    s->count++;
}

static void print_sum(const char *what, const sum *s)
{
    if (s->count > 0)
        printf("%-22s %3zu timed, within 1 %%: %zu, least %.4f, most %.4f, geometric mean %.4f\n", what, s->count, s->close,
               s->least, s->most, exp(s->log / (double)s->count));
}

int main(int argc, char **argv)
{
    const int all = argc == 4 && strcmp(argv[3], "--all") == 0;
    size_t count = 0, same = 0, missing = 0;
    sum one_config = {0}, two_configs = {0}, control = {0};
    tj_records *set[2];
    tj_context *context;
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    bench_clock *clock;
    tj_error err;

    if (argc < 3 || argc > 3 + all)
        die(2, "usage: bench_records A.json B.json [--all]");
    set[OF_A] = read_records(argv[1]);
    set[OF_B] = read_records(argv[2]);
    must(tj_context_create(NULL, &context, &err), &err);
    must(tj_device_get(context, device_number(), &device, &err), &err);
    clock = clock_open(context, NULL, &device, &err);
    if (!clock)
        die(77, "%s", err.message);
    printf("%-28s %9s %9s %7s [quartiles]      %7s  configs\n", "problem", "A us", "B us", "B/A", "A/A");
    for (size_t i = 0; i < tj_records_count(set[OF_A]); i++) {
        const tj_record *a = tj_records_at(set[OF_A], i), *pair[2] = {a, find(set[OF_B], tj_record_problem(a))};
        contender c[CONTENDERS] = {0};
        tj_record_facts facts[2] = {TJ_RECORD_FACTS_INIT, TJ_RECORD_FACTS_INIT};
        bool is_same;
        ratio b_to_a, a_to_a;

        if (!pair[OF_B]) {
            missing++;
            continue;
        }
        must(tj_record_get_facts(pair[OF_A], &facts[OF_A], &err), &err);
        must(tj_record_get_facts(pair[OF_B], &facts[OF_B], &err), &err);
        is_same = strcmp(facts[OF_A].config, facts[OF_B].config) == 0;
        count++;
        same += is_same;
        if (is_same && !all) {
            printf("%-28s the same  %s\n", facts[OF_A].problem, facts[OF_A].config);
            continue;
        }
        race(context, clock, &device, pair, c);
        b_to_a = compare(&c[OF_A], &c[OF_B]);
        a_to_a = compare(&c[OF_A], &c[AGAIN]);
        add(is_same ? &one_config : &two_configs, b_to_a.middle);
        add(&control, a_to_a.middle);
        printf("%-28s %9.2f %9.2f %7.4f [%.4f, %.4f] %7.4f  %s | %s\n", facts[OF_A].problem, median(c[OF_A].us, ROUNDS),
               median(c[OF_B].us, ROUNDS), b_to_a.middle, b_to_a.low, b_to_a.high, a_to_a.middle, facts[OF_A].config,
               facts[OF_B].config);
        fflush(stdout);
    }
    printf("\nshapes in both: %zu, of one config: %zu, of two: %zu; in the first file alone: %zu\n", count, same, count - same,
           missing);
    print_sum("two configs, B/A:", &two_configs);
    print_sum("one config, B/A:", &one_config);
    print_sum("A once more, A/A:", &control);
    clock_close(clock);
    tj_context_free(context);
    tj_records_free(set[OF_A]);
    tj_records_free(set[OF_B]);
    return 0;
}
