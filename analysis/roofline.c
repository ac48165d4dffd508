/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roofline: what a device can do at most, and where a program stands under it.
 */
#include <tilejit/analysis.h>

#include <string.h>

#include "error.h"

/*
 * Multiply-add units of a multiprocessor by compute capability: results per clock of the CUDA C++ programming guide's table of
 * arithmetic throughput. Newest first: a device takes the first row that is not newer than itself.
 */
static const struct {
    int32_t capability, f32, f64, f16;
} units[] = {
    {120, 128, 2, 128}, {110, 128, 2, 256}, {103, 128, 2, 256}, {100, 128, 64, 256}, {90, 128, 64, 256},
    {89, 128, 2, 128},  {86, 128, 2, 256},  {80, 64, 32, 256},  {75, 64, 2, 128},
};

tj_status tj_find_peaks(const tj_device_facts *facts, tj_type sum, double measured_bytes_per_s, tj_peaks *peaks, tj_error *err)
{
    if (!facts)
        return tj_fail_null(err, __func__, "facts");
    if (!peaks)
        return tj_fail_null(err, __func__, "peaks");
    const int32_t capability = facts->cc_major * 10 + facts->cc_minor;
    size_t row = 0;

    memset(peaks, 0, sizeof *peaks);
    while (row < sizeof units / sizeof units[0] && units[row].capability > capability)
        row++;
    if (row == sizeof units / sizeof units[0])
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "compute capability %d.%d is below 7.5, the first whose units are known here",
                       facts->cc_major, facts->cc_minor);
    if (sum != TJ_F32 && sum != TJ_F64 && sum != TJ_F16)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "no peak is known for sums in %s: use f32, f64 or f16", tj_type_name(sum));
    if (facts->sm_count < 1 || facts->clock_khz < 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the device facts lack multiprocessors (%d) or their clock (%d kHz)",
                       facts->sm_count, facts->clock_khz);
    if (!(measured_bytes_per_s > 0) && (facts->memory_clock_khz < 1 || facts->memory_bus_bits < 1))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the device facts lack the memory's clock (%d kHz) or bus (%d bits): measure the bandwidth",
                       facts->memory_clock_khz, facts->memory_bus_bits);
    peaks->units_per_sm = sum == TJ_F64 ? units[row].f64 : sum == TJ_F16 ? units[row].f16 : units[row].f32;
    peaks->clock_hz = 1e3 * facts->clock_khz;
    peaks->flop_per_s = 2.0 * peaks->units_per_sm * facts->sm_count * peaks->clock_hz;
    peaks->is_measured = measured_bytes_per_s > 0;
    /* Two transfers a clock, eight bits a byte. */
    peaks->bytes_per_s = peaks->is_measured ? measured_bytes_per_s : 2e3 * facts->memory_clock_khz * facts->memory_bus_bits / 8;
    peaks->ridge = peaks->flop_per_s / peaks->bytes_per_s;
    return TJ_OK;
}

tj_roof tj_roofline(const tj_peaks *peaks, double intensity)
{
    if (!peaks)
        return (tj_roof){0};
    const double slope = peaks->bytes_per_s * intensity;
    tj_roof roof = {.intensity = intensity};

    roof.is_memory_bound = intensity < peaks->ridge;
    roof.attainable = slope < peaks->flop_per_s ? slope : peaks->flop_per_s;
    roof.of_peak = peaks->flop_per_s > 0 ? roof.attainable / peaks->flop_per_s : 0;
    return roof;
}
