/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: what the files of the command share: words (the parsed command line), commands, answers, exit codes.
 *
 * The command is built on the public headers, like any other program, and on base/ for the files that a user names. It never calls setlocale(), so numbers are
 * read and written the C way in every locale.
 */
#ifndef TJ_CLI_CLI_H
#define TJ_CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tilejit/tilejit.h>

#include "input.h"
#include "output.h"

/** What the process exits with. */
typedef enum cli_exit {
    CLI_DONE = 0,         /* done */
    CLI_FAILED = 1,       /* the request failed */
    CLI_WORDS = 2,        /* the words were wrong: nothing was read, compiled or run */
    CLI_CHECK_FAILED = 3, /* the product was computed and did not pass its check */
    CLI_INTERRUPTED = 128 /* and the signal's number, as shells have it */
} cli_exit;

/* ---- words -------------------------------------------------------------------------------------------------------- */

enum { CLI_MAX_OPERANDS = 64 };

typedef struct cli_real {
    bool is_given;
    double value;
} cli_real;

/** The command line, parsed. Text is borrowed from argv. Options not given are NULL, 0 or their stated default. */
typedef struct cli_words {
    const struct cli_command *command;
    const char *operand[CLI_MAX_OPERANDS];
    size_t operand_count;
    int32_t is_help, is_json;
    const char *output;
    /* the problem */
    const char *dtype, *p_dtype, *any, *multiple_of;
    int32_t m_layout, n_layout, p_layout;
    int32_t transpose_m, transpose_n;
    int64_t ld_m, ld_n, ld_p, ld_c;
    int64_t batch, stride_m, stride_n, stride_p, stride_c;
    cli_real alpha, beta;
    /* the config */
    const char *config, *family, *tile_width, *shared, *rows, *boundary;
    /* the machine */
    const char *arch, *cache_dir, *nvrtc, *driver, *dump_dir, *device;
    int32_t no_cache, log_level;
    /* one command's own */
    const char *c;
    int32_t emit; /* 1: ptx, 2: cubin */
    int64_t seed, warmup, repeat;
    cli_real check_budget;
    int32_t no_check, keep, compile_only, only_damaged;
    int32_t counts; /* 1: in all, 2: by line */
    int32_t order;  /* 1: C, 2: F */
    const char *compare;
    int32_t measures, plots;
    /* tune */
    const char *budget, *shapes, *devices, *trials, *export_to, *import_from, *merge;
    const char *cases; /* of prove */
    int64_t evaluations, threads;
    int32_t strategy; /* tj_strategy */
    int32_t resume, is_warm, no_record, is_t4;
} cli_words;

/** How an option's value is read, and the type of its field. */
typedef enum cli_kind {
    CLI_FLAG,   /* int32_t: set to low */
    CLI_TEXT,   /* const char *: may be empty if low is 1 */
    CLI_INT,    /* int64_t: from low to high; added to it is 'plus' */
    CLI_STRIDE, /* int64_t: as CLI_INT, or broadcast, pointers, pointers16 */
    CLI_REAL,   /* cli_real: at least low; low 0: any */
    CLI_CHOICE  /* int32_t: low + index in choice */
} cli_kind;

typedef struct cli_option {
    char letter;          /* 0: none */
    const char *name;     /* NULL ends a group */
    const char *argument; /* what --help calls the value; NULL for flags */
    cli_kind kind;
    size_t offset; /* of the field in cli_words */
    int64_t low, high, plus;
    const char *const *choice;
    const char *summary; /* one sentence, for --help and the man page */
} cli_option;

/**
 * One command. answer is an object to be filled; it is what --json prints. Anything but CLI_DONE has *err filled.
 * Without --json the command prints its results to stdout itself.
 */
typedef cli_exit (*cli_run)(const cli_words *words, json_t *answer, tj_error *err);

