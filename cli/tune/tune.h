/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune: interfaces that the files of tilejit tune share.
 *
 *     tune.c       options and outcome
 *     devices.c    devices, and one shape after the other; with --resume some are skipped
 *     show.c       progress, trials, results
 *     records.c    --export, --import, --merge, --pack-trials
 */
#ifndef TJ_CLI_TUNE_H
#define TJ_CLI_TUNE_H

#include "product.h"

typedef struct tune_options {
    cli_request_options request;
    cli_machine_options machine;
    const char *output, *family, *budget, *shapes, *devices, *trials, *export_to, *import_from, *merge, *shard, *pack_trials;
    int64_t evaluations, threads, seed;
    int32_t strategy; /* tj_strategy */
    int32_t resume, is_warm, no_record, is_t4;
} tune_options;

/** A shape and its outcome. */
typedef struct tune_job {
    const cli_shape *shape;
    bool is_taken;     /* a device has taken it */
    bool was_returned; /* by a device that was lost */
    bool is_done, is_skipped;
    char unrecorded[256]; /* why it has no record; "": it has one, or should have none */
    tj_status status;
    tj_error err;
    tj_tune_result result;
    int device;
    bool is_emulated;  /* the device is the emulator: no times */
    tj_records *found; /* -o: its record; NULL: not wanted */
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
 * Tune all shapes, and store the outcome of each in it. Errors: a device cannot be used, or the trials cannot be written (then
 * no shape was taken); out of memory.
 */
tj_status tune_on_devices(cli_call *call, const tune_devices *devices, const tj_tune_options *options, tune_jobs *all,
                          tj_error *err);

/** Run --export, --import, --merge or --pack-trials: no shape is tuned. */
cli_exit tune_move_records(cli_call *call, const cli_shapes *shapes, tj_error *err);

/** Write -o of a tuning: the records of its shapes, skipped ones included. */
tj_status tune_write_found(const tj_output *out, const tune_jobs *all, tj_error *err);

/** The values of --strategy. */
extern const cli_name tune_strategies[];

/** Help text of --budget and --evaluations. */
#define TUNE_BUDGET_SUMMARY "Total time for each shape, such as 1s, 30s (the default), 5m; exhaustive: no limit."
#define TUNE_EVALUATIONS_SUMMARY \
    "Number of configs to try for each shape; default: 48 to 240, until no other promises more; model: 80; exhaustive: all."

/** Read --budget: "30", "30s", "2m", "1h". text NULL changes nothing. */
tj_status tune_read_budget(const char *text, double *seconds, tj_error *err);

/** Find a record as well founded as the result of a tuning with these options. NULL: none. */
const tj_record *tune_find_record(const tj_records *known, const tj_problem *problem, const tj_device_facts *device,
                                  const tj_tune_options *options);

/**
 * Write the lines of --trials that say what the devices are, then the header that names the fields, and a row per trial,
 * separated by tabs. tj_trials_add, bench_tuner and analysis/fit/fit.py read it. device: its name.
 */
void tune_write_trials_device(FILE *file, const tj_device_facts *facts);
void tune_write_trials_head(FILE *file);
void tune_write_trial(FILE *file, const tune_job *job, const char *device, const tj_trial *trial);

/** On stderr: draw the bar of one shape, clear it, or log one trial as a line. */
void tune_draw_bar(const tune_job *job, const tj_tune_progress *progress);
void tune_clear_bar(void);
void tune_log_trial(const tune_job *job, const tj_trial *trial);

/** Report what the time of a tuning went to, in one line: "64x4096x4096: 1.0 s: 41 % waiting for compiles, 20 % finals, ...". */
void tune_print_shares(FILE *out, const char *what, const tj_tune_shares *spent);

void tune_add_shares(tj_tune_shares *sum, const tj_tune_shares *spent);

/** Report the outcome of a shape: as a line, and as its object for --json. */
void tune_print_job(FILE *out, const tune_job *job, bool wants_record);
void tune_set_job(tj_json *object, const tune_job *job);

#endif
