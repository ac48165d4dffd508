/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program: small CUDA programs for blocks that run at once and for what they wait for, each with the result that it must have under
 * every schedule, and broken ones.
 */
#ifndef EMU_PROGRAM_H
#define EMU_PROGRAM_H

#include "mutation.h"

/* ---- launches --------------------------------------------------------------------------------------------------------- */

enum { CLUSTER_DIMENSION = 4, COOPERATIVE = 2 };

typedef struct attribute {
    int id, padding;
    union {
        char bytes[64];
        unsigned dimension[3];
        int number;
    } value;
} attribute;

typedef struct config {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    attribute *attributes;
    unsigned count;
} config;

/* cluster: 0: none is asked for. */
__attribute__((unused)) static int launch_as(void *function, const unsigned grid[3], unsigned threads,
                                             const unsigned cluster[3], bool is_cooperative, void **parameters)
{
    attribute list[2];
    config how = {{grid[0], grid[1], grid[2]}, {threads, 1, 1}, 0, NULL, list, 0};
    int result;

    memset(list, 0, sizeof list);
    if (cluster[0]) {
        list[how.count].id = CLUSTER_DIMENSION;
        memcpy(list[how.count++].value.dimension, cluster, sizeof list[0].value.dimension);
    }
    if (is_cooperative) {
        list[how.count].id = COOPERATIVE;
        list[how.count++].value.number = 1;
    }
    result = cu.launch_ex(&how, function, parameters, NULL);
    return result ? result : cu.synchronize();
}

__attribute__((unused)) static void *function_of(const char *ptx, void **module)
{
    void *function = NULL;
    char log[1024];

    *module = load_ptx(ptx, log, sizeof log);
    cr_assert(ne(ptr, *module, NULL), "%s", log);
    cr_assert(eq(int, cu.function(&function, *module, "kernel"), 0));
    return function;
}

/* ---- programs --------------------------------------------------------------------------------------------------------- */

enum { ELEMENTS = 4096 };

/** kernel(in, out, what prepare adds): in and out have ELEMENTS of f32, and wanted says what some of out must be. */
typedef struct program {
    const char *name, *text, *target;
    float (*wanted)(int i, const float *in);
    unsigned grid[3], threads, results;
    bool is_cooperative;
    void (*prepare)(uint64_t in, uint64_t out, void **parameters); /* or NULL: further parameters, up to 6 */
} program;

typedef struct answer {
    int result;
    findings found;
    float in[ELEMENTS], out[ELEMENTS];
} answer;

__attribute__((unused)) static const answer *run_program(const program *one, const char *ptx)
{
    static const unsigned none[3] = {0};
    static answer a;
    uint64_t in, out;
    void *module, *function = function_of(ptx, &module), *parameters[8] = {&in, &out};

    for (int i = 0; i < ELEMENTS; i++)
        a.in[i] = (float)(i * 5 % 7);
    in = device_memory(sizeof a.in, a.in);
    out = device_memory(sizeof a.out, NULL);
    if (one->prepare)
        one->prepare(in, out, parameters + 2);
    a.result = launch_as(function, one->grid, one->threads, none, one->is_cooperative, parameters);
    a.found = take_findings();
    if (a.result == 0)
        cr_assert(eq(int, cu.read(a.out, out, sizeof a.out), 0));
    cr_assert(eq(int, cu.unload(module), 0));
    cr_assert(eq(int, cu.free(in), 0));
    cr_assert(eq(int, cu.free(out), 0));
    return &a;
}

/** Every program is right, and nothing is found, under several schedules and with some of the checks. */
__attribute__((unused)) static void expect_right_and_silent(const nvrtc *by, const program *programs, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        const program *one = &programs[n];
        char *ptx = compile_text(by, one->text, one->target, one->name);
        for (int seed = 0; seed < 12; seed++) {
            static const uint64_t checks[] = {0, CUEMU_CHECK_UNINITIALISED, CUEMU_CHECK_RACES, CUEMU_CHECK_ASYNC};
            const answer *a;
            cu.set_option(CUEMU_SEED, (uint64_t)seed);
            cu.set_option(CUEMU_CHECKS, seed < 8 ? CUEMU_CHECK_ALL : checks[seed - 8]);
            a = run_program(one, ptx);
            cr_expect(eq(sz, a->found.count, 0), "%s, seed %d: %s: %s", one->name, seed, kind_names[a->found.first[0].kind],
                      a->found.first[0].text);
            cr_assert(eq(int, a->result, 0), "%s, seed %d", one->name, seed);
            for (unsigned i = 0; i < one->results; i++)
                cr_assert(eq(flt, a->out[i], one->wanted((int)i, a->in)), "%s, seed %d, element %u", one->name, seed, i);
        }
        free(ptx);
    }
    cu.set_option(CUEMU_SEED, 0);
    cu.set_option(CUEMU_CHECKS, CUEMU_CHECK_ALL);
}

/** A program with one thing broken; see leads_there and wanted_finding. says: a piece of the finding's text, or NULL. */
typedef struct broken {
    const program *program;
    const char *what, *piece, *instead;
    cuEmuKind kind;
    const char *at[3];
    cuEmuKind after;
    const char *says;
} broken;

__attribute__((unused)) static void expect_caught(const nvrtc *by, const broken *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const broken *m = &list[i];
        char *text = mutate(m->program->text, m->piece, m->instead), why[1200] = "";
        char *ptx = compile_text(by, text, m->program->target, m->what);
        const answer *a = run_program(m->program, ptx);
        const cuEmuFinding *first = wanted_finding(&a->found, m->kind, m->after);
        cr_expect(a->found.count > 0 && first->kind == m->kind &&
                      leads_there(first, "kernel", text, ptx, m->at, why, sizeof why),
                  "%s: wanted %s, got %s: %s; %s", m->what, kind_names[m->kind],
                  a->found.count ? kind_names[first->kind] : "nothing", a->found.count ? first->text : "", why);
        cr_expect(m->says == NULL || (a->found.count && strstr(first->text, m->says)), "%s: \"%s\" lacks \"%s\"", m->what,
                  a->found.count ? first->text : "", m->says ? m->says : "");
        cr_expect(ne(int, a->result, 0), "%s: the program hears nothing of it", m->what);
        free(ptx);
        free(text);
    }
}

#endif
