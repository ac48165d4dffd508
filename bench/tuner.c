/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_tuner FILE [SEEDS [EVALUATIONS [TARGET]]]: the number of evaluations that each strategy needs to reach 90, 95, 98 and 99 % of the optimum.
 *
 * FILE is the output of "tilejit tune SHAPE --strategy exhaustive --trials FILE" on a GPU, for one shape or several: the search then
 * runs over those times, on any machine and any number of times. Each seed disturbs every time by up to 1 %, as a device would.
 * TARGET, such as sm_90, uses this build's predictions for that device; without it the predictions are those of the recording.
 * "random" draws configs blindly: the mark that a search has to beat.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "program.h"

const char program[] = "bench_tuner";

enum { MARKS = 4, MAX_SHAPES = 128, MAX_SEEDS = 64, NEVER = 1000000 };

static const double mark[MARKS] = {0.90, 0.95, 0.98, 0.99};

typedef struct timed {
    char config[TJ_CONFIG_TEXT_BYTES];
    double us, predicted_us; /* us 0: refused or wrong */
} timed;

/* The recorded run of one shape. */
typedef struct recorded {
    char shape[80];
    tj_problem problem;
    timed *item;
    size_t count;
    double best_us;
} recorded;

static recorded run[MAX_SHAPES];
static size_t runs;
static tj_device_facts device = TJ_DEVICE_FACTS_INIT; /* cc_major 0: none was given */

/* ---- reading ------------------------------------------------------------------------------------------------------ */

static recorded *run_of(const char *shape)
{
    long long j, k, l, batch = 1;

    for (size_t i = 0; i < runs; i++)
        if (strcmp(run[i].shape, shape) == 0)
            return &run[i];
    if (runs == MAX_SHAPES || sscanf(shape, "%lldx%lldx%lld b%lld", &j, &k, &l, &batch) < 3)
        return NULL;
    run[runs].problem = (tj_problem)TJ_PROBLEM_INIT(j, k, l, TJ_F32);
    run[runs].problem.batch = batch;
    (void)snprintf(run[runs].shape, sizeof run[runs].shape, "%s", shape);
    return &run[runs++];
}

static int by_config(const void *a, const void *b)
{
    return strcmp(((const timed *)a)->config, ((const timed *)b)->config);
}

static int read_line(char *line)
{
    char *field[6], *rest = line;
    recorded *r;
    timed *larger, one;
    tj_config config;

    for (int i = 0; i < 6; i++)
        if (!(field[i] = strsep(&rest, "\t")))
            return 0;
    r = run_of(field[0]);
    if (!r)
        return 0;
    larger = realloc(r->item, (r->count + 1) * sizeof *larger);
    if (!larger)
        return 0;
    r->item = larger;
    /* Written by this version: another may have other parameters, or another order. */
    if (tj_config_parse(field[1], &config, NULL) != TJ_OK)
        return 0;
    tj_config_print(&config, one.config);
    one.us = strcmp(field[2], "timed") == 0 || strcmp(field[2], "slow") == 0 ? strtod(field[3], NULL) : 0;
    one.predicted_us = strtod(field[5], NULL);
    if (one.us > 0 && (r->best_us == 0 || one.us < r->best_us))
        r->best_us = one.us;
    r->item[r->count++] = one;
    return 1;
}

static void read_runs(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[1024];

    if (!file) {
        perror(path);
        exit(1);
    }
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] != '#' && line[0] != '\0' && !read_line(line))
            die(1, "%s, line %d is not a trial of tilejit tune --trials", path, number);
    }
    (void)fclose(file);
    if (runs == 0)
        exit(1);
    for (size_t i = 0; i < runs; i++)
        qsort(run[i].item, run[i].count, sizeof *run[i].item, by_config);
}

/* ---- replaying ---------------------------------------------------------------------------------------------------- */

typedef struct replay {
    const recorded *run;
    uint64_t seed;
    double least; /* undisturbed time of the best config so far */
    int64_t tried;
    double reached[MARKS]; /* evaluations; NEVER */
} replay;

