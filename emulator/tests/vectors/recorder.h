/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder: run short pieces of PTX through a libcuda and compare with what a GPU gave.
 *
 *     NAME record LIBCUDA GOLDEN     run all, write digests and samples of the outputs
 *     NAME check  LIBCUDA GOLDEN [N] run all, compare; exit 1 if an operation differs; the first N of 32 stretches of its sets
 *     NAME show   LIBCUDA PATTERN    run what matches, print all inputs and outputs, for diff
 *     NAME print  PATTERN            print the PTX of what matches
 *     NAME list                      print the names
 *
 * A thread loads some words, executes the operation together with the others of its block, and stores its results. Inputs come from a
 * seed, so the golden file has none.
 */
#ifndef RECORDER_H
#define RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "libcuda.h"

enum { MAX_INPUTS = 256 };

/** The contents of an input word. */
enum fill {
    F16_PAIR,
    BF16_PAIR,
    TF32,
    F32,
    F64,
    E4M3,
    E5M2,
    BYTES,
    WHOLE,
    RAW,
    NUMBERED, /* two f16, no two of a block alike */
    UNIT,     /* the unit matrix in f16, where a word's place says what it holds: op->unit */
};

struct operation {
    char name[80];
    unsigned sm;
    const char *version;      /* of PTX */
    const char *suffix;       /* of .target: "a", if this device alone has the operation */
    unsigned threads, sets;   /* of a block; blocks */
    unsigned shared_bytes;    /* of the array memory, */
    unsigned alignment;       /* whose address is a multiple of this */
    unsigned inputs, outputs; /* words of a thread */
    unsigned first_c;         /* from which on they are of C; 0: there is none */
    unsigned numbered;        /* inputs that are NUMBERED */
    enum fill fill[MAX_INPUTS];
    uint32_t (*unit)(unsigned thread, unsigned word); /* word: counted from the first that is UNIT */
    char *body;
};

/** One for a warp: 512 sets, 4096 bytes of shared memory. version is not copied. */
struct operation *new_operation(const char *name, unsigned sm, const char *version);

void add_inputs(struct operation *op, unsigned count, enum fill fill);

/** "{%i3, %i4}" */
void write_list(FILE *out, const char *prefix, unsigned first, unsigned count);

/**
 * Where the PTX of an operation goes, to be closed. It finds its inputs in %i0, %i1, ..., leaves its outputs in %o0, %o1, ..., and may
 * use %lane (the thread), %block, %word, %wide, %p, %tile (the address of memory), %slot (memory + 64 thread), and %from and %to,
 * where the thread's inputs and outputs lie.
 */
FILE *open_body(struct operation *op, size_t *length);

/** The command line. name: of the program and its source. */
int run_recorder(int argc, char **argv, const char *name);

#endif
