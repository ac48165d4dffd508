/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuner.h: find the fastest config of a problem by measuring, and keep it.
 *
 *     tj_space_*     enumerate configs: read from the families' forms, tested by their constraints
 *     tj_tune        measure some of them, verify, and keep the winner as a record
 *     tj_record_*    records as data: JSON, merging, Kernel Tuner's T4
 *     tj_search      the search alone, over any source of times; tests and bench/tuner use it
 *
 * Once a problem has a record for this kind of device, tj_matmul and tj_plan_prepare take its config. They look for records
 * when they make a plan, never in a launch. docs/tuning.md describes the measurements, and the rules for trusting records.
 */
#ifndef TILEJIT_TUNER_H
#define TILEJIT_TUNER_H

#include <tilejit/family.h>
#include <tilejit/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- space -------------------------------------------------------------------------------------------------------- */

/** An iteration over the configs of one family, or of all families, for one problem. For one thread at a time. */
typedef struct tj_space tj_space;

/**
 * Begin an iteration. Without a family it covers all families, in the order of the table. With a device it skips configs that
 * cannot run there.
 *
 * Owned:   *space belongs to the caller; tj_space_free().
 * NULL:    device, family and err may be NULL. Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (tj_problem_check), TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_space_create(const tj_problem *problem, const tj_device_facts *device,
                                               const tj_family *family, tj_space **space, tj_error *err);

/**
 * Get the next config that the family's constraints admit, that its form does not rule out as slow, and that the device can
 * run. Returns 1, or 0 at the end. Values that the form lists are set (tj_param_values); values that follow from the problem,
 * and the checks, are left open. Each config comes once. Configs are made one at a time, so a large space takes no memory.
 * NULL: neither may be NULL.
 */
TJ_API int tj_space_next(tj_space *space, tj_config *config);

/** Free an iteration. NULL: accepted. */
TJ_API void tj_space_free(tj_space *space);

/* ---- trials ------------------------------------------------------------------------------------------------------- */

/** The outcome of one config. */
typedef enum tj_trial_state {
    TJ_TRIAL_TIMED = 1,   /**< us is its time */
    TJ_TRIAL_SLOW = 2,    /**< far slower than the best, and abandoned after one or two launches; us is their time. Or the model
                               predicts ten times the best time: then the config is not launched, and us is the prediction */
    TJ_TRIAL_REFUSED = 3, /**< it did not compile, load or launch; why has the reason */
    TJ_TRIAL_WRONG = 4    /**< it computed a wrong product, and is rejected whatever its time; why has the reason */
} tj_trial_state;

/** The result of trying one config. */
typedef struct tj_trial {
    tj_config config;    /**< as tj_space_next gives it */
    int32_t state;       /**< tj_trial_state */
    int32_t is_verified; /**< 1: its product passed the check */
    double us;           /**< the median of its launches, in microseconds */
    double spread;       /**< half the interquartile range, divided by the median */
    double predicted_us; /**< the model's prediction; 0: none */
    double compile_ms;   /**< duration of the compile; 0: the image came from a store */
    int32_t registers;   /**< per thread; 0: not known */
    int32_t reserved;
    int64_t shared_bytes; /**< per block */
    char why[160];        /**< for REFUSED and WRONG; "" otherwise */
} tj_trial;

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

typedef enum tj_strategy {
    TJ_SEARCH = 0,    /**< start from the model's best and from records, then try the configs with the largest expected
                           improvement */
    TJ_MODEL = 1,     /**< measure the configs that the model ranks highest, and no others */
    TJ_EXHAUSTIVE = 2 /**< measure every config of the space */
} tj_strategy;

/** The seconds of a tuning, by the activity of its thread. Meanwhile other threads compile. */
typedef struct tj_tune_shares {
    double placing;    /**< the device, operands and buffers, before anything is tried */
    double choosing;   /**< walking the space, predicting, deciding which config to try next */
    double waiting;    /**< for a compile, while there was nothing to measure */
    double measuring;  /**< loading and timing configs */
    double verifying;  /**< comparing products */
    double finals;     /**< comparing the fastest configs in rounds */
    double confirming; /**< checking and proving the winner, and keeping its record */
} tj_tune_shares;

