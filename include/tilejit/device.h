/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h: the facts of a CUDA device, as plain data.
 */
#ifndef TILEJIT_DEVICE_H
#define TILEJIT_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <tilejit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tj_context;

/** The driver's facts about a device. Start from TJ_DEVICE_FACTS_INIT. Sizes are in bytes, clocks in kHz. A fact that the driver does not know is 0. */
typedef struct tj_device_facts {
    size_t struct_size;
    char name[128];
    char uuid[40]; /**< lower-case hex with dashes */
    int32_t ordinal;
    int32_t cc_major, cc_minor; /**< compute capability: 9, 0 */
    int32_t sm_count;
    int32_t max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
    int32_t max_grid_x, max_grid_y, max_grid_z;
    int32_t registers_per_block, registers_per_sm;
    int64_t shared_per_block, shared_per_block_optin, shared_per_sm, reserved_shared_per_block;
    int64_t l2_bytes, memory_bytes;
    int32_t clock_khz, memory_clock_khz, memory_bus_bits;
    int32_t driver_version; /**< the newest CUDA that the driver supports, as 1000 * major + 10 * minor: 13000 */
} tj_device_facts;

#define TJ_DEVICE_FACTS_INIT TJ_SIZED(tj_device_facts)

/**
 * Count the devices that the driver offers. Loads the driver on first use.
 * NULL: context and count must not be NULL. Threads: any.
 * Errors: TJ_ERR_NO_DRIVER (the message lists the places tried, and the remedy); TJ_ERR_INVALID_ARGUMENT: the emulator has no
 * such device; TJ_ERR_DRIVER, TJ_ERR_DEVICE_LOST, TJ_ERR_FORKED.
 */
TJ_API TJ_MUST_CHECK tj_status tj_device_count(struct tj_context *context, int *count, tj_error *err);

/**
 * Get the facts of one device, without creating a CUDA context.
 * NULL: context and facts must not be NULL. Threads: any.
 * Errors: those of tj_device_count, and TJ_ERR_INVALID_ARGUMENT: no such ordinal (the message says how many there are).
 */
TJ_API TJ_MUST_CHECK tj_status tj_device_get(struct tj_context *context, int ordinal, tj_device_facts *facts, tj_error *err);

/**
 * Get the facts of the device on which a call would run now: the device of the current CUDA context, or else of the TileJIT
 * context.
 * NULL: context and facts must not be NULL. Threads: any. Errors: those of tj_device_get, TJ_ERR_DEVICE_LOST, TJ_ERR_FORKED.
 */
TJ_API TJ_MUST_CHECK tj_status tj_device_current(struct tj_context *context, tj_device_facts *facts, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
