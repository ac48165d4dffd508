/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: the times of the textbook's kernels next to the model's predictions.
 *
 *     bench_model > recorded.txt             measure: 48 shapes, families naive and tiled, three widths; needs a GPU
 *     bench_model random 7 > recorded.txt    the same for 40 shapes drawn from a seed, which nothing was fitted to
 *     bench_model registers > recorded.txt   configs of simt and skinny, splits among them, on 14 shapes
 *     bench_model recorded.txt               compare a recording with the model of this build; needs nothing
 *
 * A recording is text: one kernel per line, a '#' begins a comment. tests/analysis holds one of an H200.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "program.h"

const char program[] = "model";

enum { PERIOD = 1 << 22, COPY_EXTENT = 16384, REPEAT = 11, RANDOM_SHAPES = 40, LARGEST = 4096 };

static const double MOST_FLOP = 4e10;

typedef struct shape {
    int64_t j, k, l;
    tj_type type;
} shape;

static const shape chosen_shapes[] = {
    /* square */
    {32, 32, 32, TJ_F32},
    {64, 64, 64, TJ_F32},
    {96, 96, 96, TJ_F32},
    {128, 128, 128, TJ_F32},
    {192, 192, 192, TJ_F32},
    {256, 256, 256, TJ_F32},
    {384, 384, 384, TJ_F32},
    {512, 512, 512, TJ_F32},
    {768, 768, 768, TJ_F32},
    {1024, 1024, 1024, TJ_F32},
    {1536, 1536, 1536, TJ_F32},
    {2048, 2048, 2048, TJ_F32},
    {3072, 3072, 3072, TJ_F32},
    {4096, 4096, 4096, TJ_F32},
    /* nothing divides */
    {65, 33, 47, TJ_F32},
    {127, 127, 127, TJ_F32},
    {257, 263, 269, TJ_F32},
    {511, 509, 513, TJ_F32},
    {1021, 1021, 1021, TJ_F32},
    {2039, 1000, 2041, TJ_F32},
    /* rectangular */
    {512, 300, 700, TJ_F32},
    {1000, 2000, 500, TJ_F32},
    {100, 4000, 100, TJ_F32},
    {64, 4096, 64, TJ_F32},
    {256, 4096, 256, TJ_F32},
    {4096, 16, 4096, TJ_F32},
    {4096, 64, 4096, TJ_F32},
    {2048, 8, 2048, TJ_F32},
    {3000, 100, 3000, TJ_F32},
    {4096, 256, 1024, TJ_F32},
    {1024, 4096, 256, TJ_F32},
    {4096, 4096, 64, TJ_F32},
    {64, 4096, 4096, TJ_F32},
    {16, 4096, 4096, TJ_F32},
    {4096, 4096, 16, TJ_F32},
    {4096, 1024, 1, TJ_F32},
    {1, 1024, 4096, TJ_F32},
    {32, 100000, 32, TJ_F32},
    {720, 1280, 640, TJ_F32},
    {100000, 32, 128, TJ_F32},
    /* other types */
    {512, 512, 512, TJ_F64},
    {1024, 1024, 1024, TJ_F64},
    {500, 700, 900, TJ_F64},
    {2048, 2048, 2048, TJ_F64},
    {512, 512, 512, TJ_F16},
    {1024, 1024, 1024, TJ_F16},
    {500, 700, 900, TJ_F16},
    {2048, 2048, 2048, TJ_F16},
};

static const char *const configs[] = {"naive:tile_width=8", "naive:tile_width=16", "naive:tile_width=32",
                                      "tiled:tile_width=8", "tiled:tile_width=16", "tiled:tile_width=32"};

/* Families that reuse registers: each config on each shape that it accepts. */
static const shape register_shapes[] = {
    {256, 256, 256, TJ_F32},    {512, 512, 512, TJ_F32},    {1024, 1024, 1024, TJ_F32}, {1536, 1536, 1536, TJ_F32},
    {2048, 2048, 2048, TJ_F32}, {4096, 4096, 4096, TJ_F32}, {1021, 1021, 1021, TJ_F32}, {512, 300, 700, TJ_F32},
    {3000, 100, 3000, TJ_F32},  {128, 32768, 128, TJ_F32},  {4096, 256, 1024, TJ_F32},  {2048, 2048, 2048, TJ_F64},
    {16, 4096, 4096, TJ_F32},   {1, 4096, 4096, TJ_F32},
};

