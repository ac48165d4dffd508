/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune: what the files of tilejit tune share.
 *
 *     cmd_tune.c          the words, and what came of it
 *     tune_shapes.c       the list of shapes: words and files
 *     tune_devices.c      devices, and one shape after the other
 *     tune_resume.c       --resume: shapes that are passed over
 *     tune_show.c         progress, trials, results
 *     tune_records.c      --export, --import, --merge
 */
#ifndef TILEJIT_CLI_TUNE_H
#define TILEJIT_CLI_TUNE_H

#include "cli.h"

typedef struct tune_shape {
    char text[CLI_SHAPE_BYTES];
    tj_problem problem;
    bool is_taken;     /* a device has it, or had it */
    bool was_returned; /* by a device that was lost */
    /* what became of it */
    bool is_done, is_skipped;
    char unrecorded[256]; /* why it has no record; "": it has one, or is to have none */
    tj_status status;
    tj_error err;
    tj_tune_result result;
    int device;
    bool is_emulated; /* the device: no times */
} tune_shape;

typedef struct tune_shapes {
    tune_shape *item;
    size_t count;
} tune_shapes;

enum { TUNE_MAX_DEVICES = 16 };

/** --devices; none: the one of --device. */
typedef struct tune_devices {
    int number[TUNE_MAX_DEVICES];
    size_t count;
} tune_devices;

/** Add the shapes of the operands, and those of the file of --shapes. all->item belongs to the caller; free(), after a failure too. */
tj_status tune_read_words(const cli_words *words, tune_shapes *all, tj_error *err);
tj_status tune_read_file(const cli_words *words, tune_shapes *all, tj_error *err);

/** A file's text, which ends at its end: one with a NUL, or of more than max_bytes, is refused. Owned: the caller; free(). */
tj_status tune_read_text(const char *path, size_t max_bytes, char **text, tj_error *err);

/**
 * Tune all shapes: what became of each is in it. Errors: a device cannot be used, or the trials cannot be written (then no shape
 * was taken), no memory.
 */
tj_status tune_on_devices(const cli_words *words, const tune_devices *devices, const tj_tune_options *options, tune_shapes *all,
                          tj_error *err);

/** Is there a record that is as well founded as what a tuning with these options would find? */
bool tune_has_record(const tj_records *known, const tj_problem *problem, const tj_device_facts *device,
                     const tj_tune_options *options);

/** --export, --import, --merge: no shape is tuned. */
cli_exit tune_move_records(const cli_words *words, const tune_shapes *all, json_t *answer, tj_error *err);

/** The line of --trials that names the fields, and one for a trial; tabs between them: bench_tuner reads it. */
void tune_write_trials_head(FILE *file);
void tune_write_trial(FILE *file, const tune_shape *shape, const tj_trial *trial);

/** On stderr: the bar of one shape, nothing in its place, or one trial as a line of the log. */
void tune_draw_bar(const tune_shape *shape, const tj_tune_progress *progress);
void tune_clear_bar(void);
void tune_log_trial(const tune_shape *shape, const tj_trial *trial);

/** What became of a shape: a line, and its object for --json. */
void tune_print_shape(FILE *out, const tune_shape *shape, bool wants_record);
json_t *tune_shape_json(const tune_shape *shape);

#endif
