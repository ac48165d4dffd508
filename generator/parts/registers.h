/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registers: predict how many registers ptxas gives a thread. Occupancy depends on this number, and an error of one register
 * can change it.
 */
#ifndef TJ_GENERATOR_REGISTERS_H
#define TJ_GENERATOR_REGISTERS_H

#include "family.h"

/* A parameter of every form that promises blocks to ptxas (__launch_bounds__). */
#define TJ_BLOCKS(most, standard, tried, role)                                                                            \
    {                                                                                                                     \
        "blocks", "blocks that an SM should hold at once: more of them, fewer registers a thread", 1, (most), (standard), \
            NULL, (tried), (role)                                                                                         \
    }

enum { TJ_SM_REGISTERS = 64 * 1024 }; /* of every multiprocessor that CUDA 13 compiles for */

/**
 * Set counts->registers to `wanted`, and registers_least and registers_most to `wanted` minus and plus `percent`. Launch bounds
 * of `blocks` blocks of `threads` threads limit ptxas: cap the three numbers, set counts->spilled to the part of `needed` above
 * the limit, and return the limit.
 */
int32_t tj_guess_registers(tj_counts *counts, int32_t wanted, int32_t percent, int32_t needed, int32_t blocks, int32_t threads);

/** Return the registers per thread that launch bounds of `blocks` blocks of `threads` threads allow. */
int32_t tj_registers_left(int32_t blocks, int32_t threads);

/**
 * Do registers move from the warpgroup that copies tiles to those that multiply (setmaxnreg)? A single multiplier has the most
 * that a thread may have anyway.
 */
bool tj_moves_registers(int32_t blocks, int32_t multipliers);

enum { TJ_BRINGER_REGISTERS = 40 }; /* left to a thread that only starts copies */

/** Return the registers of a thread that multiplies, if a thread that copies tiles keeps bringer_registers. */
int32_t tj_multiplier_registers(int32_t blocks, int32_t multipliers, int32_t bringer_registers);

/** tj_family.relax of a form with TJ_BLOCKS: halve the number of blocks. */
bool tj_relax_blocks(tj_config *config);

/** Do these launch bounds limit ptxas at all? If not, the code is the same without them. */
bool tj_limits_registers(int32_t blocks, int32_t threads);

#endif