typedef struct cli_command {
    const char *name;     /* "cache list" */
    const char *operands; /* "<jxkxl>"; "" for none */
    size_t operand_min, operand_max;
    const char *summary;             /* one line */
    const char *text;                /* paragraphs, separated by empty lines */
    const char *example;             /* one per line */
    const cli_option *const *groups; /* NULL-terminated */
    cli_run run;
    bool is_hidden;
} cli_command;

/** All commands; a NULL name ends the table. */
extern const cli_command cli_commands[];

/** The command that the words begin with, in *used of them; second may be NULL. NULL: none. */
const cli_command *cli_find_command(const char *first, const char *second, int *used);

/** Read the words after the command's name. The last of a repeated option wins. */
tj_status cli_parse(const cli_command *command, int count, char *const *word, cli_words *words, tj_error *err);

/** The nearest of the offered words, or NULL if none is near. next(i, payload) answers word i, NULL past the end. */
const char *cli_nearest(const char *word, const char *(*next)(size_t index, const void *payload), const void *payload);

/** The option groups, in option.c. */
extern const cli_option cli_problem_options[], cli_layout_options[], cli_config_options[], cli_scalar_options[],
    cli_machine_options[], cli_common_options[], cli_output_options[], cli_check_options[], cli_timing_options[],
    cli_matmul_options[], cli_run_options[], cli_compile_options[], cli_clear_options[], cli_analysis_options[],
    cli_explain_options[], cli_report_options[], cli_devices_options[], cli_tune_options[], cli_prove_options[];

/* ---- help --------------------------------------------------------------------------------------------------------- */

void cli_print_overview(FILE *out);
void cli_print_help(FILE *out, const cli_command *command);

/** The man page, in troff, from the same tables. */
void cli_print_man(FILE *out);

/* ---- numbers and messages ----------------------------------------------------------------------------------------- */

/** Fill *err with a line of printable ASCII and return status. */
__attribute__((format(printf, 3, 4))) tj_status cli_fail(tj_error *err, tj_status status, const char *format, ...);

/** Whole decimal numbers, nothing else: no sign but '-', no blank, no 1e9, no 0x10. what names it in messages. */
tj_status cli_parse_int(const char *what, const char *text, int64_t low, int64_t high, int64_t *value, tj_error *err);

/** A decimal number, "nan", "inf" or "-inf", the same in every locale. */
tj_status cli_parse_real(const char *what, const char *text, double *value, tj_error *err);

/** "512x300x700". */
tj_status cli_parse_shape(const char *text, int64_t extent[3], tj_error *err);

/** "12.3 KiB", "4 min": for people; at least 32 bytes. */
void cli_format_bytes(char *out, int64_t bytes);
void cli_format_age(char *out, int64_t seconds);

/* ---- answers ------------------------------------------------------------------------------------------------------ */

/* Each sets one member; text that is not UTF-8 gets '?', numbers that JSON lacks become null. */
void cli_set_text(json_t *object, const char *name, const char *text);
void cli_set_int(json_t *object, const char *name, int64_t value);
void cli_set_real(json_t *object, const char *name, double value);
void cli_set_bool(json_t *object, const char *name, bool value);

/** The problem as members of an object. Owned: the caller. */
json_t *cli_problem_json(const tj_problem *problem);

/** With --json stdout takes the object: refuse it as the file of an option, by its name. path may be NULL. */
tj_status cli_check_stdout(const cli_words *words, const char *option, const char *path, tj_error *err);

/**
 * tj_output_open, for what is to be written in the end. Where that goes to stdout, what is printed from here on goes to stderr.
 * path may be NULL: nothing is opened.
 */
tj_status cli_open_output(const char *path, tj_output *out, tj_error *err);

/** tj_output_write of one piece. A signal waits for a file to be whole. */
tj_status cli_write_output(const tj_output *out, const void *bytes, size_t size, tj_error *err);

/* ---- signals ------------------------------------------------------------------------------------------------------ */

