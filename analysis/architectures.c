/* SPDX-License-Identifier: Apache-2.0 */
#include "architectures.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "sized.h"

/* A feature of one capability is in all later ones. */
enum {
    SINCE_75 = TJ_FEATURE_LDMATRIX | TJ_FEATURE_MMA_F16 | TJ_FEATURE_MMA_S8,
    SINCE_80 = SINCE_75 | TJ_FEATURE_CP_ASYNC | TJ_FEATURE_MMA_BF16 | TJ_FEATURE_MMA_TF32 | TJ_FEATURE_MMA_F64,
    SINCE_89 = SINCE_80 | TJ_FEATURE_FP8 | TJ_FEATURE_MMA_FP8,
    SINCE_90 = SINCE_89 | TJ_FEATURE_STMATRIX | TJ_FEATURE_DEPENDENTS | TJ_FEATURE_CLUSTER | TJ_FEATURE_TMA
};

/*
 * Oldest first. Limits are those of the CUDA programming guide's table of compute capabilities, multiply-adds those of its
 * table of arithmetic throughput; those of tensor cores follow from the product's data sheet: dense, with sums in f32 (f64,
 * s32). mma.sync reaches all of these up to sm_89 and on sm_120. On sm_90 it reaches 62 % in bf16, f16, tf32 and s8 (measured
 * on an H200), and wgmma the rest; in f64, which wgmma lacks, it reaches all. On later ones, whose tcgen05 is twice as fast,
 * mma.sync has not been measured; the table assumes the same rate as before. Of Thor and GB10 the sheets have FP4 alone: their
 * other rates stand to it as those of sm_100 and sm_120 do. Features are those that ptxas accepts. sm_89 adds
 * products of 8-bit floats with 13 bits (emulator/README.md), so they are products of halves where all bits are wanted.
 */
/* clang-format off */
static const tj_architecture architectures[] = {
    /*   threads     shared kept  f32  f64  f16  tensor f16  bf16  tf32  f64   s8   fp8 mxfp8    fp4  mma.sync, fp8 as halves */
    { 75, 1024, 16,  64, 0, 256, { 64,   2, 128,  512,    0,    0,    0, 1024,    0,    0,     0}, 1.00, TJ_HALVES_NEVER,
     SINCE_75, 0, 0, {"T4", 40, 1590, 5001, 256, 4, 15828320256}},
    { 80, 2048, 32, 164, 1, 128, { 64,  32, 256, 1024, 1024,  512,   64, 2048,    0,    0,     0}, 1.00, TJ_HALVES_NEVER,
     SINCE_80, 0, 0, {"A100 80GB", 108, 1410, 1593, 5120, 40, 84974239744}},
    { 86, 1536, 16, 100, 1, 128, {128,   2, 256,  512,  512,  256,    0, 1024,    0,    0,     0}, 1.00, TJ_HALVES_NEVER,
     SINCE_80, 0, 0, {"A10", 72, 1695, 6251, 384, 6, 23609475072}},
    { 89, 1536, 24, 100, 1, 128, {128,   2, 128,  512,  512,  256,    0, 1024, 1024,    0,     0}, 1.00, TJ_HALVES_FOR_SUMS,
     SINCE_89, 0, 0, {"L4", 58, 2040, 6251, 192, 48, 23580639232}},
    { 90, 2048, 32, 228, 1, 128, {128,  64, 256, 2048, 2048, 1024,  128, 4096, 4096,    0,     0}, 0.62, TJ_HALVES_ALWAYS,
     SINCE_90, TJ_FEATURE_SETMAXNREG, TJ_FEATURE_WGMMA, {"H200", 132, 1980, 3201, 6144, 60, 150109880320}, true},
    {100, 2048, 32, 228, 1, 128, {128,  64, 256, 4096, 4096, 2048,   64, 8192, 8192, 8192, 16384}, 0.31, TJ_HALVES_NEVER,
     SINCE_90, TJ_FEATURE_SETMAXNREG | TJ_FEATURE_TCGEN05, TJ_FEATURE_TCGEN05_S8, {"B200", 148, 1965, 3996, 8192, 126, 191514869760}},
    {103, 2048, 32, 228, 1, 128, {128,   2, 256, 4096, 4096, 2048,    2,    0, 8192, 8192, 24576}, 0.31, TJ_HALVES_NEVER,
     SINCE_90, TJ_FEATURE_SETMAXNREG | TJ_FEATURE_TCGEN05, 0, {"B300", 148, 1920, 3996, 8192, 126, 288803454976}},
    {110, 1536, 24, 228, 1, 128, {128,   2, 256, 4096, 4096, 2048,    0,    0, 8192, 8192, 16384}, 0.31, TJ_HALVES_NEVER,
     SINCE_90, TJ_FEATURE_SETMAXNREG | TJ_FEATURE_TCGEN05, TJ_FEATURE_TCGEN05_S8, {"Thor", 20, 1575, 4266, 256, 32, 131072000000}},
    {120, 1536, 24, 100, 1, 128, {128,   2, 128,  256,  256,  128,    0, 1024,  512, 1024,  2048}, 1.00, TJ_HALVES_NEVER,
     SINCE_90, TJ_FEATURE_SETMAXNREG | TJ_FEATURE_MMA_SCALED, 0, {"RTX 5090", 170, 2407, 14001, 512, 96, 34190458880}},
    {121, 1536, 24, 100, 1, 128, {128,   2, 128,  256,  256,  128,    0, 1024,  512, 1024,  2048}, 1.00, TJ_HALVES_NEVER,
     SINCE_90, TJ_FEATURE_SETMAXNREG | TJ_FEATURE_MMA_SCALED, 0, {"GB10", 48, 2418, 4266, 256, 24, 128446967808}},
};
/* clang-format on */

