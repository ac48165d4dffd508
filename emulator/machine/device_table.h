/* SPDX-License-Identifier: Apache-2.0 */
/* device: the emulated GPUs, with the limits of real ones. */
#ifndef EMU_DEVICE_TABLE_H
#define EMU_DEVICE_TABLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct emu_device {
    int capability;   /* 90 for 9.0 */
    const char *like; /* the product whose limits these are */
    int processors, threads_per_processor, blocks_per_processor, registers_per_processor;
    int shared_per_processor, shared_per_block_optin, reserved_shared;
    int l2_bytes, bus_bits, clock_khz, memory_clock_khz;
    uint64_t memory_bytes;
} emu_device;

/** Find the device of a capability; NULL: unknown. */
const emu_device *emu_device_find(int capability);

/** "sm_75, sm_80, ...": for messages. */
const char *emu_device_names(void);

/** Return a CUdevice_attribute; -1: unknown. */
int emu_device_attribute(const emu_device *device, int attribute);

#endif
