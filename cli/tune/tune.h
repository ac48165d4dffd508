/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune: what the files of tilejit tune share.
 *
 *     tune.c       the words, and what came of it
 *     devices.c    devices, and one shape after the other; with --resume some are passed over
 *     show.c       progress, trials, results
 *     records.c    --export, --import, --merge
 */
#ifndef TJ_CLI_TUNE_H
#define TJ_CLI_TUNE_H

#include "product.h"

typedef struct tune_options {
    cli_request_options request;
    cli_machine_options machine;
    const char *output, *family, *budget, *shapes, *devices, *trials, *export_to, *import_from, *merge, *shard;
    int64_t evaluations, threads, seed;
    int32_t strategy; /* tj_strategy */
    int32_t resume, is_warm, no_record, is_t4;
} tune_options;

/** A shape, and what became of it. */
typedef struct tune_job {
    const cli_shape *shape;
    bool is_taken;     /* a device has it, or had it */
    bool was_returned; /* by a device that was lost */
    bool is_done, is_skipped;
    char unrecorded[256]; /* why it has no record; "": it has one, or is to have none */
    tj_status status;
    tj_error err;
    tj_tune_result result;
    int device;
    bool is_emulated;  /* the device: no times */
    tj_records *found; /* -o: its record; NULL: nobody wants it */
} tune_job;

typedef struct tune_jobs {
    tune_job *item;
    size_t count;
} tune_jobs;

enum { TUNE_MAX_DEVICES = 16 };

/** --devices; none: the one of --device. */
typedef struct tune_devices {
    int number[TUNE_MAX_DEVICES];
    size_t count;
} tune_devices;

/**
 * Tune all shapes: what became of each is in it. Errors: a device cannot be used, or the trials cannot be written (then no
 * shape was taken), no memory.
 */
tj_status tune_on_devices(cli_call *call, const tune_devices *devices, const tj_tune_options *options, tune_jobs *all,
                          tj_error *err);

/** --export, --import, --merge: no shape is tuned. */
cli_exit tune_move_records(cli_call *call, const cli_shapes *shapes, tj_error *err);

/** -o of a tuning: the records of its shapes, those that were passed over among them. */
tj_status tune_write_found(const tj_output *out, const tune_jobs *all, tj_error *err);

/** The values of --strategy. */
extern const cli_name tune_strategies[];

/** What --help says of --budget and --evaluations. */
#define TUNE_BUDGET_SUMMARY "Time for all that is done for each shape, such as 30s (the default), 5m, 1h; exhaustive: no limit."
#define TUNE_EVALUATIONS_SUMMARY \
    "Configs to try for each shape; default: 48 to 240, until none promises more; model: 80; exhaustive: all."

/** --budget: "30", "30s", "2m", "1h". text NULL: nothing changes. */
tj_status tune_read_budget(const char *text, double *seconds, tj_error *err);

/** Is there a record that is as well founded as what a tuning with these options would find? NULL: none. */
const tj_record *tune_find_record(const tj_records *known, const tj_problem *problem, const tj_device_facts *device,
                                  const tj_tune_options *options);

/** The line of --trials that names the fields, and one for a trial; tabs between them: bench_tuner reads it. */
void tune_write_trials_head(FILE *file);
void tune_write_trial(FILE *file, const tune_job *job, const tj_trial *trial);

/** On stderr: the bar of one shape, nothing in its place, or one trial as a line of the log. */
void tune_draw_bar(const tune_job *job, const tj_tune_progress *progress);
void tune_clear_bar(void);
void tune_log_trial(const tune_job *job, const tj_trial *trial);

/** What became of a shape: a line, and its object for --json. */
void tune_print_job(FILE *out, const tune_job *job, bool wants_record);
void tune_set_job(tj_json *object, const tune_job *job);

#endif
