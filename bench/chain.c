/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain: time eight products in a row, with and without launches that overlap (tj_problem.overlap). The P of one is the M of the
 * next, and each has weights of its own, which no cache holds: so a model decodes.
 *
 *     chain                        the products below
 *     chain ROWS WIDTH TYPE ORDER [CONFIG]
 *                                  one: 16 4096 bf16 col; ORDER is that of N
 *
 * Prints microseconds for a product, in a stream (the host queues each launch) and in a CUDA graph: medians of rounds in
 * which the ways take turns. Every way must give the same bits.
 */
#include <string.h>

#include "program.h"

const char program[] = "chain";

enum { LINKS = 8, CHAINS = 25, ROUNDS = 15 };
enum { PLAIN, OVERLAP, WAYS };

static const char *const ways[WAYS] = {"plain", "overlap"};

typedef struct chain {
    tj_context *context;
    struct CUstream_st *stream;
    tj_buffer *first, *between[2], *weights[LINKS];
    size_t bytes; /* of M and of P */
    tj_operands link[LINKS];
} chain;

static tj_buffer *filled(const chain *c, const void *host, size_t bytes)
{
    tj_buffer *buffer;
    tj_error err;

    must(tj_buffer_create(c->context, bytes, &buffer, &err), &err);
    must(tj_buffer_write(buffer, 0, host, bytes, &err), &err);
    return buffer;
}

/* Every chain begins with the same M, so that numbers do not grow from one to the next. */
static void make_operands(chain *c, const tj_problem *problem)
{
    const tj_type type = (tj_type)problem->m.type;
    const size_t count = (size_t)(problem->k.extent * problem->l.extent), weights = count * tj_type_bytes(type);
    void *host = malloc(weights);

    if (!host)
        die(1, "no memory for %zu weights", count);
    tj_fill_random(type, host, count, 1);
    c->bytes = (size_t)(problem->j.extent * problem->l.extent) * tj_type_bytes(type);
    c->first = filled(c, host, c->bytes);
    for (int i = 0; i < 2; i++)
        c->between[i] = filled(c, host, c->bytes);
    for (int i = 0; i < LINKS; i++) {
        c->weights[i] = filled(c, host, weights);
        c->link[i] = (tj_operands)TJ_OPERANDS(tj_buffer_address(i == 0 ? c->first : c->between[(i + 1) % 2]),
                                              tj_buffer_address(c->weights[i]), tj_buffer_address(c->between[i % 2]));
    }
    free(host);
}

static void drop_operands(chain *c)
{
    tj_buffer_free(c->first);
    for (int i = 0; i < 2; i++)
        tj_buffer_free(c->between[i]);
    for (int i = 0; i < LINKS; i++)
        tj_buffer_free(c->weights[i]);
}

/* Return the microseconds of a product where the host queues every launch. */
static double time_stream(const chain *c, const tj_plan *plan)
{
    const double start = now_us();
    tj_error err;

    for (int i = 0; i < CHAINS * LINKS; i++)
        must(tj_plan_launch(plan, &c->link[i % LINKS], c->stream, &err), &err);
    must(tj_synchronize(c->context, c->stream, &err), &err);
    return (now_us() - start) / (CHAINS * LINKS);
}

static double time_graph(const chain *c, const tj_plan *plan)
{
    tj_timing timing = TJ_TIMING_INIT;
    double us;
    tj_error err;

    timing.sets = LINKS;
    timing.per_event = CHAINS * LINKS;
    must(tj_time_launches(c->context, plan, c->link, c->stream, &timing, &us, &err), &err);
    return us;
}

static void check_result(const chain *c, int way, void *result, void *expected)
{
    tj_error err;

    must(tj_buffer_read(c->between[(LINKS - 1) % 2], 0, way == PLAIN ? expected : result, c->bytes, &err), &err);
    if (way != PLAIN && memcmp(result, expected, c->bytes) != 0)
        die(1, "%s: other bits than %s", ways[way], ways[PLAIN]);
}

