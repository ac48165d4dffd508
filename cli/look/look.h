/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look: analyse a request in one or several configs, for explain and report.
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

/** The device that the analysis is for. */
typedef struct cli_machine {
    tj_device_facts facts;
    const char *origin; /* of the facts, for people */
    bool has_device;    /* the device is present: a GPU or the emulator */
    bool is_emulator;
    double bytes_per_s; /* measured; 0: unknown */
    char target[16];    /* the compile target */
    char chip[16];      /* target of the compiler's register counts: `target`, or the device's own if that is PTX */
    tj_error no_target; /* status TJ_OK: there is a target */
} cli_machine;

/** One config of a request. */
typedef struct cli_case {
    tj_config config; /* resolved */
    char text[TJ_CONFIG_TEXT_BYTES];
    tj_source *source;
    tj_analysis analysis;
    int registers; /* from the compiler; 0: estimated */
    bool spills;   /* likewise; such a kernel is not launched (TJ_ERR_SPILLS) */
    int hit;       /* 1, 0: hit or miss in the store; -1: unknown, and why says why */
    char key[33], why[TJ_ERROR_MESSAGE_BYTES];
    tj_chosen_by chosen_by; /* 0: the options name the family */
    bool is_chosen;         /* the model chose the tile width */
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
 * Read the options, find the device, analyse each config; count and measure as the options ask. compare: the configs to compare
 * if --compare is not given; NULL: only the request's. Release with cli_look_close, also after a failure.
 */
cli_exit cli_look_open(cli_call *call, const cli_look_options *options, const char *const *compare, cli_look *look,
                       tj_error *err);
void cli_look_close(cli_look *look);

/** Run every config on the GPU for its time, or execute it on the emulator for its counters. */
tj_status cli_look_measure(cli_timing timing, cli_look *look, tj_error *err);
tj_status cli_look_count(cli_look *look, tj_error *err);

/** Return the config that is the fastest by the model. */
size_t cli_fastest(const cli_look *look);

/** "P (512 x 700) = M (512 x 300) . N (300 x 700), f32": its extents, type and batch. */
void cli_print_formula(FILE *out, const tj_problem *known);

/** Name a config: "tiled 16x16x16 dynamic", "simt 64x128x16". */
enum { CLI_NAME_BYTES = 64 };
void cli_name_case(const cli_case *one, char out[CLI_NAME_BYTES]);

/** Should a time term be shown? Not that of an unused arithmetic pipe. */
bool cli_shows_term(const cli_case *one, int32_t term);

/** Return the multiply-adds of its first kernel. */
int64_t cli_fma(const cli_case *one);

/** A column of a config's numbers. */
typedef struct cli_column {
    struct {
        const char *name;
        char text[CLI_NAME_BYTES];
    } row[24];
    int count;
} cli_column;
__attribute__((format(printf, 3, 4))) void cli_print_row(cli_column *column, const char *name, const char *format, ...);

/** Return the FLOP/s of a measured config. */
double cli_measured_rate(const cli_case *one);

/** Print the configs next to each other, and the roofline in letters, to stdout. */
void cli_print_compared(const cli_look *look);
void cli_print_plot(const cli_look *look);

/** Describe one config completely, as members of an object. */
void cli_answer_case(tj_json *object, const cli_case *one);

/** Describe the device's peaks and the origin of its facts, as members of an object. */
void cli_answer_machine(tj_json *answer, const cli_look *look);

#endif
