/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuner.h: find the config of a problem by measuring, and keep what was found.
 *
 *     tj_space_*     which configs there are: read from the families' forms, tested by their constraints
 *     tj_tune        measure some of them, verify, and keep the winner as a record
 *     tj_record_*    records as data: JSON, merging, Kernel Tuner's T4
 *     tj_search      the search alone, over any source of times: what tests and bench/tuner use
 *
 * A problem that has a record on a device of this kind gets its config from then on: tj_matmul and tj_plan_prepare look
 * when they make a plan, never in a launch. docs/tuning.md explains how it is measured and what is believed.
 */
#ifndef TILEJIT_TUNER_H
#define TILEJIT_TUNER_H

#include <tilejit/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- space -------------------------------------------------------------------------------------------------------- */

/** The configs of one family, or of all, for one problem, one after the other. One thread at a time. */
typedef struct tj_space tj_space;

/**
 * Begin. family NULL: every family, in the order of the table. device NULL: any; otherwise what cannot run on it is left out.
 *
 * Owned:   *space belongs to the caller; tj_space_free().
 * NULL:    problem and space must not be NULL. Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (tj_problem_check), TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_space_create(const tj_problem *problem, const tj_device_facts *device,
                                               const tj_family *family, tj_space **space, tj_error *err);

/**
 * The next config that the family's constraints let pass, that could be the fastest for all that its form knows, and that
 * the device can run: 1; 0 at the end. Every value is set that the form's lists name (tj_param_values), those that the
 * problem settles and the checks are left open. None comes twice. Made one at a time: nothing of the size of the space is kept.
 * NULL: neither may be NULL.
 */
TJ_API int tj_space_next(tj_space *space, tj_config *config);

/** Combinations looked at so far, and those among them that were left out. NULL: only refused may be NULL. */
TJ_API int64_t tj_space_seen(const tj_space *space, int64_t *refused);

/** Release. NULL: accepted. */
TJ_API void tj_space_free(tj_space *space);

/* ---- trials ------------------------------------------------------------------------------------------------------- */

/** What became of one config. */
typedef enum tj_trial_state {
    TJ_TRIAL_TIMED = 1,   /**< us is its time */
    TJ_TRIAL_SLOW = 2,    /**< far slower than the best: given up after a launch or two; us is what those took */
    TJ_TRIAL_REFUSED = 3, /**< did not compile, load or launch; why says it */
    TJ_TRIAL_WRONG = 4    /**< computed a wrong product, and is out whatever its time; why says it */
} tj_trial_state;

/** One config, tried. */
typedef struct tj_trial {
    tj_config config;    /**< as tj_space_next gives it */
    int32_t state;       /**< tj_trial_state */
    int32_t is_verified; /**< 1: its product passed the check */
    double us;           /**< median of its launches, in microseconds */
    double spread;       /**< half the distance of the quartiles, by the median */
    double predicted_us; /**< what the model said; 0: nothing */
    double compile_ms;   /**< 0: it came from a store */
    int32_t registers;   /**< per thread; 0: not known */
    int32_t reserved;
    int64_t shared_bytes; /**< per block */
    char why[160];        /**< of REFUSED and WRONG; else "" */
} tj_trial;

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

typedef enum tj_strategy {
    TJ_SEARCH = 0,    /**< start from the model's best and from records, then try what promises to improve on the best most */
    TJ_MODEL = 1,     /**< measure the configs that the model ranks highest, and no others */
    TJ_EXHAUSTIVE = 2 /**< measure every config of the space */
} tj_strategy;

/** How far a tj_tune is. Valid during the call only. */
typedef struct tj_tune_progress {
    int64_t evaluations, limit; /**< tried so far, and at most */
    double seconds, budget;     /**< gone, and at most */
    double best_us, default_us; /**< 0: none yet */
    const tj_config *best;      /**< NULL: none yet */
    const tj_trial *trial;      /**< that just ended; NULL: finalists are being compared */
} tj_tune_progress;

/** Evaluations of a TJ_SEARCH that is not told how many: it ends when 40 have brought nothing faster and no config promises 0.03 %. */
enum { TJ_TUNE_LEAST = 48, TJ_TUNE_MOST = 240 };

