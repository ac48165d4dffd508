/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums: pending products of a warpgroup, from the wgmma that issues one to the wgmma.wait_group that waits for it.
 *
 * The emulator computes a product when it is issued, and checks the rules that a device needs to compute it later: until its
 * wait nobody may touch its accumulators, change its factors in registers, or write the shared memory that it reads; and a
 * wgmma.fence must stand between an access to one of its registers and it. Consecutive products of one shape may use the same
 * accumulators. A mov is not an access: ptxas gives both names one register, so the copy is pending too, and it moves constants
 * freely.
 *
 * Each warp keeps this state for itself, and waits for its own registers. Once one of the four warps has waited, shared memory
 * has been read for all of them; the others learn this like every other order (past.h). Kept only if async is checked.
 *
 * The results of a tcgen05.ld are pending in the same way, until the warp's next tcgen05.wait::ld.
 */
#ifndef EMU_SUMS_H
#define EMU_SUMS_H

#include "warp.h"

/** A pending product. */
typedef struct emu_issue {
    const emu_inst *inst;
    uint32_t serial; /* counted from 1 */
    uint32_t group;  /* groups committed before it */
    uint32_t time;   /* cluster time at which it read its factors */
} emu_issue;

typedef struct emu_sums {
    uint32_t fences, groups; /* fences passed, groups committed */
    uint32_t serial, done;   /* of the last product issued, and of the last one waited for */
    emu_issue *issue;        /* pending products, the oldest first */
    uint32_t issues, capacity;
    struct emu_sum_register {
        uint32_t touched;     /* fences passed at its last access */
        uint32_t serial;      /* of the last product that uses it */
        bool is_sum;          /* as an accumulator */
        const emu_inst *load; /* the tcgen05.ld that writes it last, or NULL */
        uint32_t load_serial;
    } * reg;
    uint32_t waits;           /* tcgen05.wait::ld passed */
    const emu_inst *reported; /* the last tcgen05.ld in a finding */
} emu_sums;

/** Allocate the state if the launch can have pending products; false: out of memory. */
bool emu_sums_make(emu_warp *warp);
void emu_sums_start(emu_warp *warp);
void emu_sums_free(emu_warp *warp);

/** Record an instruction, not a wgmma, that accesses accumulators or factors of one: inst->meets_sums. */
void emu_sums_touch(emu_warp *warp, const emu_inst *inst);

/** Record the results of a tcgen05.ld, which come no later than the next tcgen05.wait::ld. */
void emu_sums_load(emu_warp *warp, const emu_inst *inst);

/** Issue a product: check its registers. */
void emu_sums_issue(emu_warp *warp, const emu_inst *inst);

/** Commit the products since the last commit as a group. */
void emu_sums_commit(emu_warp *warp);

/** Wait until at most `groups` committed groups are pending. */
void emu_sums_wait(emu_warp *warp, uint32_t groups);

#endif
