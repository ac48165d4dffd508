/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulator.h: the functions of the bundled emulator.
 *
 * A context whose option driver is "emulator", or "emulator:sm_80" (several devices: "emulator:sm_80,sm_90"), computes on the
 * CPU by executing the PTX of its kernels. The calls and the store are the same; in the store, images for the emulator have
 * keys of their own. The library never chooses the emulator by itself. <cuda_emulator.h> describes the functions that a GPU
 * does not have; this header gives access to them.
 *
 * The emulator is the library at $TILEJIT_EMULATOR, or else libcuda_emulator.so next to this library, in tilejit/ next to it,
 * or one folder up.
 */
#ifndef TILEJIT_EMULATOR_H
#define TILEJIT_EMULATOR_H

#include <cuda_emulator.h>

#include <tilejit/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The functions of <cuda_emulator.h>, which describes them. */
typedef struct tj_emulator {
    size_t struct_size; /**< the library's: read no field beyond it */
    int (*get_finding)(size_t index, cuEmuFinding *finding);
    size_t (*finding_count)(void);
    void (*clear)(void);
    int (*set_option)(cuEmuOption option, uint64_t value);
    uint64_t (*get_option)(cuEmuOption option);
    int (*get_launch)(cuEmuLaunch *launch);
    int (*get_line)(size_t index, uint32_t *ptx_line, uint32_t *cuda_line, char *text, size_t text_bytes,
                    cuEmuCounters *counters);
    int (*watch)(uint64_t address, uint64_t rows, uint64_t row_bytes, uint64_t pitch_bytes);
    int (*unwatch)(int watch);
    int (*get_progress)(uint64_t *done, uint64_t *blocks);
} tj_emulator;

/**
 * Get the emulator that a context runs on; *emulator is NULL if its driver is a real one. Opens the driver on first use.
 * Owned: by the library, for ever. NULL: only err may be NULL. Threads: any; options and counters belong to the process.
 * Errors: TJ_ERR_NO_DRIVER, TJ_ERR_INVALID_ARGUMENT (the emulator has no such device), TJ_ERR_FORKED.
 */
TJ_API TJ_MUST_CHECK tj_status tj_emulator_get(tj_context *context, const tj_emulator **emulator, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