/** The progress of a tj_tune. Valid during the call only. */
typedef struct tj_tune_progress {
    size_t struct_size;         /**< the library's: read no field beyond it */
    int64_t evaluations, limit; /**< number of configs tried, and the limit */
    double seconds, budget;     /**< elapsed time, and the limit */
    double best_us, default_us; /**< 0: none yet */
    const tj_config *best;      /**< NULL: none yet */
    const tj_trial *trial;      /**< the trial that just ended; NULL: finalists are being compared */
    tj_tune_shares spent;       /**< so far */
} tj_tune_progress;

/**
 * The number of evaluations of a TJ_SEARCH if options give none: the search ends between these two numbers, when 40 evaluations
 * have found nothing faster and no config promises an improvement of 0.03 %.
 */
enum { TJ_TUNE_LEAST = 48, TJ_TUNE_MOST = 240 };

/** Start from TJ_TUNE_OPTIONS_INIT; zero in any field means its default. */
typedef struct tj_tune_options {
    size_t struct_size;
    const tj_family *family; /**< NULL: all families */
    int32_t strategy;        /**< tj_strategy */
    int32_t threads;         /**< number of compiling threads; default: one per processor */
    int64_t evaluations;     /**< number of configs to try, if time and space suffice; default: TJ_TUNE_LEAST to TJ_TUNE_MOST,
                                     for TJ_MODEL 80, for TJ_EXHAUSTIVE no limit */
    double seconds;          /**< limit of the whole duration; default 30, for TJ_EXHAUSTIVE no limit. Below 0: no limit. A
                                  compile, a launch or a check that is running at the end is completed, and the first config is
                                  tried however short the time is */
    int64_t seed;            /**< the seed of all random numbers. Configs are measured in the order in which their compiles end,
                                  so two tunings with one seed may differ */
    int32_t is_warm;         /**< 1: launches use the same operands; default: they rotate through more operands than the L2
                                  holds */
    int32_t no_record;       /**< 1: keep no record, and leave the choice of tj_matmul as it is */
    double check_flop;       /**< the work of one check against float64; default 2e8. The winner's check is ten times that */
    int (*is_cancelled)(void *payload); /**< called between trials; if it returns anything but 0, the tuning ends soon and keeps
                                             its findings. NULL: never */
    void (*progress)(const tj_tune_progress *progress, void *payload); /**< called from the tuning thread; NULL: none */
    void *payload;                                                     /**< passed to both */
    const tj_problem
        *next; /**< the problem that will be tuned next, in this context and with these options: its first candidates compile
                    when this tuning has none left to compile. NULL, or a problem that is refused: not known */
    struct tj_records *records; /**< also receives the record, even if the store does not keep it, and with no_record; on the
                                     emulator it receives nothing. NULL: none */
} tj_tune_options;

#define TJ_TUNE_OPTIONS_INIT TJ_SIZED(tj_tune_options)

/** See noise below. An undisturbed device has about 0.002, and up to 0.08 if its clock falls. */
#define TJ_TUNE_NOISE 0.15

/** The result of a tj_tune. Start from TJ_TUNE_RESULT_INIT. */
typedef struct tj_tune_result {
    size_t struct_size;
    tj_config config;                 /**< the winner */
    tj_config default_config;         /**< the library's choice without a record */
    tj_config second;                 /**< the runner-up; the winner itself if there is no other */
    double us, default_us, second_us; /**< their medians in the interleaved comparison */
    double before_us;                 /**< the median of an earlier tuning's choice; without one, the default's */
    double spread;                    /**< spread of the winner's share of a round, as in tj_trial */
    double warm_us;                   /**< the winner's time with its operands in the L2; 0: not measured, for lack of time */
    double noise;                     /**< half the interquartile range of the durations of the finals' rounds, divided by their
                                           median; 0: fewer than three rounds. Above TJ_TUNE_NOISE other work used the device: a
                                           warning is logged, and times and choice are in doubt */
    int64_t evaluations, refused, wrong, slow;
    double seconds;
    tj_tune_shares spent;   /**< their sum is seconds */
    double check_ratio;     /**< largest error / bound of the winner's product, or, if time was short, of the first product */
    int64_t check_elements; /**< number of its elements compared with float64 */
    int32_t is_complete;    /**< 1: every config of the space was tried */
    int32_t was_cancelled;  /**< 1: options->is_cancelled ended it */
    int32_t has_record;     /**< 1: a record was kept */
    int32_t is_record_lost; /**< 1: a record could not be kept. 0 also if the store already has a record with better evidence,
                                 which stays */
    int32_t is_emulated;    /**< 1: on the emulator, whose times mean nothing: no record was kept */
} tj_tune_result;

