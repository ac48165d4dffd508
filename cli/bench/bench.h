/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench: shapes one after the other, each with all contenders in one interleaved run, and what is told of it.
 *
 * Every contender computes over the same operands: sets of M, N and P in device memory, together larger than three L2 caches,
 * that launches take in turn, so that each finds the L2 cold. The rounds go through the contenders in an order that rotates;
 * a time is the median over the rounds, of which what slows all contenders of a round down is taken out. bench/README.md says
 * more.
 */
#ifndef TJ_CLI_BENCH_H
#define TJ_CLI_BENCH_H

#include "clock.h"
#include "cublas.h"
#include "product.h"

typedef enum contender { ZERO_SHOT, TUNED, CUBLAS, CUBLASLT, CONTENDERS } contender;

/** What became of a contender. */
typedef struct outcome {
    bool has_run;                   /* false: why says the reason */
    double us;                      /* of one launch, the median; 0: not measured, as on the emulator */
    double low_us, high_us;         /* quartiles */
    size_t launches;                /* in a sample */
    bool is_wrong;                  /* the product did not pass its check, and why says where */
    bool is_broken;                 /* it should have run and failed */
    tj_check_report check;          /* against float64, of the rows that were looked at */
    double rms_error;               /* largest error by the root mean square of P */
    char how[TJ_CONFIG_TEXT_BYTES]; /* the config; "heuristic 5 of 8" */
    char why[TJ_ERROR_MESSAGE_BYTES];
} outcome;

enum { BENCH_NAME_BYTES = 128 };

typedef struct result {
    const cli_shape *shape;
    char name[BENCH_NAME_BYTES];
    double flop, bytes; /* of one launch; bytes: M, N, P and C once */
    double floor_us;    /* how long moving these bytes takes at least */
    bool has_config;    /* of the tuned contender */
    size_t sets;
    int rounds;
    outcome of[CONTENDERS];
} result;

/** What all shapes share. */
typedef struct bench {
    tj_context *context;
    bench_clock *clock;
    cublas *peers;        /* NULL: none */
    const char *no_peers; /* why there are none */
    tj_device_facts device;
    tj_peaks peaks;
    int rounds; /* 0: as many as fit a time */
    bool is_zero_shot_only;
} bench;

extern const char *const contender_name[CONTENDERS];

/**
 * The name of a canonical problem in the results: 512x300x700, 64x64x64-tf32, 64x64x64b9-bf16-f32-rcr: batch, groups, types,
 * compute and layouts where they are not plain.
 */
void bench_name(const tj_problem *problem, char name[BENCH_NAME_BYTES]);

/** The median; value is sorted. */
double bench_median(double *value, size_t count);

/**
 * Race one shape. config: of the tuned contender; NULL: it does not run, as there is no record. false: the race could not be
 * held at all, and err says why; a contender that fails is told in its outcome.
 */
bool race_shape(const bench *b, const cli_shape *what, const tj_config *config, result *out, tj_error *err);

/* ---- what is told ----------------------------------------------------------------------------------------------- */

/** The time of a / the time of b: how many times as fast as a is b? 0: one of them has no time. */
double report_ratio(const result *r, contender a, contender b);

/** TileJIT's faster contender; CONTENDERS if neither has a time. */
contender report_ours(const result *r);

/** What share of the bandwidth floor is reached; 0: not known. */
double report_floor_share(const result *r);

/** A ratio's geometric mean over the shapes of a category (NULL: all); 0 if none has it. count and least may be NULL. */
double report_geomean(const result *r, size_t n, const char *category, contender a, contender b, size_t *count,
                      const result **least);

/** Is result number i the first of its category? */
bool report_is_first(const result *r, size_t i);

/** To stdout: a row for each shape, as soon as it is known, and the means in the end. */
void report_head(void);
void report_row(const result *r);
void report_summary(const result *r, size_t n);

void report_csv_head(FILE *file);
void report_csv_row(FILE *file, const result *r);
void report_json(tj_json *object, const result *r);

/** A page that needs nothing else. title: the device and the versions. */
void report_html(FILE *out, const char *title, const tj_peaks *most, const result *r, size_t n);

#endif