/** Start from TJ_TUNE_OPTIONS_INIT; zero in any field means its default. */
typedef struct tj_tune_options {
    size_t struct_size;
    const tj_family *family; /**< NULL: all families */
    int32_t strategy;        /**< tj_strategy */
    int32_t threads;         /**< that compile; default: one per processor */
    int64_t evaluations;     /**< that many, if time and space suffice; default: TJ_TUNE_LEAST to TJ_TUNE_MOST, for TJ_MODEL 80,
                                     for TJ_EXHAUSTIVE no limit */
    double seconds;          /**< at most, of all that a tuning does; default 30, for TJ_EXHAUSTIVE no limit. Below 0: no limit.
                                     A compile, a launch or a check that is under way then is not cut short, and the first
                                     config is tried however short the time is */
    int64_t seed;            /**< of all that is drawn; the same seed and the same times give the same search */
    int32_t is_warm;         /**< 1: operands stay where they are between launches; default: they rotate beyond the L2 */
    int32_t no_record;       /**< 1: keep no record, and leave tj_matmul's choice as it was */
    double check_flop;       /**< work of one check against the float64 product; default 2e8. The winner's is ten times that */
    int (*is_cancelled)(void *payload); /**< asked between trials; other than 0: the call ends soon and keeps what was found.
                                             NULL: never */
    void (*progress)(const tj_tune_progress *progress, void *payload); /**< called from the tuning thread; NULL: none */
    void *payload;                                                     /**< of both */
} tj_tune_options;

/* clang-format off */
#define TJ_TUNE_OPTIONS_INIT { sizeof(tj_tune_options), NULL, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL }
/* clang-format on */

/** What a tj_tune found. */
typedef struct tj_tune_result {
    tj_config config;                 /**< the winner */
    tj_config default_config;         /**< what the library would have chosen without a record */
    tj_config second;                 /**< the runner-up; the winner itself if there is no other */
    double us, default_us, second_us; /**< medians of the interleaved comparison */
    double before_us;                 /**< of what an earlier tuning chose; the default's without one */
    double spread;                    /**< of the winner's share of a turn, as in tj_trial */
    double warm_us;                   /**< the winner with its operands left in the L2; 0: not measured, for want of time say */
    int64_t evaluations, refused, wrong, slow;
    double seconds;
    double check_ratio;     /**< of the winner, or, without time for that, of the first product: largest error / its bound */
    int64_t check_elements; /**< that were compared with float64 */
    int32_t is_complete;    /**< 1: every config of the space was tried */
    int32_t was_cancelled;  /**< 1: by options->is_cancelled */
    int32_t has_record;     /**< 1: a record was kept */
    int32_t is_record_lost; /**< 1: one was to be kept, and could not be; 0 also where the store has a better founded one */
    int32_t is_emulated;    /**< 1: on the emulator, whose times mean nothing: no record was kept */
} tj_tune_result;

/**
 * Tune a problem on the device of the current CUDA context (or the context's device), and keep the winner as a record.
 *
 * The library's own choice is always among the finalists, and another config must beat it by more than the tie band, so
 * tuning never makes things slower. What an earlier tuning of the problem chose is among them, too, and stays unless the
 * library's own is as fast or another is faster. Before a config may take the lead its product is checked: some rows of the
 * first one's against the float64 product, every element of the others' against the first one's, and the winner's against
 * the float64 product once more; a wrong one is out. Candidates are compiled on threads of the library's own while others
 * are timed; none of them is kept in the store but the winner. Other work on the device disturbs the times. P is poisoned
 * before each check; operands are random and the library's own, so the device needs memory for them.
 *
 * Three quarters of the time are the search's at most; the rest is the finalists', and the winner's check takes what they leave. Where
 * that is too little for a single turn of all finalists, the times of the search decide.
 *
 * On the emulator configs are compiled, launched and checked, and that is all: its times mean nothing, so no record is kept, and
 * tj_matmul's choice stays.
 *
 * A dimension that is known only at launch is tuned for the extent in the problem; its record serves all extents.
 *
 * NULL:    options may be NULL (all defaults), err too.
 * Threads: any; two at once on one device would disturb each other.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (problem, options), TJ_ERR_NO_DRIVER, TJ_ERR_NO_COMPILER, TJ_ERR_UNSUPPORTED (a driver
 *          without events, a device that NVRTC does not serve), TJ_ERR_OUT_OF_MEMORY, TJ_ERR_DEVICE_MEMORY, TJ_ERR_DRIVER,
 *          TJ_ERR_DEVICE_LOST, TJ_ERR_CHECK_FAILED (not one config computed the product), TJ_ERR_CANCELLED (before one did),
 *          TJ_ERR_FORKED. A record that cannot be kept is no error: is_record_lost is 1, and a warning says why. On failure
 *          *result is all zero.
 */