#define TJ_TUNE_RESULT_INIT TJ_SIZED(tj_tune_result)

/**
 * Tune a problem on the device of the current CUDA context (or the context's device), and keep the winner as a record.
 *
 * The library's own choice is always among the finalists, and another config must beat it by more than the tie band, so tuning
 * never makes things slower. The choice of an earlier tuning of the problem is among them too; it stays unless the library's
 * choice is as fast or another config is faster.
 *
 * Before a config may take the lead, its product is checked. Some rows of the first product are compared with float64, and some
 * rows of later products with the first. The winner's product is compared with both once more, and with the first in every
 * element. A config whose product is wrong is rejected. P is poisoned before each check.
 *
 * Threads of the library compile candidates while others are timed. These threads wait in the context for the next tuning, and
 * end with the context. Only the winner's image is kept in the store. The library makes random operands, so the device needs
 * memory for them. Other work on the device disturbs the times; `noise` shows this.
 *
 * The search gets at most three quarters of the time, the finalists the rest, and the winner's check the remainder. If that is
 * too short for a single round of all finalists, the times of the search decide.
 *
 * On the emulator configs are only compiled, launched and checked: its times mean nothing, so no record is kept, and the choice
 * of tj_matmul does not change.
 *
 * A dimension that is known only at launch is tuned for the extent in the problem; the record serves all extents.
 *
 * NULL:    options (all defaults) and err may be NULL.
 * Threads: any; two tunings at once on one device would disturb each other.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (problem, options), TJ_ERR_NO_DRIVER, TJ_ERR_NO_COMPILER, TJ_ERR_UNSUPPORTED (a driver
 *          without events, a device that NVRTC does not serve), TJ_ERR_OUT_OF_MEMORY, TJ_ERR_DEVICE_MEMORY, TJ_ERR_DRIVER,
 *          TJ_ERR_DEVICE_LOST, TJ_ERR_CHECK_FAILED (no config computed the product), TJ_ERR_CANCELLED (cancelled before a
 *          config did), TJ_ERR_FORKED. On failure *result is all zero. A record that cannot be kept is not an error:
 *          is_record_lost is 1, and a warning says why.
 */
TJ_API TJ_MUST_CHECK tj_status tj_tune(tj_context *context, const tj_problem *problem, const tj_tune_options *options,
                                       tj_tune_result *result, tj_error *err);

/* ---- records ------------------------------------------------------------------------------------------------------ */

/** The result of one tuning: device, problem, config, times, check, versions. It never changes, and threads may share it. */
typedef struct tj_record tj_record;

/** The content of a record, as text and numbers. The text is borrowed from the record. Start from TJ_RECORD_FACTS_INIT. */
typedef struct tj_record_facts {
    size_t struct_size;
    const char *problem;  /**< "512x300x700 f32 ...", for people */
    const char *device;   /**< the driver's name for it */
    const char *config;   /**< the one-line form; this version may not know its family */
    const char *compiler; /**< NVRTC version and build */
    const char *strategy; /**< "search", "model", "exhaustive", "imported" */
    double us, default_us;
    int64_t evaluations, created_s;
    int32_t is_complete, was_cancelled, driver_version;
    const char *family; /**< the only family searched; "": all */
} tj_record_facts;

