/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipes: the table of the resources that take time, their peaks on a device, and the place of a program below these.
 */
#include <tilejit/analysis.h>

#include <string.h>

#include "architectures.h"
#include "error.h"
#include "estimate.h"
#include "sized.h"

/*
 * A new pipe is one row. Rates that differ between architectures are in their table instead; that of memory is in the device's
 * facts.
 */
static const tj_term terms[TJ_TERMS] = {
    [TJ_PIPE_F32] = {"arithmetic", "arithmetic", "FLOP", 0},
    [TJ_PIPE_F64] = {"arithmetic", "arithmetic", "FLOP", 0},
    [TJ_PIPE_F16] = {"arithmetic", "arithmetic", "FLOP", 0},
    [TJ_PIPE_TENSOR_F16] = {"tensor_f16", "tensor cores in f16", "FLOP", 0},
    [TJ_PIPE_TENSOR_BF16] = {"tensor_bf16", "tensor cores in bf16", "FLOP", 0},
    [TJ_PIPE_TENSOR_TF32] = {"tensor_tf32", "tensor cores in tf32", "FLOP", 0},
    [TJ_PIPE_TENSOR_F64] = {"tensor_f64", "tensor cores in f64", "FLOP", 0},
    [TJ_PIPE_TENSOR_S8] = {"tensor_s8", "tensor cores in s8", "FLOP", 0},
    [TJ_PIPE_TENSOR_FP8] = {"tensor_fp8", "tensor cores in fp8", "FLOP", 0},
    [TJ_PIPE_TENSOR_MXFP8] = {"tensor_mxfp8", "tensor cores in mxfp8", "FLOP", 0},
    [TJ_PIPE_TENSOR_FP4] = {"tensor_fp4", "tensor cores in fp4", "FLOP", 0},
    [TJ_PIPE_ISSUE] = {"issue", "issuing instructions", "instructions", TJ_SCHEDULERS},
    [TJ_PIPE_SHARED] = {"shared", "shared memory", "wavefronts", 1},
    [TJ_PIPE_L1] = {"l1", "L1", "wavefronts", 1},
    [TJ_PIPE_START] = {"start", "starting blocks", "cycles", 1},
    [TJ_PIPE_L2] = {"l2", "L2", "bytes", 40}, /* fitted to an H200 */
    [TJ_PIPE_MEMORY] = {"memory", "memory", "bytes", 0},
    [TJ_TERM_LATENCY] = {"latency", "latency", NULL, 0},
    [TJ_TERM_PACK] = {"pack", "packing operands", NULL, 0},
    [TJ_TERM_REDUCE] = {"reduce", "adding splits up, or quantising P", NULL, 0},
    [TJ_TERM_LAUNCH] = {"launch", "launch", NULL, 0},
};

const tj_term *tj_term_at(int32_t term)
{
    return term >= 0 && term < TJ_TERMS ? &terms[term] : NULL;
}

tj_status tj_peaks_of(const tj_device_facts *facts, double measured_bytes_per_s, tj_peaks *peaks, tj_error *err)
{
    const tj_architecture *architecture = tj_architecture_of(facts);

    *peaks = (tj_peaks)TJ_PEAKS_INIT;
    if (!architecture)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "compute capability %d.%d is below 7.5, the first whose units are known here",
                       facts->cc_major, facts->cc_minor);
    if (facts->sm_count < 1 || facts->clock_khz < 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the device facts lack multiprocessors (%d) or their clock (%d kHz)",
                       facts->sm_count, facts->clock_khz);
    if (!(measured_bytes_per_s > 0) && (facts->memory_clock_khz < 1 || facts->memory_bus_bits < 1))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the device facts lack the memory's clock (%d kHz) or bus (%d bits): measure the bandwidth",
                       facts->memory_clock_khz, facts->memory_bus_bits);
    peaks->clock_hz = 1e3 * facts->clock_khz;
    peaks->is_measured = measured_bytes_per_s > 0;
    peaks->is_by_data_sheet = !architecture->is_measured;
    for (int p = 0; p < TJ_PIPES; p++)
        peaks->per_s[p] =
            (p < TJ_PIPE_ISSUE ? 2.0 * architecture->fma[p] : terms[p].per_clock) * facts->sm_count * peaks->clock_hz;
    /* Two transfers per clock, eight bits per byte. */
    peaks->per_s[TJ_PIPE_MEMORY] =
        peaks->is_measured ? measured_bytes_per_s : 2e3 * facts->memory_clock_khz * facts->memory_bus_bits / 8;
    return TJ_OK;
}

tj_status tj_find_peaks(const tj_device_facts *facts, double measured_bytes_per_s, tj_peaks *peaks, tj_error *err)
{
    if (TJ_HAS_NULL(err, facts, peaks))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_peaks own;
    const tj_status status = tj_peaks_of(facts, measured_bytes_per_s, &own, err);

    return status == TJ_OK ? TJ_FILL(peaks, &own, TJ_PEAKS_INIT, err) : status;
}

tj_roof tj_roofline(const tj_peaks *peaks, tj_pipe pipe, double intensity)
{
    tj_peaks own;

    if (!peaks || pipe < 0 || pipe >= TJ_PIPE_ISSUE || TJ_READ(peaks, &own, TJ_PEAKS_INIT, NULL) != TJ_OK)
        return (tj_roof){0};
    tj_roof roof = {.peak = own.per_s[pipe], .bandwidth = own.per_s[TJ_PIPE_MEMORY], .intensity = intensity};
    const double slope = roof.bandwidth * intensity;

    roof.ridge = roof.peak / roof.bandwidth;
    roof.is_memory_bound = intensity < roof.ridge;
    roof.attainable = slope < roof.peak ? slope : roof.peak;
    roof.of_peak = roof.peak > 0 ? roof.attainable / roof.peak : 0;
    return roof;
}