enum { KIB = 1024, ARCHITECTURES = sizeof architectures / sizeof architectures[0] };

const tj_architecture *tj_architecture_at(size_t index)
{
    return index < ARCHITECTURES ? &architectures[index] : NULL;
}

const tj_architecture *tj_architecture_of(const tj_device_facts *facts)
{
    const int64_t capability = INT64_C(10) * facts->cc_major + facts->cc_minor;
    const tj_architecture *newest = NULL;

    for (size_t i = 0; i < ARCHITECTURES && architectures[i].capability <= capability; i++)
        newest = &architectures[i];
    return newest;
}

bool tj_device_is_unknown(const tj_device_facts *facts)
{
    const tj_architecture *a = tj_architecture_of(facts);

    for (; a && a < architectures + ARCHITECTURES; a++)
        if (a->is_measured)
            return false;
    return a != NULL;
}

static tj_status refuse(const char *target, tj_error *err)
{
    char names[16 * ARCHITECTURES];
    size_t length = 0;

    for (size_t i = 0; i < ARCHITECTURES; i++)
        length += (size_t)snprintf(names + length, sizeof names - length, "%ssm_%d",
                                   i == 0                   ? ""
                                   : i == ARCHITECTURES - 1 ? " or "
                                                            : ", ",
                                   architectures[i].capability);
    return tj_fail(err, TJ_ERR_NOT_FOUND, "the facts of \"%.40s\" are not known: use %s", target, names);
}

tj_status tj_device_named(const char *target, tj_device_facts *facts, tj_error *err)
{
    if (TJ_HAS_NULL(err, target, facts))
        return TJ_ERR_INVALID_ARGUMENT;
    const tj_architecture *a = architectures;
    tj_device_facts own = TJ_DEVICE_FACTS_INIT;
    char name[16];

    for (; a < architectures + ARCHITECTURES; a++) {
        (void)snprintf(name, sizeof name, "sm_%d", a->capability);
        if (strcmp(name, target) == 0)
            break;
    }
    if (a == architectures + ARCHITECTURES)
        return refuse(target, err);
    snprintf(own.name, sizeof own.name, "%s", a->product.name);
    own.cc_major = a->capability / 10;
    own.cc_minor = a->capability % 10;
    own.sm_count = a->product.sm_count;
    own.max_threads_per_block = 1024;
    own.max_threads_per_sm = a->threads;
    own.max_blocks_per_sm = a->blocks;
    own.max_grid_x = INT32_MAX;
    own.max_grid_y = own.max_grid_z = 65535;
    own.registers_per_block = own.registers_per_sm = 65536;
    own.shared_per_block = 48 * KIB;
    own.shared_per_block_optin = (a->shared_kib - a->kept_kib) * KIB;
    own.shared_per_sm = a->shared_kib * KIB;
    own.reserved_shared_per_block = a->kept_kib * KIB;
    own.l2_bytes = a->product.l2_mib * KIB * KIB;
    own.memory_bytes = a->product.memory_bytes;
    own.clock_khz = 1000 * a->product.clock_mhz;
    own.memory_clock_khz = 1000 * a->product.memory_clock_mhz;
    own.memory_bus_bits = a->product.bus_bits;
    return TJ_FILL(facts, &own, TJ_DEVICE_FACTS_INIT, err);
}
