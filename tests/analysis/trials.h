/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trials: the recorded trials of tuners (analysis/fit/README.md), for the test that compares the model with them and for the
 * program that fits it.
 */
#ifndef TJ_TESTS_ANALYSIS_TRIALS_H
#define TJ_TESTS_ANALYSIS_TRIALS_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

#include "canonical.h"

typedef struct trial {
    const char *config;
    double us; /* of one product, operands not in the L2 */
} trial;

/* The trials of one problem in one set. */
typedef struct trial_shape {
    const char *set, *device, *text;
    tj_problem problem;
    tj_device_facts facts;
    const trial *trial;
    size_t trials;
} trial_shape;

typedef struct trial_table {
    trial_shape *shape;
    size_t shapes;
    trial *trial;
    size_t trials;
    char *text; /* that the pointers above lead into */
} trial_table;

__attribute__((noreturn, format(printf, 1, 2))) static inline void trials_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

static inline tj_device_facts trials_device(const char *name)
{
    static const struct {
        const char *name, *target;
        int32_t memory_clock_khz, memory_bus_bits; /* 0: those of the target's best known device */
    } devices[] = {{"NVIDIA H200", "sm_90", 0, 0}, {"NVIDIA H100 80GB HBM3", "sm_90", 2619000, 5120}};
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_error err;

    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        if (strcmp(devices[i].name, name) != 0)
            continue;
        if (tj_device_named(devices[i].target, &facts, &err) != TJ_OK)
            trials_die("%s", err.message);
        if (devices[i].memory_clock_khz > 0) {
            facts.memory_clock_khz = devices[i].memory_clock_khz;
            facts.memory_bus_bits = devices[i].memory_bus_bits;
        }
        return facts;
    }
    trials_die("trials of %s: give it a row in %s", name, __FILE__);
}

/* Read "j512 k300 l700 f32 P:s32 N:col compute:tf32 batch=8", as tj_problem_print writes it. */
static inline tj_problem trials_problem(const char *text)
{
    tj_problem problem;

    if (!tj_problem_scan(text, &problem))
        trials_die("\"%s\" is not a problem", text);
    return problem;
}

static inline char *trials_text(const char *path)
{
    char command[4096], *text = NULL;
    size_t size = 0, got;
    FILE *pipe;

    if (snprintf(command, sizeof command, "gzip -dc '%s'", path) >= (int)sizeof command || !(pipe = popen(command, "r")))
        trials_die("%s cannot be read", path);
    do {
        text = realloc(text, size + (1 << 20) + 1);
        if (!text)
            trials_die("out of memory");
        got = fread(text + size, 1, 1 << 20, pipe);
        size += got;
    } while (got > 0);
    text[size] = '\0';
    if (pclose(pipe) != 0)
        trials_die("%s cannot be read", path);
    return text;
}

/* Read a table. Owned: the caller, trials_free. It ends the program if it cannot. */
static inline trial_table trials_read(const char *path)
{
    trial_table table = {.text = trials_text(path)};
    char *rest = table.text, *line;
    size_t lines = 0;

    for (const char *at = table.text; (at = strchr(at, '\n')); at++)
        lines++;
    table.trial = calloc(lines + 1, sizeof *table.trial);
    table.shape = calloc(lines + 1, sizeof *table.shape); /* pages that are not touched cost nothing */
    if (!table.trial || !table.shape)
        trials_die("out of memory");
    while ((line = strsep(&rest, "\n"))) {
        const char *field[5];
        trial_shape *shape = table.shapes > 0 ? &table.shape[table.shapes - 1] : NULL;

        if (line[0] == '#' || line[0] == '\0')
            continue;
        for (size_t i = 0; i < 5; i++)
            if (!(field[i] = strsep(&line, "\t")))
                trials_die("%s: line %zu has %zu fields", path, table.trials + 2, i);
        if (!shape || strcmp(shape->set, field[0]) != 0 || strcmp(shape->text, field[2]) != 0) {
            shape = &table.shape[table.shapes++];
            *shape = (trial_shape){.set = field[0],
                                   .device = field[1],
                                   .text = field[2],
                                   .problem = trials_problem(field[2]),
                                   .facts = trials_device(field[1]),
                                   .trial = &table.trial[table.trials]};
        }
        table.trial[table.trials++] = (trial){field[3], strtod(field[4], NULL)};
        shape->trials++;
    }
    return table;
}

static inline void trials_free(trial_table *table)
{
    free(table->shape);
    free(table->trial);
    free(table->text);
}

#endif