/* name: of a config; NULL: the library's choice. */
static void measure(tj_context *context, tj_problem problem, const char *name)
{
    static double stream[WAYS][ROUNDS], graph[WAYS][ROUNDS];
    double in_stream[WAYS], in_graph[WAYS];
    const tj_plan *plan[WAYS];
    tj_config named = TJ_CONFIG_INIT;
    chain c = {.context = context};
    char text[TJ_PROBLEM_TEXT_BYTES], config[TJ_CONFIG_TEXT_BYTES];
    void *result, *expected;
    tj_error err;

    tj_problem_print(&problem, text);
    if (name)
        must(tj_config_parse(name, &named, &err), &err);
    for (int way = 0; way < WAYS; way++) {
        problem.overlap = way == OVERLAP;
        must(tj_plan_prepare(context, &problem, name ? &named : NULL, &plan[way], &err), &err);
    }
    make_operands(&c, &problem);
    must(tj_stream_create(context, &c.stream, &err), &err);
    result = malloc(c.bytes);
    expected = malloc(c.bytes);
    if (!result || !expected)
        die(1, "no memory for %zu bytes of P", c.bytes);
    for (int round = -1; round < ROUNDS; round++)
        for (int turn = 0; turn < WAYS; turn++) {
            const int way = round < 0 ? turn : (turn + round) % WAYS;
            const double us = time_stream(&c, plan[way]), replayed = time_graph(&c, plan[way]);

            if (round >= 0) {
                stream[way][round] = us;
                graph[way][round] = replayed;
            }
            check_result(&c, way, result, expected);
        }
    tj_config_print(tj_source_config(tj_plan_source(plan[OVERLAP])), config);
    printf("%s, %s\n", text, config);
    for (int way = 0; way < WAYS; way++) {
        in_stream[way] = median(stream[way], ROUNDS);
        in_graph[way] = median(graph[way], ROUNDS);
        printf("    %-24s %8.2f %6.3f    %8.2f %6.3f\n", ways[way], in_stream[way], in_stream[PLAIN] / in_stream[way],
               in_graph[way], in_graph[PLAIN] / in_graph[way]);
    }
    free(result);
    free(expected);
    tj_stream_destroy(context, c.stream);
    drop_operands(&c);
}

static tj_problem problem_of(int64_t rows, int64_t width, const char *type, const char *order)
{
    tj_problem problem;
    tj_type of_all;
    tj_error err;

    must(tj_type_parse(type, &of_all, &err), &err);
    problem = (tj_problem)TJ_PROBLEM_INIT(rows, width, width, (int32_t)of_all);
    problem.n.layout = strcmp(order, "col") == 0 ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    problem.p.type = (int32_t)of_all; /* the M of the next */
    return problem;
}

int main(int argc, char **argv)
{
    static const struct {
        int64_t rows, width;
        const char *type, *order;
    } products[] = {{16, 4096, "bf16", "row"}, {16, 4096, "bf16", "col"}, {1, 4096, "bf16", "col"},   {4, 4096, "f32", "col"},
                    {64, 4096, "bf16", "row"}, {64, 4096, "bf16", "col"}, {128, 4096, "bf16", "row"}, {16, 8192, "bf16", "row"},
                    {16, 2048, "bf16", "row"}, {16, 4096, "e4m3", "col"}};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;
    tj_error err;

    if (argc != 1 && argc != 5 && argc != 6)
        die(2, "usage: chain [ROWS WIDTH TYPE ORDER [CONFIG]]");
    options.cache_dir = "";
    must(tj_context_create(&options, &context, &err), &err);
    printf("us for a product, and times as fast as plain: %9s %17s\n", "stream", "graph");
    if (argc > 1)
        measure(context, problem_of(atoll(argv[1]), atoll(argv[2]), argv[3], argv[4]), argv[5]);
    else
        for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
            measure(context, problem_of(products[i].rows, products[i].width, products[i].type, products[i].order), NULL);
    tj_context_free(context);
    return 0;
}