/**
 * From now on SIGINT, SIGTERM and, unless it was ignored, SIGHUP end the process in order: a line on stderr, with is_json an object
 * on stdout, exit code CLI_INTERRUPTED and the number. Before any thread is started: those that do not block the signals would take
 * them. Where no thread can be started they do what they did before.
 */
void cli_listen(bool is_json);

/** From now on the first one is noted and no more; a second one ends the process. */
void cli_note_signals(void);

/** The one that was noted; 0: none. */
int cli_noted_signal(void);

/** Between these two no signal ends the process, but for a second one. */
void cli_hold_signals(void);
void cli_release_signals(void);

/** Signals do again what they did before cli_listen. */
void cli_stop_listening(void);

/* ---- requests ----------------------------------------------------------------------------------------------------- */

/** What the words ask to compute. */
typedef struct cli_request {
    tj_problem problem; /* as generated: some dimensions may be arguments */
    tj_problem known;   /* the same with every extent a number */
    tj_config config;
    bool has_config;        /* the words say something about the config */
    tj_chosen_by chosen_by; /* who chose it where they do not, once cli_adapt has asked; 0: nobody */
    double alpha, beta;
} cli_request;

/** For commands with a shape: everything that the words can get wrong is found here. */
tj_status cli_read_request(const cli_words *words, const char *shape, cli_request *request, tj_error *err);

enum { CLI_SHAPE_BYTES = 96 };

/** A problem's shape, its extents numbers: "16x32x48", of a batch "16x32x48 b5". So files of --trials name it. */
void cli_print_shape(const tj_problem *problem, char text[CLI_SHAPE_BYTES]);

/** The parts: a type option, the config, what --any and --multiple-of say. */
tj_status cli_read_dtype(const char *text, int32_t *dtype, tj_error *err);
tj_status cli_read_config(const cli_words *words, cli_request *request, tj_error *err);
tj_status cli_read_any(const cli_words *words, cli_request *request, tj_error *err);

/** --arch is for what is not run: a device decides for itself what is compiled for it. */
tj_status cli_check_arch(const cli_words *words, tj_error *err);

/** Is --device something that can be? */
tj_status cli_check_device(const cli_words *words, tj_error *err);

/** A context as the words want it. */
tj_status cli_context_create(const cli_words *words, tj_context **context, tj_error *err);

/** Do the words leave open what computes: --device auto, and no driver named? */
bool cli_may_emulate(const cli_words *words);

/** The same to run on: where the words leave that open, the emulator if there is no GPU, which stderr is told in a line. */
tj_status cli_context_create_to_run(const cli_words *words, tj_context **context, tj_error *err);

/**
 * That of tilejit run, or with --arch, for a device that need not be here, that of tilejit compile: what explain and cache explain look
 * with. Its target is cli_target's.
 */
tj_status cli_context_create_to_look(const cli_words *words, tj_context **context, tj_error *err);

/** The device that such a context uses when none is current: --device, $TILEJIT_DEVICE, 0. */
int cli_device_ordinal(const cli_words *words);

/** --arch; else the target of the device; else, with no driver, sm_90. */
tj_status cli_target(tj_context *context, const cli_words *words, char target[16], tj_error *err);

/**
 * The config, where the words name none, as the library would choose it (by record, else by model); else the tile width that they
 * leave open. For the device of context, or with --arch, or without a driver, for the product that target stands for. A target that
 * stands for none changes nothing.
 */
tj_status cli_adapt(tj_context *context, const cli_words *words, const char *target, cli_request *request, tj_error *err);

/** The library's choice for a problem on a device, with the records of the context's store. */
tj_status cli_choose(tj_context *context, const tj_device_facts *facts, const tj_problem *problem, tj_config *config,
                     tj_chosen_by *by, tj_error *err);

/** Who chose, in words: behind "chosen by"; and as a member and a line, if someone did. */
const char *cli_chosen_by(tj_chosen_by by);
const char *cli_chosen_word(tj_chosen_by by); /* for JSON */
void cli_answer_chosen(json_t *answer, const cli_request *request);
void cli_print_chosen(FILE *out, const cli_request *request);