static const char *const register_configs[] = {
    "simt:bm=64,bn=128,bk=16,blocks=4",
    "simt:bm=64,bn=128,bk=8,blocks=4",
    "simt:bm=64,bn=128,bk=16,blocks=6",
    "simt:bm=128,bn=128,bk=16,blocks=2",
    "simt:bm=128,bn=128,bk=16,blocks=2,group=8",
    "simt:bm=128,bn=256,bk=16,tm=16,tn=8",
    "simt:bm=64,bn=128,bk=32,slices=4",
    "simt:bm=64,bn=128,bk=16,slices=2,stages=4",
    "simt:bm=64,bn=64,bk=16,tm=4,tn=8",
    "simt:bm=64,bn=64,bk=16,tm=4,tn=4",
    "simt:bm=32,bn=64,bk=32,tm=8,tn=4,slices=4",
    "simt:bm=32,bn=64,bk=32,tm=8,tn=4,slices=2",
    "simt:bm=32,bn=64,bk=16,tm=4,tn=4",
    "simt:bm=16,bn=32,bk=64,tm=4,tn=4,slices=4",
    "simt:bm=16,bn=32,bk=16,tm=4,tn=4",
    "simt:bm=64,bn=128,bk=16,splits=2",
    "simt:bm=64,bn=64,bk=16,tm=4,tn=8,splits=4",
    "simt:bm=64,bn=64,bk=16,tm=4,tn=8,splits=16",
    "simt:copy=registers,bm=64,bn=128,bk=8",
    "skinny",
    "skinny:splits=1",
    "tiled:tile_width=32",
};

static uint64_t state;

static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) / 0x1p53;
}

/* Draw small and large extents with equal probability. */
static int64_t random_extent(void)
{
    return (int64_t)pow(LARGEST, 0.2 + 0.8 * uniform());
}

static void draw_shapes(uint64_t seed, shape *out, int count)
{
    static const tj_type types[] = {TJ_F32, TJ_F32, TJ_F32, TJ_F32, TJ_F32, TJ_F32, TJ_F64, TJ_F16};

    state = seed;
    for (int i = 0; i < count; i++)
        do
            out[i] = (shape){random_extent(), random_extent(), random_extent(), types[i % 8]};
        while (2.0 * (double)out[i].j * (double)out[i].k * (double)out[i].l > MOST_FLOP);
}

/* ---- measuring ---------------------------------------------------------------------------------------------------- */

/* Place operands of a problem, for every config that accepts it. */
static tj_workbench *place(tj_context *context, const tj_problem *problem)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_workbench *bench;
    tj_error err;

    options.beta = 1;
    options.period = PERIOD;
    must(tj_workbench_create(context, problem, &options, &bench, &err), &err);
    return bench;
}

static double median_us(tj_context *context, const tj_plan *plan, tj_workbench *bench, int warmup)
{
    tj_timing timing = TJ_TIMING_INIT;
    double duration[REPEAT];
    tj_error err;

    timing.warmup = warmup;
    timing.repeat = REPEAT;
    must(tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), &err), &err);
    must(tj_time_launches(context, plan, tj_workbench_operands(bench), NULL, &timing, duration, &err), &err);
    return median(duration, REPEAT);
}

/* beta * C with k = 0 reads and writes a matrix once: the bandwidth that a kernel of this library reaches. */
static void measure_bandwidth(tj_context *context)
{
    static const tj_type types[] = {TJ_F32, TJ_F64};
    tj_error err;

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        const double moved = 2.0 * (double)COPY_EXTENT * COPY_EXTENT * (double)tj_type_bytes(types[t]);
        tj_problem problem = TJ_PROBLEM_INIT(COPY_EXTENT, 0, COPY_EXTENT, (int32_t)types[t]);
        tj_workbench *bench;

        problem.epilogue.has_beta = 1;
        bench = place(context, &problem);
        for (size_t c = 0; c < 3; c++) {
            tj_config config;
            const tj_plan *plan;

            must(tj_config_parse(configs[c], &config, &err), &err);
            must(tj_plan_prepare(context, &problem, &config, &plan, &err), &err);
            printf("# bandwidth %s %s %.1f GB/s\n", configs[c], tj_type_name(types[t]),
                   moved / median_us(context, plan, bench, 5) / 1e3);
        }
        tj_workbench_free(bench);
    }
}

