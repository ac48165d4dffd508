/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look: a request analysed in one or several configs: what explain prints and report draws.
 */
#ifndef TJ_CLI_LOOK_H
#define TJ_CLI_LOOK_H

#include "product.h"

typedef struct cli_look_options {
    cli_request_options request;
    cli_machine_options machine;
    cli_timing timing;
    const char *compare;
    int32_t measures, counts;
} cli_look_options;

/** --compare, --measure, --count. */
extern const cli_group cli_look_group;

/** The device that is looked at. */
typedef struct cli_machine {
    tj_device_facts facts;
    const char *origin; /* of the facts, in words */
    bool has_device;    /* it is there: a GPU or the emulator */
    bool is_emulator;
    double bytes_per_s; /* measured; 0: not known */
    char target[16];    /* what a kernel would be compiled for */
    char chip[16];      /* what the compiler is asked for registers of: target, or where that is PTX for the device, its own */
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

/** A request on a machine, in one or several configs. */
typedef struct cli_look {
    const cli_call *call;
    cli_request request;
    cli_machine machine;
    cli_case cases[CLI_MAX_CASES];
    size_t count;
} cli_look;

/**
 * Read the words, find the device, analyse each config; count and measure what the words ask for. compare: the configs beside
 * one another where --compare is not given; NULL: the request's alone. Release with cli_look_close, also after a failure.
 */
cli_exit cli_look_open(cli_call *call, const cli_look_options *options, const char *const *compare, cli_look *look,
                       tj_error *err);
void cli_look_close(cli_look *look);

/** Run every config on the GPU for its time, or execute it on the emulator for its counters. */
tj_status cli_look_measure(cli_timing timing, cli_look *look, tj_error *err);
tj_status cli_look_count(cli_look *look, tj_error *err);

/** The config that the model takes for the fastest. */
size_t cli_fastest(const cli_look *look);

/** "P (512 x 700) = M (512 x 300) . N (300 x 700), f32": its extents, type and batch. */
void cli_print_formula(FILE *out, const tj_problem *known);

/** A config in a few words: "tiled 16x16x16 dynamic", "simt 64x128x16". */
enum { CLI_NAME_BYTES = 64 };
void cli_name_case(const cli_case *one, char out[CLI_NAME_BYTES]);

/** Is a time term of it worth a word? Not that of a pipe of arithmetic that it leaves alone. */
bool cli_shows_term(const cli_case *one, int32_t term);

/** Multiply-adds that its first kernel executes. */
int64_t cli_fma(const cli_case *one);

/** A config's numbers, one below the other. */
typedef struct cli_column {
    struct {
        const char *name;
        char text[CLI_NAME_BYTES];
    } row[24];
    int count;
} cli_column;
__attribute__((format(printf, 3, 4))) void cli_print_row(cli_column *column, const char *name, const char *format, ...);

/** FLOP/s of a config that was measured. */
double cli_measured_rate(const cli_case *one);

/** The configs side by side, and the roofline in letters, to stdout. */
void cli_print_compared(const cli_look *look);
void cli_print_plot(const cli_look *look);

/** Everything about one config, as members of an object. */
void cli_answer_case(tj_json *object, const cli_case *one);

/** The device's peaks and where its facts come from, as members of an object. */
void cli_answer_machine(tj_json *answer, const cli_look *look);

#endif