/* ---- work --------------------------------------------------------------------------------------------------------- */

/** "compiled", "store", "memory". */
const char *cli_origin(tj_origin origin);

/** Describe a source and an image (NULL: none) in answer. */
void cli_answer_kernel(json_t *answer, const tj_source *source, const tj_image *image);

/** Did the compiler spill registers of a kernel that keeps its sums there, so that it is never launched? */
bool cli_spills(const tj_source *source, const tj_image *image);

/** The same for people: the kernel, what it was made for, registers and spills. */
void cli_print_kernel(FILE *out, const tj_source *source, const tj_image *image);

/** Launch a plan and have its first kernel counted, or its last. */
tj_status cli_count_kernel(tj_context *context, const tj_emulator *emulator, const tj_plan *plan, const tj_operands *operands,
                           bool is_first, cuEmuLaunch *launch, tj_error *err);

/**
 * What --count asks for: have the launch that follows counted, then tell. Of a split k that counts the first kernel; the second one
 * is counted by a launch of its own. In words each, in JSON their sum.
 * Errors: TJ_ERR_UNSUPPORTED: the device is no emulator.
 */
tj_status cli_count_begin(const cli_words *words, tj_context *context, const tj_plan *plan, tj_error *err);
tj_status cli_count_end(const cli_words *words, tj_context *context, const tj_plan *plan, const tj_operands *operands,
                        json_t *answer, tj_error *err);

/** Add one to sum, counter by counter. */
void cli_counters_add(cuEmuCounters *sum, const cuEmuCounters *one);

/** Every counter by its name. Owned: the caller. */
json_t *cli_counters_json(const cuEmuCounters *counters);

/** One product on the device. */
typedef struct cli_product {
    const cli_request *request;
    tj_host_operands host; /* as tj_problem_strided(request->known) lays them out */
    void *p;               /* receives P, laid out so */
    int warmup, repeat;    /* repeat 0: not timed */
    bool with_check;
    double check_flop;
} cli_product;

/**
 * Prepare, copy, launch, read back, time, check; fills answer and, without --json, prints it. With no driver the kernel is
 * generated, compiled and stored all the same, and the failure says so.
 * CLI_CHECK_FAILED: P is there, and wrong.
 */
cli_exit cli_multiply(const cli_words *words, tj_context *context, const cli_product *product, json_t *answer, tj_error *err);

/** Generate, compile and store without running; fills answer and, without --json, prints it. */
cli_exit cli_compile_only(const cli_words *words, tj_context *context, const cli_request *request, json_t *answer,
                          tj_error *err);

/** Operands of request->known, without a workspace; c may be NULL. */
tj_operands cli_operands(const cli_request *request, const tj_buffer *m, const tj_buffer *n, const tj_buffer *c,
                         const tj_buffer *p);

/** Does the problem take that operand ('M', 'N', 'P', 'C') as an array of pointers? */
bool cli_is_scattered(const tj_problem *known, tj_which which);

/** Such an array, to matrices from base on as tj_problem_strided lays them out, but in another order. Owned: the caller; free(). */
tj_status cli_scatter(const tj_problem *known, tj_which which, const void *base, void ***array, tj_error *err);

/** The operands of x that the problem takes so become such arrays, in buffers of their own: cli_drop_arrays, after a failure too. */
tj_status cli_scatter_operands(tj_context *context, const tj_problem *known, tj_operands *x, tj_buffer *array[4],
                               tj_error *err);
void cli_drop_arrays(tj_buffer *array[4]);

/* ---- analysis ----------------------------------------------------------------------------------------------------- */