static void measure(const shape *shapes, size_t count, const char *const *texts, size_t text_count)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_context *context;
    tj_error err;

    options.cache_dir = "";
    must(tj_context_create(&options, &context, &err), &err);
    must(tj_device_current(context, &facts, &err), &err);
    printf("# %s: j k l type config registers median_us\n", facts.name);
    measure_bandwidth(context);
    for (size_t s = 0; s < count; s++) {
        const tj_problem problem = TJ_PROBLEM_INIT(shapes[s].j, shapes[s].k, shapes[s].l, (int32_t)shapes[s].type);
        const double flop = 2.0 * (double)shapes[s].j * (double)shapes[s].k * (double)shapes[s].l;
        tj_workbench *bench = place(context, &problem);

        for (size_t c = 0; c < text_count; c++) {
            tj_kernel_facts kernel = TJ_KERNEL_FACTS_INIT;
            tj_config config, resolved;
            const tj_plan *plan;

            must(tj_config_parse(texts[c], &config, &err), &err);
            resolved = config;
            if (tj_config_resolve(&problem, &resolved, &err) != TJ_OK)
                continue; /* not for this shape */
            must(tj_plan_prepare(context, &problem, &config, &plan, &err), &err);
            must(tj_kernel_get_facts(tj_plan_kernel(plan), &kernel, &err), &err);
            printf("%" PRId64 " %" PRId64 " %" PRId64 " %s %s %d %.3f\n", shapes[s].j, shapes[s].k, shapes[s].l,
                   tj_type_name(shapes[s].type), texts[c], (int)kernel.registers,
                   median_us(context, plan, bench, flop < 1e9 ? 50 : 3));
            fflush(stdout);
        }
        tj_workbench_free(bench);
    }
    tj_context_free(context);
}

/* ---- comparing ---------------------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 1000, LINE_BYTES = 256 };

typedef struct row {
    char shape[64], config[64];
    size_t family; /* length of the family's name in config */
    double measured, predicted;
    double rank[2];
} row;

static row rows[MOST_ROWS];

static void read_row(const char *line, row *out)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_analysis a = TJ_ANALYSIS_INIT;
    tj_config config;
    tj_type dtype;
    tj_problem problem;
    int64_t j, k, l;
    char type[8];
    int registers;
    tj_error err;

    if (sscanf(line, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %7s %63s %d %lf", &j, &k, &l, type, out->config, &registers,
               &out->measured) != 7) {
        fprintf(stderr, "model: not a line of a recording: %s", line);
        exit(1);
    }
    must(tj_type_parse(type, &dtype, &err), &err);
    must(tj_config_parse(out->config, &config, &err), &err);
    must(tj_device_named("sm_90", &facts, &err), &err);
    problem = (tj_problem)TJ_PROBLEM_INIT(j, k, l, (int32_t)dtype);
    must(tj_analyze(&facts, &problem, &config, registers, 0, &a, &err), &err);
    snprintf(out->shape, sizeof out->shape, "%" PRId64 "x%" PRId64 "x%" PRId64 " %s", j, k, l, type);
    out->family = strcspn(out->config, ":");
    out->predicted = a.predicted.us;
    printf("%-24s %-20s %10.2f %10.2f %6.2f  %s\n", out->shape, out->config, out->measured, out->predicted,
           out->predicted / out->measured, a.predicted.bound);
}

/* Rank count numbers; equal ones share their mean rank. */
static void rank(row *all, int count, int which)
{
    for (int i = 0; i < count; i++) {
        const double mine = which ? all[i].predicted : all[i].measured;

        all[i].rank[which] = 1;
        for (int k = 0; k < count; k++) {
            const double other = which ? all[k].predicted : all[k].measured;

            all[i].rank[which] += k == i ? 0 : other < mine ? 1 : other == mine ? 0.5 : 0;
        }
    }
}

/* Return Spearman's rank correlation. */
static double correlation(row *all, int count)
{
    const double mean = (count + 1) / 2.0;
    double both = 0, one = 0, two = 0;

    rank(all, count, 0);
    rank(all, count, 1);
    for (int i = 0; i < count; i++) {
        const double x = all[i].rank[0] - mean, y = all[i].rank[1] - mean;

        both += x * y;
        one += x * x;
        two += y * y;
    }
    return one > 0 && two > 0 ? both / sqrt(one * two) : 1;
}

