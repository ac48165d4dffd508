/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race: one shape, all contenders in one interleaved run.
 *
 * Every contender computes over the same operands: sets of M, N and P in device memory, together larger than three L2 caches, that
 * launches take in turn, so that each finds the L2 cold. The rounds go through the contenders in an order that rotates; a time is the
 * median over the rounds, of which what slows all contenders of a round down is taken out.
 */
#ifndef BENCH_RACE_H
#define BENCH_RACE_H

#include "clock.h"
#include "cublas.h"
#include "shapes.h"

typedef enum contender { ZERO_SHOT, TUNED, CUBLAS, CUBLASLT, CONTENDERS } contender;

/** What became of a contender. */
typedef struct outcome {
    double us;                      /* of one launch, the median; 0: it did not run, and why says the reason */
    double low_us, high_us;         /* quartiles */
    size_t launches;                /* in a sample */
    int is_wrong;                   /* the product did not pass its check, and why says where */
    int is_broken;                  /* it should have run and failed */
    tj_check_report check;          /* against float64, of the rows that were looked at */
    double rms_error;               /* largest error by the root mean square of P */
    char how[TJ_CONFIG_TEXT_BYTES]; /* the config; "heuristic 5 of 8" */
    char why[TJ_ERROR_MESSAGE_BYTES];
} outcome;

typedef struct result {
    const shape *shape;
    double flop, bytes; /* of one launch; bytes: M, N and P once */
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
    int rounds; /* 0: as many as fit a time */
    int with_zero_shot, with_tuned;
} bench;

extern const char *const contender_name[CONTENDERS];

/**
 * Race one shape. config: of the tuned contender; NULL: why_no_config says why it does not run. 0: the race could not be held at all, and
 * err says why; a contender that fails is told in its outcome.
 */
int race_shape(const bench *b, const shape *what, const tj_config *config, const char *why_no_config, result *out,
               tj_error *err);

#endif
