/* SPDX-License-Identifier: Apache-2.0 */
/*
 * programs: programs that call cuBLAS, run with libtilejit_blas.so preloaded (blas/).
 */
#ifndef TJ_CLI_PROGRAMS_H
#define TJ_CLI_PROGRAMS_H

#include <limits.h>

#include "product.h"

/* ---- reaching ---------------------------------------------------------------------------------------------------- */

/** "libtilejit_blas.so" */
extern const char programs_library[19];

/** Find the library. Errors: TJ_ERR_NOT_FOUND; TJ_ERR_UNSUPPORTED: LD_PRELOAD cannot hold its name. */
tj_status programs_find_library(char path[PATH_MAX], tj_error *err);

/** Is it of this version? Errors: TJ_ERR_UNSUPPORTED: it is not; TJ_ERR_IO. */
tj_status programs_check_library(const char *path, tj_error *err);

/**
 * Would the loader preload a library into a program, or into the one that its first line names? path: of its file. *has_own: it
 * has functions of cuBLAS inside, whose calls are not reached. Errors: TJ_ERR_NOT_FOUND: no such program; TJ_ERR_UNSUPPORTED:
 * it would not, and why.
 */
tj_status programs_reach(const char *name, char path[PATH_MAX], bool *has_own, tj_error *err);

/* ---- running ----------------------------------------------------------------------------------------------------- */

/**
 * Set the environment of call->program: the library, in place of one of another build and before all else that is preloaded,
 * $TILEJIT_BLAS, and, if --log asks for lines, $TILEJIT_LOG. Errors: those of programs_reach and programs_find_library.
 */
tj_status programs_prepare(const cli_call *call, const char *task, tj_error *err);

/** Become the program. Returns only on failure. */
cli_exit programs_become(char *const *program, tj_error *err);

/**
 * Run the program and wait for its end. quiet: its stdout goes to stderr. *code: its exit code, or 128 plus the number of the
 * signal that ended it.
 */
tj_status programs_run(char *const *program, bool quiet, int *code, double *seconds, tj_error *err);

/* ---- traces ------------------------------------------------------------------------------------------------------ */

/** The reason for believing a time of TileJIT's. */
typedef enum traced_by {
    TRACED_BY_NONE,
    TRACED_BY_RECORD,  /* a tuning of this problem */
    TRACED_BY_MEASURE, /* it was measured just now, or in the program's last run, or a table of trials has it */
    TRACED_BY_MODEL
} traced_by;

/** A stack that calls a product, the innermost frame first. */
typedef struct traced_stack {
    int64_t count;    /* of the calls that were looked at */
    char *python, *c; /* lines, each with its end */
    struct traced_stack *next;
} traced_stack;

typedef struct traced_product {
    bool is_known;      /* problem is set */
    tj_problem problem; /* canonical */
    char what[192];     /* the function and the sizes, of one that is not known */
    char why[160];      /* why it is not */
    int64_t calls, captured, timed;
    double us;      /* cuBLAS's time of a call; 0: none was timed */
    double ours_us; /* TileJIT's; 0: not known */
    traced_by by;
    double last_us;                    /* TileJIT's time in the program's last run; 0: not known */
    char config[TJ_CONFIG_TEXT_BYTES]; /* the one that it is of */
    traced_stack *stacks;              /* in no order; NULL: not asked for */
} traced_product;

typedef struct traced {
    traced_product *item; /* by the time of all their calls, the longest first */
    size_t count;
    int64_t processes, missed; /* missed: calls of more products than are told apart */
    char program[64];
    char why[1100]; /* of a process without products: its name, and the reason; "": there is none */
    double seconds; /* of the run */
} traced;

/** Return the microseconds of all calls of a product by cuBLAS, and by the faster of both. */
double traced_cublas_us(const traced_product *product);
double traced_best_us(const traced_product *product);

/** Read the files of a folder. Call traced_drop after a failure too. */
tj_status traced_read(const char *folder, traced *all, tj_error *err);

void traced_drop(traced *all);

/** Say TileJIT's time of each product: by record, by trial, by measuring for a second each, or by the model. */
tj_status traced_compare(cli_call *call, const cli_machine_options *machine, bool must_measure, traced *all, tj_error *err);

/* ---- stacks -------------------------------------------------------------------------------------------------------- */

/** Read a list of stacks, and add the stacks of one product to another, which owns them then. */
tj_status traced_stacks_read(const tj_json *list, traced_product *product, tj_error *err);
tj_status traced_stacks_merge(traced_product *product, traced_stack *others, tj_error *err);
void traced_stacks_free(traced_stack *first);

enum { TRACED_STACKS = 5 };

/** Return the number of the most frequent stacks, which are written. */
size_t traced_stacks_top(const traced_product *product, const traced_stack *top[TRACED_STACKS]);

/** Print nothing where no stack was asked for. */
void traced_stacks_print(const traced *all);
void traced_stacks_answer(tj_json *product, const traced_product *from);

/* ---- reports ------------------------------------------------------------------------------------------------------- */

void traced_print(const traced *all);
void traced_answer(tj_json *answer, const traced *all);

/** Write a list of shapes (docs/shape-lists.md): a row for each product that has a problem. */
tj_status traced_csv(const tj_output *out, const traced *all, tj_error *err);

/** Write a page that fetches nothing. device: its name; "": none. */
tj_status traced_page(const tj_output *out, const traced *all, const char *device, tj_error *err);

const char *traced_by_word(traced_by by);

#endif