#define TJ_RECORD_FACTS_INIT TJ_SIZED(tj_record_facts)

/**
 * Read one record from its JSON. Unknown members are ignored. A record of a newer schema is refused, and so is one whose
 * checksum does not match its content.
 * Owned: *record belongs to the caller; tj_record_free(). NULL: only err may be NULL. Threads: any; pure.
 * Errors: TJ_ERR_INVALID_ARGUMENT: the defect and its place.
 */
TJ_API TJ_MUST_CHECK tj_status tj_record_parse(const char *json, tj_record **record, tj_error *err);

/** The JSON of a record, the same bytes everywhere. Returns NULL only if memory ran out. Owned: the caller; free(). */
TJ_API char *tj_record_print(const tj_record *record);

/**
 * Get the content of a record.
 * NULL: only err may be NULL. Threads: any; pure. Errors: TJ_ERR_INVALID_ARGUMENT: facts was not initialised.
 */
TJ_API TJ_MUST_CHECK tj_status tj_record_get_facts(const tj_record *record, tj_record_facts *facts, tj_error *err);

/** The record's problem, canonical. Owned: borrowed. */
TJ_API const tj_problem *tj_record_problem(const tj_record *record);

/** Free a record. NULL: accepted. */
TJ_API void tj_record_free(tj_record *record);

/**
 * A set of records, at most one for each problem on each kind of device, and tables of trials (below) that choices may use. For
 * one thread at a time.
 */
typedef struct tj_records tj_records;

/** Make an empty set. Returns NULL only if memory ran out. Owned: the caller; tj_records_free(). */
TJ_API tj_records *tj_records_create(void);
TJ_API void tj_records_free(tj_records *records);

/**
 * Add a record. If two records have the same problem and device, the one with better evidence stays: the complete search, then
 * the one with more evaluations, then the faster, then the newer, then the one whose JSON is greater. So merging gives the same
 * set in any order and grouping, and when it is repeated. A record with times of an emulator, which earlier versions kept, is
 * not added.
 * Owned: the call takes ownership of record, also on failure. NULL: record may be NULL (ignored). Errors: TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_records_add(tj_records *records, tj_record *record, tj_error *err);

/** Return the number of records, and record number index in the order of their keys; NULL past the end. Owned: borrowed. */
TJ_API size_t tj_records_count(const tj_records *records);
TJ_API const tj_record *tj_records_at(const tj_records *records, size_t index);

/** Read all records of a context's store and read-only roots. Damaged ones are skipped with one warning. */
TJ_API TJ_MUST_CHECK tj_status tj_records_load(tj_context *context, tj_records *records, tj_error *err);

/**
 * The same, for callers that must know whether the set is complete, such as a backup: *passed_over receives the number of
 * existing records that are not used. NULL: only err may be NULL.
 * Errors: TJ_ERR_IO: a store exists and cannot be used (the message names it and the reason).
 */
TJ_API TJ_MUST_CHECK tj_status tj_records_load_all(tj_context *context, tj_records *records, int64_t *passed_over,
                                                   tj_error *err);

/**
 * Keep every record in the context's store. If the store already has a record of the same problem and device, the rule of
 * tj_records_add decides. *kept receives the number of records that were new or better. Plans that are made afterwards use the
 * records. NULL: kept and err may be NULL.
 * Errors: TJ_ERR_IO.
 */
TJ_API TJ_MUST_CHECK tj_status tj_records_keep(tj_context *context, const tj_records *records, int64_t *kept, tj_error *err);

/**
 * Read the text of a file: records as tj_records_print writes them, or results in Kernel Tuner's T4 format, version 1.0.0. A T4
 * file of another program does not state the problem and the device of its results. Pass both then; the fastest correct result
 * becomes a record.
 * NULL: problem, device, added (a count) and err may be NULL.
 * Errors: TJ_ERR_INVALID_ARGUMENT: neither of these formats, or a damaged record (the message names it and the damage); records
 * is unchanged.
 */
TJ_API TJ_MUST_CHECK tj_status tj_records_parse(const char *text, const tj_problem *problem, const tj_device_facts *device,
                                                tj_records *records, int64_t *added, tj_error *err);