TJ_API TJ_MUST_CHECK tj_status tj_tune(tj_context *context, const tj_problem *problem, const tj_tune_options *options,
                                       tj_tune_result *result, tj_error *err);

/* ---- records ------------------------------------------------------------------------------------------------------ */

/** One tuning result: device, problem, config, times, check, versions. Immutable: share it freely between threads. */
typedef struct tj_record tj_record;

/** What a record says, as text and numbers. Text is borrowed from the record. */
typedef struct tj_record_facts {
    const char *problem;  /**< "512x300x700 f32 ...", for people */
    const char *device;   /**< the driver's name of it */
    const char *config;   /**< one-line form; its family may be unknown to this version */
    const char *compiler; /**< NVRTC version and build */
    const char *strategy; /**< "search", "model", "exhaustive", "imported" */
    double us, default_us;
    int64_t evaluations, created_s;
    int32_t is_complete, was_cancelled, driver_version;
    const char *family; /**< the only one that was searched; "": all */
} tj_record_facts;

/**
 * Read one record from its JSON. Unknown members are ignored; a record of a newer schema, or one whose checksum does not
 * fit its content, is refused.
 * Owned: *record belongs to the caller; tj_record_free(). NULL: only err may be NULL. Threads: any; pure.
 * Errors: TJ_ERR_INVALID_ARGUMENT: what is wrong and where.
 */
TJ_API TJ_MUST_CHECK tj_status tj_record_parse(const char *json, tj_record **record, tj_error *err);

/** Its JSON, the same bytes wherever it is written. NULL only when memory ran out. Owned: the caller; free(). */
TJ_API char *tj_record_print(const tj_record *record);

/** NULL: neither may be NULL. */
TJ_API void tj_record_get_facts(const tj_record *record, tj_record_facts *facts);

/** The problem, canonical. Owned: borrowed. */
TJ_API const tj_problem *tj_record_problem(const tj_record *record);

/** Release. NULL: accepted. */
TJ_API void tj_record_free(tj_record *record);

/** Records, at most one for each problem on each kind of device. One thread at a time. */
typedef struct tj_records tj_records;

/** NULL only when memory ran out. Owned: the caller; tj_records_free(). */
TJ_API tj_records *tj_records_create(void);
TJ_API void tj_records_free(tj_records *records);

/**
 * Add a record. Of two for the same problem and device the better founded stays: the complete search, then the one of more
 * evaluations, then the faster, then the newer, then the one whose JSON is greater. So merging gives the same set
 * in whatever order, grouping and number of times it is done. A record with the times of an emulator, as earlier versions kept them,
 * is not taken.
 * Owned: record is taken in any case. NULL: record may be NULL (ignored). Errors: TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_records_add(tj_records *records, tj_record *record, tj_error *err);

/** How many, and record number index in the order of their keys; NULL past the end. Owned: borrowed. */
TJ_API size_t tj_records_count(const tj_records *records);
TJ_API const tj_record *tj_records_at(const tj_records *records, size_t index);

/** Read all records of a context's store and read-only roots. Damaged ones are passed over with one warning. */
TJ_API TJ_MUST_CHECK tj_status tj_records_load(tj_context *context, tj_records *records, tj_error *err);

/**
 * The same for whoever must know whether these are all, such as a backup: *passed_over counts the records that are there and not
 * used. NULL: only err may be NULL. Errors: TJ_ERR_IO: a store is there and cannot be used (it and the reason are named).
 */
TJ_API TJ_MUST_CHECK tj_status tj_records_load_all(tj_context *context, tj_records *records, int64_t *passed_over,
                                                   tj_error *err);

/**
 * Keep every record in the context's store, where it meets those that are there by the rule of tj_records_add; *kept (may
 * be NULL) counts the ones that were new or better. Plans that are made afterwards use them. Errors: TJ_ERR_IO.
 */
TJ_API TJ_MUST_CHECK tj_status tj_records_keep(tj_context *context, const tj_records *records, int64_t *kept, tj_error *err);

/**
 * Read a file's text: records as tj_records_print writes them, or results in Kernel Tuner's T4 format, version 1.0.0. A T4
 * file of another program does not say for which problem and device its results are: then problem and device must be
 * given, and the fastest correct result becomes a record.
 * NULL: problem and device may be NULL; added (a count) and err too.
 * Errors: TJ_ERR_INVALID_ARGUMENT: no such format, or a record in it is damaged (which, and how); records is as it was.
 */
