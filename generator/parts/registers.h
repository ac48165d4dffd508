/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registers: how many ptxas will give a thread, guessed before it is asked. How many blocks a multiprocessor holds hangs on that, and
 * jumps where the guess is off by one.
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
 * States a guess of `wanted`, give or take so many percent, in counts->registers, registers_least and registers_most. Launch bounds
 * that promise room for `blocks` blocks of `threads` threads hold ptxas below a limit, which is returned; what is missing there of
 * those `needed` is spilled.
 */
int32_t tj_guess_registers(tj_counts *counts, int32_t wanted, int32_t percent, int32_t needed, int32_t blocks, int32_t threads);

/** What ptxas may give a thread where launch bounds promise room for `blocks` blocks of `threads` threads. */
int32_t tj_registers_left(int32_t blocks, int32_t threads);

/**
 * Blocks of warpgroups, one of which brings tiles while the others multiply (setmaxnreg): do registers move from the one to the others?
 * One multiplier alone has all that a thread may have.
 */
bool tj_moves_registers(int32_t blocks, int32_t multipliers);

enum { TJ_BRINGER_REGISTERS = 40 }; /* what a thread that only starts copies is left with */

/** And how many a thread that multiplies has then, where one that brings tiles is left with so many. */
int32_t tj_multiplier_registers(int32_t blocks, int32_t multipliers, int32_t bringer_registers);

/** tj_family.relax of a form with TJ_BLOCKS: half as many blocks. */
bool tj_relax_blocks(tj_config *config);

/** Does that promise hold ptxas below what a thread may have anyway? If not, the code is the same without it. */
bool tj_limits_registers(int32_t blocks, int32_t threads);

#endif
