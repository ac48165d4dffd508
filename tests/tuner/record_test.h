/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of records: a folder, contexts on it, records as a tuning makes them, and problems of every kind. */
#ifndef TJ_TESTS_RECORD_H
#define TJ_TESTS_RECORD_H

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "hash.h"
#include "input.h"
#include "record.h"
#include "tuner_test.h"
#include "scales.h"

static char folder[] = "/tmp/tilejit-records-XXXXXX";
static tj_error err;

static inline void make_folder(void)
{
    cr_assert(mkdtemp(folder) != NULL, "%s", strerror(errno));
}

static inline void remove_folder(void)
{
    char command[64];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_expect(system(command) == 0);
}

static inline tj_context *open_context(const char *cache_dir, const char *const *roots)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;

    options.cache_dir = cache_dir;
    options.read_only_roots = roots;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

/* A record as a tuning would make it. */
static inline tj_record fields_of(const tj_problem *problem, double us, int64_t evaluations)
{
    const tj_device_facts device = h200();
    tj_record r;

    memset(&r, 0, sizeof r);
    r.problem = tj_problem_canonical(problem);
    r.device = tj_device_kind_of(&device);
    strcpy(r.config, "tiled:tile_width=32,shared=dynamic,boundary=auto");
    strcpy(r.default_config, "tiled:tile_width=16,shared=static,boundary=auto");
    strcpy(r.second_config, "naive:tile_width=8,boundary=auto");
    r.us = us;
    r.spread = 0.0123;
    r.warm_us = us / 2;
    r.default_us = 2 * us;
    r.second_us = 1.1 * us;
    r.check_ratio = 0.25;
    r.check_elements = 4096;
    strcpy(r.strategy, "search");
    strcpy(r.policy, "cold");
    r.evaluations = evaluations;
    r.seed = 42;
    r.seconds = 12.5;
    r.driver_version = 13000;
    r.clock_khz = 1980000;
    r.created_s = 1750000000;
    strcpy(r.compiler, "13.0 V13.0.88");
    strcpy(r.version, "0.1.0");
    return r;
}

static inline tj_record *record_of(const tj_problem *problem, double us, int64_t evaluations)
{
    const tj_record fields = fields_of(problem, us, evaluations);
    tj_record *record = tj_record_create(&fields);

    cr_assert(record != NULL);
    return record;
}

static inline tj_problem strange_problem(void)
{
    tj_problem p = f32(33, 5, 48);

    p.m.type = TJ_F16;
    p.p.type = TJ_F32;
    p.j.mode = TJ_DIM_ANY;
    p.j.multiple_of = 3;
    p.m.layout = TJ_COL_MAJOR;
    p.n.ld = 50;
    p.batch = 7;
    p.m.stride = TJ_BROADCAST;
    p.epilogue.has_alpha = p.epilogue.has_beta = 1;
    return p;
}

static inline tj_problem pointing_problem(void)
{
    tj_problem p = f32(33, 5, 48);

    p.batch = 7;
    p.m.stride = TJ_POINTERS;
    p.p.stride = TJ_POINTERS_16;
    return p;
}

/* A problem with properties that the first records did not have: two types, another compute, scales. */
static inline tj_problem mixed_problem(void)
{
    tj_problem p = f32(33, 5, 48);

    p.m.type = TJ_S8;
    p.n.type = TJ_U8;
    p.p.type = TJ_BF16;
    p.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH;
    p.scale[TJ_MATRIX_N] = (tj_scale)ONE_SCALE;
    return p;
}

static inline tj_problem tf32_problem(void)
{
    tj_problem p = f32(33, 5, 48);

    p.compute = TJ_COMPUTE_TF32;
    return p;
}

static inline tj_problem grouped_problem(void)
{
    tj_problem p = f32(33, 5, 48);

    p.rows = (tj_rows){TJ_ROWS_IN_GROUPS, 0, 0, 0, 12, 8, 1};
    return p;
}

static inline tj_problem masked_problem(void)
{
    tj_problem p = f32(36, 5, 48);

    p.rows = (tj_rows){TJ_ROWS_MASKED, 1, 1, 0, 12, 8, 1, 2};
    return p;
}

/* Whatever is read prints as what reads as itself. */
static inline void expect_same_again(const tj_record *record)
{
    char *text = tj_record_print(record), *same;
    tj_record *again = NULL;

    cr_assert(eq(int, tj_record_parse(text, &again, &err), TJ_OK), "%s\n%s", err.message, text);
    same = tj_record_print(again);
    cr_expect(eq(str, same, text));
    free(same);
    free(text);
    tj_record_free(again);
}

#endif