TJ_API TJ_MUST_CHECK tj_status tj_records_parse(const char *text, const tj_problem *problem, const tj_device_facts *device,
                                                tj_records *records, int64_t *added, tj_error *err);

/** One JSON text of all records; with is_t4, in Kernel Tuner's T4 format (1.0.0), each result with its record beside it. NULL only
 * when memory ran out. Owned: the caller; free(). */
TJ_API char *tj_records_print(const tj_records *records, int is_t4);

/**
 * The record of a problem on a device of the same kind (name, compute capability, multiprocessors, L2 bytes); NULL if
 * there is none. Owned: borrowed. NULL: none may be NULL.
 */
TJ_API const tj_record *tj_records_find(const tj_records *records, const tj_problem *problem, const tj_device_facts *device);

/* ---- choosing ----------------------------------------------------------------------------------------------------- */

/**
 * The config of a problem on a device, without measuring: what tj_plan_prepare and tj_matmul take where none is given.
 *
 * NULL:    records may be NULL (none), chosen_by too, and err.
 * Threads: any; pure.
 * Errors:  as tj_config_resolve of the safe default.
 */
TJ_API TJ_MUST_CHECK tj_status tj_choose(const tj_records *records, const tj_problem *problem, const tj_device_facts *device,
                                         tj_config *config, tj_chosen_by *chosen_by, tj_error *err);

/**
 * The same where the first choice turned out to be unfit (TJ_ERR_SPILLS, or a proof that failed). refused: the configs that were unfit,
 * in their order, as tj_source_config gives them. The next one is the last of them with looser launch bounds, then whatever would be
 * chosen without all of them; after TJ_MOST_REFUSED, for each may cost a compile, it is the safe default, which is never unfit.
 * *chosen_by stays as it was where launch bounds alone are loosened.
 * NULL: as tj_choose; refused may be NULL if refused_count is 0. Threads, Errors: as tj_choose.
 */
enum { TJ_MOST_REFUSED = 8 };
TJ_API TJ_MUST_CHECK tj_status tj_choose_another(const tj_records *records, const tj_problem *problem,
                                                 const tj_device_facts *device, const tj_config *refused, size_t refused_count,
                                                 tj_config *config, tj_chosen_by *chosen_by, tj_error *err);

/**
 * The plan of what tj_choose chooses by these records, whatever the context's own say, and its config as a search would write it: what
 * is unfit gives way (tj_choose_another). For those who compare a choice with others.
 *
 * Owned:   *plan is borrowed from context. NULL: records may be NULL (none), err too. Threads: any.
 * Errors:  those of tj_choose and tj_plan_prepare.
 */
TJ_API TJ_MUST_CHECK tj_status tj_choose_plan(tj_context *context, const tj_records *records, const tj_problem *problem,
                                              const tj_device_facts *device, tj_config *config, const tj_plan **plan,
                                              tj_error *err);

/* ---- search, over any source of times ----------------------------------------------------------------------------- */

/** Where times come from. The search calls it from one thread. */
typedef struct tj_measurer {
    void *payload;
    /** Will be asked soon: compile it, on another thread if possible. May be NULL. */
    void (*announce)(void *payload, const tj_config *config);
    /** Time one config; best_us is the shortest so far (0: none), so that a hopeless one can be given up. Fills trial; its config
     * is set. A failure ends the search: only what no other config would mend. */
    tj_status (*measure)(void *payload, double best_us, tj_trial *trial, tj_error *err);
    /** Compare the product of a trial that would take the lead; sets is_verified, or state to TJ_TRIAL_WRONG with why. May be
     * NULL: all are right. */
    tj_status (*verify)(void *payload, tj_trial *trial, tj_error *err);
    /** Model: microseconds of a config; 0 if it has no opinion. May be NULL. */
    double (*predict)(void *payload, const tj_config *config);
    /** Seconds since the search began. NULL: no time passes. */
    double (*clock)(void *payload);
    const tj_device_facts *device; /**< whose space it is; NULL: any */
} tj_measurer;

/** The trials of a search, fastest verified ones first, then the rest in the order they were tried. */
typedef struct tj_search_result {
    tj_trial *trial;
    size_t count;
    int32_t is_complete, was_cancelled;
} tj_search_result;

/**
 * Search the space of a problem. first: configs to try before all others (the default, those of records), which need not be in
 * the space; first_count may be 0. Deterministic: the same options and the same answers of the measurer give the same trials.
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
