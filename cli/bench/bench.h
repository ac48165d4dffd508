/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench: race shapes one after the other, all contenders of a shape in one interleaved run, and report.
 *
 * Every contender uses the same operands: sets of M, N and P in device memory, together larger than three L2 caches. Launches
 * rotate over the sets, so that each finds the L2 cold. The rounds go through the contenders in a rotating order; a time is the
 * median over the rounds, corrected for slowdowns that hit all contenders of a round. bench/README.md says more.
 */
#ifndef TJ_CLI_BENCH_H
#define TJ_CLI_BENCH_H

#include "clock.h"
#include "cublas.h"
#include "product.h"

typedef enum contender { ZERO_SHOT, TUNED, CUBLAS, CUBLASLT, CONTENDERS } contender;

/** The outcome of one contender. */
typedef struct outcome {
    bool has_run;                   /* false: why holds the reason */
    double us;                      /* median per launch; 0: not measured, as on the emulator */
    double low_us, high_us;         /* quartiles */
    size_t launches;                /* per sample */
    bool is_wrong;                  /* the product failed its check, and why says where */
    bool is_broken;                 /* it should have run, and failed */
    tj_check_report check;          /* against float64, of the rows that were sampled */
    double rms_error;               /* largest error / root mean square of P */
    char how[TJ_CONFIG_TEXT_BYTES]; /* the config; "heuristic 5 of 8" */
    char why[TJ_ERROR_MESSAGE_BYTES];
} outcome;

enum { BENCH_NAME_BYTES = 128 };

typedef struct result {
    const cli_shape *shape;
    char name[BENCH_NAME_BYTES];
    double flop, bytes; /* per launch; bytes: M, N, P and C once */
    double floor_us;    /* lower bound: the time to move these bytes */
    bool has_config;    /* config is set: the tuned contender's */
    size_t sets;
    int rounds;
    outcome of[CONTENDERS];
} result;

/** State that all shapes share. */
typedef struct bench {
    tj_context *context;
    bench_clock *clock;
    cublas *peers;        /* NULL: none */
    const char *no_peers; /* why there are no peers */
    tj_device_facts device;
    tj_peaks peaks;
    int rounds; /* 0: fit a time budget */
    bool is_zero_shot_only;
} bench;

extern const char *const contender_name[CONTENDERS];

/**
 * Write the name of a canonical problem in the results: 512x300x700, 64x64x64-tf32, 64x64x64b9-bf16-f32-rcr: batch, groups,
 * types, compute and layouts, each if it is not the default.
 */
void bench_name(const tj_problem *problem, char name[BENCH_NAME_BYTES]);

/** Return the median; value is sorted. */
double bench_median(double *value, size_t count);

/**
 * Race one shape. config: the tuned contender's; NULL: that one does not run, as there is no record. false: the race could not
 * be held, and err says why; the failure of a contender is in its outcome.
 */
bool race_shape(const bench *b, const cli_shape *what, const tj_config *config, result *out, tj_error *err);

/* ---- reports ---------------------------------------------------------------------------------------------------- */

/** Return the time of a / the time of b, the speed of b relative to a. 0: one of them has no time. */
double report_ratio(const result *r, contender a, contender b);

/** Return TileJIT's faster contender; CONTENDERS if neither has a time. */
contender report_ours(const result *r);

/** Return the share of the bandwidth floor that is reached; 0: unknown. */
double report_floor_share(const result *r);

/**
 * Return the geometric mean of a ratio over the shapes of a category (NULL: all); 0 if none has it. count and least may be
 * NULL.
 */
double report_geomean(const result *r, size_t n, const char *category, contender a, contender b, size_t *count,
                      const result **least);

/** Is result number i the first of its category? */
bool report_is_first(const result *r, size_t i);

/** Print to stdout: a row for each shape as soon as it is known, and the means at the end. */
void report_head(void);
void report_row(const result *r);
void report_summary(const result *r, size_t n);

void report_csv_head(FILE *file);
void report_csv_row(FILE *file, const result *r);
void report_json(tj_json *object, const result *r);

/** Write a self-contained page. title: the device and the versions. */
void report_html(FILE *out, const char *title, const tj_peaks *most, const result *r, size_t n);

#endif
