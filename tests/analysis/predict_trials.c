/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis_predict_trials TABLE: the model's predictions for recorded trials, for the program that fits its constants
 * (analysis/fit/fit.py), so that there is one implementation of the formulas.
 *
 * It first prints a line for each row of constants, "row NAME CONSTANT=VALUE ...", then one for each trial in the order of the
 * table, "trial ROW US" with the predicted time, and "end". Each line "NAME CONSTANT=VALUE ..." of stdin then replaces
 * constants of a row, and is answered by one line with the predicted times of that row's trials; all trials are of row "shared".
 */
#include <stddef.h>

#include "estimate.h"
#include "family.h"
#include "model.h"
#include "settle.h"
#include "trials.h"

typedef struct constant {
    const char *name;
    size_t offset;
} constant;

#define OF_ALL(name, meaning) {#name, offsetof(tj_model, name)},
#define OF_BLOCKS(name, meaning) {"block." #name, offsetof(tj_model, block.name)},
#define OF_WALKS(name, meaning) {"walk." #name, offsetof(tj_model, walk.name)},
static const constant constants[] = {TJ_MODEL_OF_ALL(OF_ALL) TJ_MODEL_OF_BLOCKS(OF_BLOCKS) TJ_MODEL_OF_WALKS(OF_WALKS)};

#define OF_SHARED(name, meaning) {#name, offsetof(tj_shared_model, name)},
static const constant shared_constants[] = {TJ_MODEL_SHARED(OF_SHARED)};

#define ROW(name) &tj_model_##name,
static const tj_model *const recorded[] = {TJ_MODELS(ROW)};

enum {
    CONSTANTS = sizeof constants / sizeof constants[0],
    SHARED_CONSTANTS = sizeof shared_constants / sizeof shared_constants[0],
    ROWS = sizeof recorded / sizeof recorded[0],
    SHARED = ROWS
};

/* A trial that runs on its device: with the constants of its row, predictions follow. */
typedef struct known {
    tj_estimate_basis basis;
    size_t row;
} known;

static tj_model row[ROWS]; /* as stdin changes them */
static tj_shared_model shared;

static double *value_of(void *model, const constant *c)
{
    return (double *)((char *)model + c->offset);
}

/* SHARED: the constants that all rows share. */
static size_t row_named(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(row[i].name, name) == 0)
            return i;
    if (strcmp(name, "shared") == 0)
        return SHARED;
    trials_die("there is no row \"%s\"", name);
}

static void print_row(const char *name, void *model, const constant *constants, size_t count)
{
    printf("row %s", name);
    for (size_t c = 0; c < count; c++)
        printf(" %s=%.9g", constants[c].name, *value_of(model, &constants[c]));
    putchar('\n');
}

static void count(const trial_shape *shape, const trial *tried, known *to)
{
    tj_request request;
    tj_config config;
    tj_error err;
    tj_status status = tj_config_parse(tried->config, &config, &err);

    if (status == TJ_OK)
        status = tj_request_make(&shape->problem, &request, &err);
    if (status == TJ_OK)
        status = tj_request_resolve(&request, &config, &err);
    if (status == TJ_OK) {
        tj_request_counted(&request, &request);
        status = tj_estimate_count(&shape->facts, &request, &config, &to->basis, &err);
    }
    if (status != TJ_OK)
        trials_die("%s, %s: %s", shape->text, tried->config, err.message);
    to->row = row_named(to->basis.counts.model->name);
    to->basis.counts.model = &row[to->row];
}

static size_t change(char *line)
{
    const size_t r = row_named(strsep(&line, " \n")), count = r == SHARED ? SHARED_CONSTANTS : CONSTANTS;
    const constant *const of = r == SHARED ? shared_constants : constants;
    char *word;

    while ((word = strsep(&line, " \n"))) {
        char *const value = strchr(word, '=');
        size_t c = 0;

        if (!value)
            continue;
        *value = '\0';
        while (c < count && strcmp(of[c].name, word) != 0)
            c++;
        if (c == count)
            trials_die("there is no constant \"%s\"", word);
        *value_of(r == SHARED ? (void *)&shared : &row[r], &of[c]) = strtod(value + 1, NULL);
    }
    return r;
}

int main(int argc, char **argv)
{
    trial_table table;
    known *all;
    char *line = NULL;
    size_t size = 0, next = 0;

    if (argc != 2)
        trials_die("usage: analysis_predict_trials TABLE");
    shared = tj_model_shared;
    print_row("shared", &shared, shared_constants, SHARED_CONSTANTS);
    for (size_t r = 0; r < ROWS; r++) {
        row[r] = *recorded[r];
        row[r].shared = &shared;
        print_row(row[r].name, &row[r], constants, CONSTANTS);
    }
    table = trials_read(argv[1]);
    all = calloc(table.trials + 1, sizeof *all);
    if (!all)
        trials_die("out of memory");
    for (size_t s = 0; s < table.shapes; s++)
        for (size_t t = 0; t < table.shape[s].trials; t++, next++) {
            count(&table.shape[s], &table.shape[s].trial[t], &all[next]);
            printf("trial %s %.7g\n", row[all[next].row].name, tj_estimate_us(&all[next].basis));
        }
    puts("end");
    (void)fflush(stdout);
    while (getline(&line, &size, stdin) > 0) {
        const size_t changed = change(line);

        for (size_t i = 0; i < table.trials; i++)
            if (all[i].row == changed || changed == SHARED)
                printf("%.7g ", tj_estimate_us(&all[i].basis));
        putchar('\n');
        (void)fflush(stdout);
    }
    free(line);
    free(all);
    trials_free(&table);
    return 0;
}
