/* SPDX-License-Identifier: Apache-2.0 */
#include "registers.h"

#include "checked.h"

enum { THREAD_REGISTERS = 255, UNIT = 8, QUARTER = 128 }; /* QUARTER: one warp in each quarter of the multiprocessor */

/* The quarter with the most warps decides. */
int32_t tj_registers_left(int32_t blocks, int32_t threads)
{
    const int32_t all = (int32_t)tj_ceil_div((int64_t)blocks * threads, QUARTER) * QUARTER;

    return tj_least(TJ_SM_REGISTERS / all / UNIT * UNIT, THREAD_REGISTERS);
}

int32_t tj_guess_registers(tj_counts *counts, int32_t wanted, int32_t percent, int32_t needed, int32_t blocks, int32_t threads)
{
    const int32_t limit = tj_registers_left(blocks, threads), off = wanted * percent / 100;

    counts->registers = tj_least(wanted, limit);
    counts->registers_least = tj_least(wanted - off, limit);
    counts->registers_most = tj_least(wanted + off, limit);
    counts->spilled = needed > limit ? needed - limit : 0;
    return limit;
}

bool tj_relax_blocks(tj_config *config)
{
    int32_t *const blocks = &config->value[tj_family_param_index(config->family, "blocks")];

    if (*blocks <= 1)
        return false;
    *blocks /= 2;
    return true;
}

bool tj_limits_registers(int32_t blocks, int32_t threads)
{
    return tj_registers_left(blocks, threads) < THREAD_REGISTERS;
}

enum { WARPGROUP = 128, MOST_MULTIPLIER_REGISTERS = 240 };

bool tj_moves_registers(int32_t blocks, int32_t multipliers)
{
    return multipliers > 1 || blocks > 1;
}

int32_t tj_multiplier_registers(int32_t blocks, int32_t multipliers, int32_t bringer_registers)
{
    const int32_t each = tj_registers_left(blocks, WARPGROUP * (1 + multipliers));

    if (!tj_moves_registers(blocks, multipliers))
        return each;
    return tj_least((each * (multipliers + 1) - bringer_registers) / multipliers / 8 * 8, MOST_MULTIPLIER_REGISTERS);
}