/**
 * Print all records as one JSON text; with is_t4 in Kernel Tuner's T4 format (1.0.0), each result with its record next to it.
 * Returns NULL only if memory ran out. Owned: the caller; free().
 */
TJ_API char *tj_records_print(const tj_records *records, int is_t4);

/**
 * Find the record of a problem for a device of the same kind (name, compute capability, multiprocessors, L2 bytes), or return
 * NULL. Owned: borrowed. NULL: none may be NULL.
 */
TJ_API const tj_record *tj_records_find(const tj_records *records, const tj_problem *problem, const tj_device_facts *device);

/* ---- tables of trials --------------------------------------------------------------------------------------------- */

/** Measured times of configs for problems on one device, by which configs of similar problems are chosen. For one thread. */
typedef struct tj_trials tj_trials;

/** Make an empty set. Returns NULL only if memory ran out. Owned: the caller; tj_trials_free(), which accepts NULL. */
TJ_API tj_trials *tj_trials_create(void);
TJ_API void tj_trials_free(tj_trials *trials);

/**
 * Add the timed trials of a file of tilejit tune --trials, or those of a table. All must be of one device. Trials of a problem
 * replace those that the set had of it, because times of different days are not compared. *passed_over receives the number of
 * lines for problems that a table cannot hold: problems with open extents, groups, or an epilogue.
 * NULL:    passed_over and err may be NULL.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (the message names the place in the text), TJ_ERR_OUT_OF_MEMORY. On failure the set may hold
 *          some of the trials.
 */
TJ_API TJ_MUST_CHECK tj_status tj_trials_add(tj_trials *trials, const char *text, int64_t *passed_over, tj_error *err);

/**
 * Read a table that tj_trials_print has written. A table that is cut or damaged, or of another version, is refused as a whole.
 * Owned: *trials belongs to the caller. NULL: only err may be NULL. Threads: any; pure.
 * Errors: TJ_ERR_INVALID_ARGUMENT, TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_trials_parse(const char *text, tj_trials **trials, tj_error *err);

/**
 * Print a table. It holds about ten trials of each problem: the fastest, those that the model ranks highest, and the fastest of
 * each family. Trials with configs that this version does not know are left out. The same set gives the same bytes.
 * Owned: *text belongs to the caller; free(). NULL: only err may be NULL.
 * Errors: TJ_ERR_INVALID_ARGUMENT: the set is empty; TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_trials_print(const tj_trials *trials, char **text, tj_error *err);

/**
 * Add a table of trials to a set of records, for choices by that set. A set takes up to 16 tables.
 * Owned: the set borrows the table, which must outlive it. NULL: only err may be NULL. Errors: TJ_ERR_INVALID_ARGUMENT.
 */
TJ_API TJ_MUST_CHECK tj_status tj_records_add_trials(tj_records *records, const tj_trials *trials, tj_error *err);

/** Return the name of the device on which the trials were measured; "": the set is empty. Owned: borrowed. */
TJ_API const char *tj_trials_device_name(const tj_trials *trials);

/**
 * Return the number of problems. Return problem number index, canonical; *count receives the number of its trials. NULL past
 * the end.
 */
TJ_API size_t tj_trials_count(const tj_trials *trials);
TJ_API const tj_problem *tj_trials_problem(const tj_trials *trials, size_t index, size_t *count);

/**
 * Print the facts of a device as one line of JSON, which states in a file of trials where they were measured. Returns NULL only
 * if memory ran out. Owned: the caller; free(). NULL: device must not be NULL.
 */
TJ_API char *tj_device_to_json(const tj_device_facts *device);

/* ---- tuning elsewhere --------------------------------------------------------------------------------------------- */

/**
 * Print a problem as records do, for another process or machine: compact JSON without the members that are 0. Returns NULL only
 * if memory ran out. Owned: the caller; free(). NULL: problem must not be NULL.
 */
TJ_API char *tj_problem_to_json(const tj_problem *problem);