static void tell(const char *name, row *all, int count)
{
    static double error[MOST_ROWS];

    for (int i = 0; i < count; i++)
        error[i] = fabs(all[i].predicted / all[i].measured - 1);
    qsort(error, (size_t)count, sizeof error[0], by_value);
    printf("%-28s %4d kernels: rank correlation %.3f, median error %.0f %%, nine in ten within %.0f %%\n", name, count,
           correlation(all, count), 100 * error[count / 2], 100 * error[count * 9 / 10]);
}

/* Report the slowdown per shape of the model's choice against the best config of all, or of one family, and of always 16. */
static void tell_choice(const row *all, int count, const char *family)
{
    static double loss[MOST_ROWS], standard_loss[MOST_ROWS];
    int shapes_seen = 0, right = 0;

    for (int first = 0, next; first < count; first = next) {
        int chosen = -1, best = -1, standard = -1;

        for (next = first; next < count && strcmp(all[next].shape, all[first].shape) == 0; next++) {
            if (family && strncmp(all[next].config, family, all[next].family) != 0)
                continue;
            chosen = chosen < 0 || all[next].predicted < all[chosen].predicted ? next : chosen;
            best = best < 0 || all[next].measured < all[best].measured ? next : best;
            standard = strcmp(all[next].config, "tiled:tile_width=16") == 0 ? next : standard;
        }
        if (chosen < 0)
            continue;
        standard = standard < 0 ? best : standard;
        loss[shapes_seen] = all[chosen].measured / all[best].measured - 1;
        standard_loss[shapes_seen++] = all[standard].measured / all[best].measured - 1;
        right += chosen == best;
    }
    if (shapes_seen == 0)
        return;
    qsort(loss, (size_t)shapes_seen, sizeof loss[0], by_value);
    qsort(standard_loss, (size_t)shapes_seen, sizeof loss[0], by_value);
    printf("%s by the model: the best %d times of %d; slower than it by %.0f %% in the median, %.0f %% for nine in ten, "
           "%.0f %% at most\n",
           family ? family : "all", right, shapes_seen, 100 * loss[shapes_seen / 2], 100 * loss[shapes_seen * 9 / 10],
           100 * loss[shapes_seen - 1]);
    if (family)
        printf("16 always: %.0f %%, %.0f %%, %.0f %%\n", 100 * standard_loss[shapes_seen / 2],
               100 * standard_loss[shapes_seen * 9 / 10], 100 * standard_loss[shapes_seen - 1]);
}

static int by_family(const void *a, const void *b)
{
    const row *x = a, *y = b;

    return strncmp(x->config, y->config, x->family < y->family ? x->family : y->family);
}

static void compare(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[LINE_BYTES];
    int count = 0;

    if (!file)
        die(1, "cannot open %s", path);
    printf("shape                    config                 measured  predicted  ratio  bound\n");
    while (count < MOST_ROWS && fgets(line, sizeof line, file))
        if (line[0] != '#')
            read_row(line, &rows[count++]);
    fclose(file);
    tell_choice(rows, count, NULL);
    tell_choice(rows, count, "tiled");
    tell("all", rows, count);
    qsort(rows, (size_t)count, sizeof rows[0], by_family);
    for (int first = 0, next; first < count; first = next) {
        char name[32];

        for (next = first; next < count && by_family(&rows[next], &rows[first]) == 0; next++)
            ;
        snprintf(name, sizeof name, "%.*s", (int)rows[first].family, rows[first].config);
        tell(name, rows + first, next - first);
    }
}

int main(int argc, char **argv)
{
    shape drawn[RANDOM_SHAPES];

    if (argc == 3 && strcmp(argv[1], "random") == 0) {
        draw_shapes(strtoull(argv[2], NULL, 10), drawn, RANDOM_SHAPES);
        measure(drawn, RANDOM_SHAPES, configs, sizeof configs / sizeof configs[0]);
    } else if (argc == 2 && strcmp(argv[1], "registers") == 0) {
        measure(register_shapes, sizeof register_shapes / sizeof register_shapes[0], register_configs,
                sizeof register_configs / sizeof register_configs[0]);
    } else if (argc > 1) {
        compare(argv[1]);
    } else {
        measure(chosen_shapes, sizeof chosen_shapes / sizeof chosen_shapes[0], configs, sizeof configs / sizeof configs[0]);
    }
    return 0;
}
