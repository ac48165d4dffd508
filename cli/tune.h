/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune: what the files of tilejit tune share.
 *
 *     tune_shapes.c     the list of shapes: words and files
 *     cmd_tune.c        options, devices, one shape after the other
 *     tune_show.c       progress, trials, results
 *     tune_records.c    --export, --import, --merge
 */
#ifndef TILEJIT_CLI_TUNE_H
#define TILEJIT_CLI_TUNE_H

#include "cli.h"

typedef struct tune_shape {
    char text[CLI_SHAPE_BYTES];
    tj_problem problem;
    /* what became of it */
    bool is_done, is_skipped;
    tj_status status;
    tj_error err;
    tj_tune_result result;
    int device;
} tune_shape;

typedef struct tune_shapes {
    tune_shape *item;
    size_t count;
} tune_shapes;

/** The shapes of the operands and of --shapes. all->item belongs to the caller; free(), after a failure too. */
tj_status tune_read_shapes(const cli_words *words, tune_shapes *all, tj_error *err);

/** --export, --import, --merge: no shape is tuned. */
cli_exit tune_move_records(const cli_words *words, const tune_shapes *all, json_t *answer, tj_error *err);

/** The line of --trials that names the fields, and one for a trial; tabs between them: bench_tuner reads it. */
void tune_write_trials_head(FILE *file);
void tune_write_trial(FILE *file, const tune_shape *shape, const tj_trial *trial);

/** On stderr: the bar of one shape, nothing in its place, or one trial as a line of the log. */
void tune_draw_bar(const tune_shape *shape, const tj_tune_progress *progress);
void tune_clear_bar(void);
void tune_log_trial(const tune_shape *shape, const tj_trial *trial);

/** What became of a shape: a line on stdout, and its object for --json. */
void tune_print_shape(const tune_shape *shape, bool wants_record);
json_t *tune_shape_json(const tune_shape *shape);

#endif