/**
 * Read a problem that tj_problem_to_json printed. Members that this version does not know are ignored.
 * NULL: only err may be NULL. Threads: any; pure. Errors: TJ_ERR_INVALID_ARGUMENT: the text is not JSON, or not a problem that
 *       tj_problem_check accepts.
 */
TJ_API TJ_MUST_CHECK tj_status tj_problem_from_json(const char *json, tj_problem *problem, tj_error *err);

enum { TJ_PROBLEM_ID_BYTES = 33 };

/**
 * Write the key of a problem among the records of one kind of device: 32 hex digits. Problems that share a record share it, so
 * an extent that is known only at launch is not part of it. NULL: neither may be NULL.
 */
TJ_API void tj_problem_id(const tj_problem *problem, char id[TJ_PROBLEM_ID_BYTES]);

/**
 * Everything besides the problem on which times depend: the kind of device, NVRTC's version and build, and the templates of
 * this library. Start from TJ_TUNING_CLASS_INIT.
 */
typedef struct tj_tuning_class {
    size_t struct_size;
    char id[17];    /**< 16 hex digits */
    char text[320]; /**< for people: "NVIDIA H100, 132 SMs, NVRTC 13.0.48, tilejit 0.1.0 templates 0123abcd" */
} tj_tuning_class;

#define TJ_TUNING_CLASS_INIT TJ_SIZED(tj_tuning_class)

/**
 * Get the class of a device in this process. Two processes whose classes have the same id may use each other's records and
 * images.
 * NULL: only err may be NULL. Threads: any. Errors: TJ_ERR_NO_COMPILER, TJ_ERR_FORKED.
 */
TJ_API TJ_MUST_CHECK tj_status tj_tuning_class_of(struct tj_context *context, const tj_device_facts *device,
                                                  tj_tuning_class *of, tj_error *err);

/* ---- choosing ----------------------------------------------------------------------------------------------------- */

/**
 * Choose a config for a problem on a device without measuring. tj_plan_prepare and tj_matmul use it if the caller names none.
 *
 * NULL:    records (none), chosen_by and err may be NULL.
 * Threads: any; pure.
 * Errors:  as tj_config_resolve of the safe default.
 */
TJ_API TJ_MUST_CHECK tj_status tj_choose(const tj_records *records, const tj_problem *problem, const tj_device_facts *device,
                                         tj_config *config, tj_chosen_by *chosen_by, tj_error *err);

/**
 * Choose a config for a problem on a device as tj_plan_prepare and tj_matmul do in this context: by a record of the store, by a
 * record of a pack, by the choice of a pack, else as tj_choose.
 * NULL:    chosen_by and err may be NULL.
 * Threads: any.
 * Errors:  as tj_choose.
 */
TJ_API TJ_MUST_CHECK tj_status tj_context_choose_config(tj_context *context, const tj_problem *problem,
                                                        const tj_device_facts *device, tj_config *config,
                                                        tj_chosen_by *chosen_by, tj_error *err);

/** A trial of a problem that is similar to the one for which a config is chosen. */
typedef struct tj_neighbour {
    size_t struct_size;        /**< the library's: read no field beyond it */
    const tj_problem *problem; /**< canonical */
    const char *device;        /**< the name of the device on which it was measured */
    tj_config config;          /**< as a search writes it */
    double us;                 /**< its time */
    double distance; /**< the difference between the problems, in doublings of extents; 0: the same problem, on such a device */
} tj_neighbour;

typedef void (*tj_neighbour_visit)(const tj_neighbour *neighbour, void *payload);

/**
 * Visit the trials by which tj_context_choose_config chooses for a problem that has no record, those of the most similar
 * problems first; the first trial of a problem is its fastest. There may be none.
 * Owned:   a neighbour, and all that it points to, is valid during the visit only. The visit must not call back into the
 *          context.
 * NULL:    payload and err may be NULL. Threads: any. Errors: TJ_ERR_INVALID_ARGUMENT (tj_problem_check).
 */