/** The device that is looked at, and what there is to look with. */
typedef struct cli_machine {
    tj_context *context;
    tj_device_facts facts;
    const char *origin; /* of the facts, in words */
    bool has_device;    /* it is there: a GPU or the emulator */
    bool is_emulator;
    double bytes_per_s; /* measured; 0: not known */
    char target[16];    /* what a kernel would be compiled for */
    char chip
        [16]; /* what the compiler is asked for registers of: target, or where that is PTX for the device, the device's own */
    tj_error no_target; /* status TJ_OK: there is one */
} cli_machine;

/** One config of a request. */
typedef struct cli_case {
    tj_config config; /* resolved */
    char text[TJ_CONFIG_TEXT_BYTES];
    tj_source *source;
    tj_analysis analysis;
    int registers; /* as the compiler says; 0: estimated */
    bool spills;   /* and of a kernel that is therefore not launched (TJ_ERR_SPILLS) */
    int hit;       /* 1, 0: would the store have it; -1: not known, why says why */
    char key[33], why[TJ_ERROR_MESSAGE_BYTES];
    tj_chosen_by chosen_by; /* 0: the words name the family */
    bool is_chosen;         /* the tile width is the model's choice */
    bool is_counted, is_measured;
    cuEmuCounters counted;
    double median_us, least_us;
} cli_case;

enum { CLI_MAX_CASES = 8 };

/** What explain and report look at: a request on a machine, in one or several configs. */
typedef struct cli_look {
    cli_request request;
    cli_machine machine;
    cli_case cases[CLI_MAX_CASES];
    size_t count;
} cli_look;

/**
 * Read the words, find the device, analyse each config; count and measure what the words ask for. compare: the configs beside
 * one another where --compare is not given; NULL: the request's alone. Release with cli_look_close, also after a failure.
 */
cli_exit cli_look_open(const cli_words *words, const char *const *compare, cli_look *look, tj_error *err);
void cli_look_close(cli_look *look);

/** Run every config on the GPU for its time, or execute it on the emulator for its counters. */
tj_status cli_look_measure(const cli_words *words, cli_look *look, tj_error *err);
tj_status cli_look_count(const cli_words *words, cli_look *look, tj_error *err);

/** part / whole; 0 if there is no whole. */
double cli_ratio(double part, double whole);

/** A config in a few words: "tiled 16", "simt 64x128x16". */
enum { CLI_NAME_BYTES = 64 };
void cli_name_case(const cli_case *one, char out[CLI_NAME_BYTES]);

/** FLOP/s of a config that was measured. */
double cli_measured_rate(const cli_case *one);

/** The configs side by side, and the roofline in letters, to stdout. */
void cli_print_compared(const cli_look *look);
void cli_print_plot(const cli_look *look);

/** Everything about one config as a JSON object. Owned: the caller. */
json_t *cli_case_json(const cli_case *one);

/** The device's peaks and where its facts come from, as members of an object. */
void cli_answer_machine(json_t *answer, const cli_look *look);

/** "6.22 TFLOP/s", "1.56 TB/s", "33.3 us": three digits and a unit; at least 32 bytes. */
void cli_format_rate(char *out, double per_s, const char *unit);
void cli_format_time(char *out, double us);
/** "1 234 567": at least 32 bytes. */
void cli_format_count(char *out, int64_t count);

/** A bandwidth measured by tilejit devices --measure, from the store's folder; 0 if there is none. */
double cli_read_bandwidth(tj_context *context, const tj_device_facts *facts);
/** Measure it, on the context's device, and keep it in the store's folder if there is one. */
tj_status cli_measure_bandwidth(tj_context *context, const tj_device_facts *facts, double *bytes_per_s, tj_error *err);

/* ---- commands ----------------------------------------------------------------------------------------------------- */

cli_exit cmd_matmul(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_generate(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_compile(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_run(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_explain(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_report(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_prove(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_tune(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_families(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_devices(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_doctor(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_cache_list(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_cache_stats(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_cache_verify(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_cache_clear(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_cache_path(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_cache_explain(const cli_words *words, json_t *answer, tj_error *err);
cli_exit cmd_completion(const cli_words *words, json_t *answer, tj_error *err);

#endif
