/* SPDX-License-Identifier: Apache-2.0 */
/*
 * architectures: what is published of each compute capability, in one table. A new architecture is one row.
 */
#ifndef TJ_ANALYSIS_ARCHITECTURES_H
#define TJ_ANALYSIS_ARCHITECTURES_H

#include <stdbool.h>

#include <tilejit/analysis.h>
#include <tilejit/source.h>

enum { TJ_SCHEDULERS = 4 }; /* of every multiprocessor: each has a quarter of its warps and registers */

typedef struct tj_architecture {
    int32_t capability; /* 90 for 9.0 */
    /* of a multiprocessor */
    int32_t threads, blocks;
    int64_t shared_kib, kept_kib; /* kept: of each block, by the system */
    int32_t shared_unit;          /* bytes: shared memory is handed out in pieces of this */
    int32_t fma[TJ_PIPE_ISSUE];   /* multiply-adds a clock, by the pipes of arithmetic; 0: none, or not published */
    double mma_sync;   /* the share of its tensor cores' multiply-adds, but for those of f64, that mma.sync reaches */
    bool halves;       /* mma.sync multiplies 8-bit floats as halves, so at the rate of these */
    uint32_t features; /* tj_feature bits, which newer capabilities have too */
    uint32_t own;      /* for code that has its "a" target; and so the "a" targets of newer ones */
    uint32_t alone;    /* for code that has its "a" target, and no other */
    struct {           /* that has it */
        const char *name;
        int32_t sm_count, clock_mhz, memory_clock_mhz, bus_bits;
        int64_t l2_mib, memory_bytes;
    } product;
} tj_architecture;

/** From the oldest to the newest; NULL: there are no more. */
const tj_architecture *tj_architecture_at(size_t index);

/** That of a device: the newest that is not newer than the device. NULL: the device is older than all. */
const tj_architecture *tj_architecture_of(const tj_device_facts *facts);

#endif
