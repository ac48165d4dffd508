/* SPDX-License-Identifier: Apache-2.0 */
/*
 * architectures: the published facts of each compute capability, in one table. A new architecture is one row.
 */
#ifndef TJ_ANALYSIS_ARCHITECTURES_H
#define TJ_ANALYSIS_ARCHITECTURES_H

#include <stdbool.h>

#include <tilejit/analysis.h>
#include <tilejit/source.h>

enum { TJ_SCHEDULERS = 4 }; /* of every multiprocessor, each with a quarter of the warps and registers */

/** Products of 8-bit floats become products of halves by the compiler, or, for sums of all bits, by the source. */
typedef enum tj_halves { TJ_HALVES_NEVER, TJ_HALVES_FOR_SUMS, TJ_HALVES_ALWAYS } tj_halves;

typedef struct tj_architecture {
    int32_t capability; /* 90 for 9.0 */
    /* of a multiprocessor */
    int32_t threads, blocks;
    int64_t shared_kib, kept_kib; /* kept: by the system, for each block */
    int32_t shared_unit;          /* allocation unit of shared memory, in bytes */
    int32_t fma[TJ_PIPE_ISSUE];   /* multiply-adds per clock of each arithmetic pipe; 0: none, or not published */
    double mma_sync;              /* share of the tensor cores' multiply-adds, except those of f64, that mma.sync reaches */
    tj_halves halves;             /* does mma.sync multiply 8-bit floats as halves, at their rate? */
    uint32_t features;            /* tj_feature bits, which newer capabilities have too */
    uint32_t own;                 /* for code of the "a" or "f" target, and for those of newer capabilities */
    uint32_t alone;               /* for code of this "a" target only */
    struct {                      /* with this capability */
        const char *name;
        int32_t sm_count, clock_mhz, memory_clock_mhz, bus_bits;
        int64_t l2_mib, memory_bytes;
    } product;
    bool is_measured; /* kernels were timed on such a device; else its rates are those of data sheets */
} tj_architecture;

/** Return a capability by index, from the oldest to the newest; NULL: past the end. */
const tj_architecture *tj_architecture_at(size_t index);

/** Is the device of an architecture newer than all on which kernels were timed? */
bool tj_device_is_unknown(const tj_device_facts *facts);

/** Return the newest capability that is not newer than the device. NULL: the device is older than all. */
const tj_architecture *tj_architecture_of(const tj_device_facts *facts);

#endif