static const timed *find(const recorded *r, const tj_config *config)
{
    timed key;

    tj_config_print(config, key.config);
    return bsearch(&key, r->item, r->count, sizeof key, by_config);
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void note(replay *r, double us)
{
    r->tried++;
    if (us > 0 && (r->least == 0 || us < r->least))
        r->least = us;
    for (int m = 0; m < MARKS; m++)
        if (r->reached[m] == NEVER && r->least > 0 && r->run->best_us / r->least >= mark[m])
            r->reached[m] = (double)r->tried;
}

static tj_status measure(void *payload, double best_us, tj_trial *trial, tj_error *err)
{
    replay *r = payload;
    const timed *found = find(r->run, &trial->config);
    const double us = found ? found->us : 0;

    (void)best_us;
    (void)err;
    trial->state = us > 0 ? TJ_TRIAL_TIMED : TJ_TRIAL_REFUSED;
    if (us > 0)
        trial->us = us * (1 + 0.01 * ((double)(mix(r->seed + (uint64_t)(found - r->run->item)) >> 11) * 0x1p-53));
    note(r, us);
    return TJ_OK;
}

static double predict(void *payload, const tj_config *config)
{
    const recorded *r = ((replay *)payload)->run;
    const timed *found = find(r, config);
    double us;

    if (!found)
        return 1e12; /* not recorded: never the best */
    if (device.cc_major == 0)
        return found->predicted_us;
    return tj_estimate(&device, &r->problem, config, &us, NULL) == TJ_OK ? us : 0;
}

static replay begin_replay(const recorded *r, uint64_t seed)
{
    replay begun = {.run = r, .seed = seed};

    for (int m = 0; m < MARKS; m++)
        begun.reached[m] = NEVER;
    return begun;
}

static void replay_search(const recorded *r, int32_t strategy, uint64_t seed, int64_t evaluations, int with_model, replay *out)
{
    const tj_measurer measurer = {sizeof measurer, out, NULL, measure, NULL, with_model ? predict : NULL, NULL};
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_config first = TJ_CONFIG_INIT;
    tj_search_result result = TJ_SEARCH_RESULT_INIT;
    tj_error err;

    *out = begin_replay(r, mix(seed + 1));
    options.strategy = strategy;
    options.evaluations = evaluations;
    options.seed = (int64_t)seed;
    first.family = tj_family_at(0);
    for (size_t i = 0; i < tj_family_param_count(first.family); i++)
        first.value[i] = tj_family_param(first.family, i)->standard;
    if (tj_search(&r->problem, &options, &first, 1, &measurer, &result, &err) != TJ_OK)
        die(1, "%s: %s", r->shape, err.message);
    free(result.trial);
}

static void replay_random(const recorded *r, uint64_t seed, int64_t evaluations, replay *out)
{
    *out = begin_replay(r, mix(seed + 77));
    for (int64_t i = 0; i < evaluations; i++)
        note(out, r->item[mix(out->seed + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15)) % r->count].us);
}

/* ---- output ------------------------------------------------------------------------------------------------------- */

static void print_number(double value)
{
    if (value < NEVER)
        printf("%6.0f", value);
    else
        printf("     -");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int32_t strategy;
        int with_model;
    } ways[] = {{"search", TJ_SEARCH, 1}, {"search, no model", TJ_SEARCH, 0}, {"model", TJ_MODEL, 1}, {"random", -1, 0}};
    const uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 5;
    const int64_t evaluations = argc > 3 ? strtoll(argv[3], NULL, 10) : 400;
    static double reached[MARKS][MAX_SHAPES * MAX_SEEDS];
    tj_error err;

    if (argc < 2 || seeds < 1 || seeds > MAX_SEEDS || evaluations < 1) {
        fprintf(stderr, "usage: bench_tuner FILE [SEEDS up to %d [EVALUATIONS [TARGET]]]\n", MAX_SEEDS);
        return 2;
    }
    if (argc > 4 && tj_device_named(argv[4], &device, &err) != TJ_OK)
        die(2, "%s", err.message);
    read_runs(argv[1]);
    for (size_t i = 0; i < runs; i++)
        printf("%-24s %6zu configs, best %.2f us\n", run[i].shape, run[i].count, run[i].best_us);
    printf("\n%" PRIu64 " seeds a shape, %" PRId64
           " evaluations at most; those needed to reach a share of the optimum, median, 90th "
           "percentile and most:\n%-18s",
           seeds, evaluations, "");
    for (int m = 0; m < MARKS; m++)
        printf("%22.0f %%", 100 * mark[m]);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        size_t count = 0;

        for (size_t i = 0; i < runs; i++)
            for (uint64_t seed = 0; seed < seeds; seed++, count++) {
                replay r;

                if (ways[w].strategy < 0)
                    replay_random(&run[i], seed, evaluations, &r);
                else
                    replay_search(&run[i], ways[w].strategy, seed, evaluations, ways[w].with_model, &r);
                for (int m = 0; m < MARKS; m++)
                    reached[m][count] = r.reached[m];
            }
        printf("\n%-18s", ways[w].name);
        for (int m = 0; m < MARKS; m++) {
            qsort(reached[m], count, sizeof reached[m][0], by_value);
            printf("%6s", "");
            print_number(reached[m][count / 2]);
            print_number(reached[m][count * 9 / 10]);
            print_number(reached[m][count - 1]);
        }
    }
    printf("\n");
    for (size_t i = 0; i < runs; i++)
        free(run[i].item);
    return 0;
}