TJ_API TJ_MUST_CHECK tj_status tj_context_neighbours(tj_context *context, const tj_problem *problem,
                                                     const tj_device_facts *device, tj_neighbour_visit visit, void *payload,
                                                     tj_error *err);

/**
 * The number of choices for a problem that may be unfit (they spill or fail a proof) before the safe default, which always
 * fits, is used.
 */
enum { TJ_MOST_REFUSED = 8 };

/**
 * Prepare the plan that tj_choose chooses by these records, ignoring the context's own records, and return its config as a
 * search would write it. An unfit choice is replaced by another, up to TJ_MOST_REFUSED times. Use this to compare the library's
 * choice with other configs.
 *
 * Owned:   *plan is borrowed from context. NULL: records may be NULL (none: the tables of trials of the context alone), err too.
 * Threads: any.
 * Errors:  those of tj_choose and tj_plan_prepare.
 */
TJ_API TJ_MUST_CHECK tj_status tj_choose_plan(tj_context *context, const tj_records *records, const tj_problem *problem,
                                              const tj_device_facts *device, tj_config *config, const tj_plan **plan,
                                              tj_error *err);

/* ---- search, over any source of times ----------------------------------------------------------------------------- */

/** The source of times for a search. The search calls it from one thread, except predict. Start from TJ_MEASURER_INIT. */
typedef struct tj_measurer {
    size_t struct_size;
    void *payload;
    /** This config will be measured soon: compile it, on another thread if possible. May be NULL. */
    void (*announce)(void *payload, const tj_config *config);
    /**
     * Time the config of a trial, and fill in the trial. best_us is the shortest time so far (0: none); use it to abandon a
     * slow config early. A failure ends the search: fail only for errors that would stop every other config too.
     */
    tj_status (*measure)(void *payload, double best_us, tj_trial *trial, tj_error *err);
    /**
     * Check the product of a trial that would take the lead: set is_verified, or set state to TJ_TRIAL_WRONG and fill in why.
     * NULL: all products are right.
     */
    tj_status (*verify)(void *payload, tj_trial *trial, tj_error *err);
    /** Return the model's prediction for a config, in microseconds; 0 if it has none. The search calls it from several threads
     * at once (tj_tune_options.threads). May be NULL. */
    double (*predict)(void *payload, const tj_config *config);
    /** Seconds since the search began. NULL: no time passes. */
    double (*clock)(void *payload);
    const tj_device_facts *device; /**< the device to search for; NULL: any */
    /**
     * Wait until one of the configs that were announced and not yet measured is ready to be measured, copy it to *ready and
     * return 1. Return 0 if none is under way or the time is over. NULL: configs are measured in the order in which they were
     * announced.
     */
    int (*any_ready)(void *payload, tj_config *ready);
    int32_t at_once; /**< number of configs that the source makes ready at once; the search announces some more. 0: unknown */
    /**
     * Return 1 if another config could be made ready at once. The search then announces more, as soon as it has learned from a
     * few trials. NULL: not known.
     */
    int (*is_idle)(void *payload);
} tj_measurer;

#define TJ_MEASURER_INIT TJ_SIZED(tj_measurer)

/**
 * The trials of a search: first the verified ones, the fastest first, then the others in the order of trying. Start from
 * TJ_SEARCH_RESULT_INIT.
 */
typedef struct tj_search_result {
    size_t struct_size;
    tj_trial *trial;
    size_t count;
    int32_t is_complete, was_cancelled;
} tj_search_result;

#define TJ_SEARCH_RESULT_INIT TJ_SIZED(tj_search_result)

/**
 * Search the space of a problem. The configs in first (the default, those of records) are announced before all others, and need
 * not be in the space; first_count may be 0. The first of them is tried however short the time is. The same options and the
 * same answers of the measurer give the same trials.
 *
 * Owned:   result->trial belongs to the caller; free().
 * NULL:    options and err may be NULL.
 * Errors:  those of the measurer, TJ_ERR_INVALID_ARGUMENT, TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_search(const tj_problem *problem, const tj_tune_options *options, const tj_config *first,
                                         size_t first_count, const tj_measurer *measurer, tj_search_result *result,
                                         tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
