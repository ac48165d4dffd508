/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums: products of a warpgroup on their way, from the wgmma that issues one to the wgmma.wait_group that waits for it.
 *
 * The emulator computes a product when it is issued. What a device may do later is kept to by checks: until its wait nobody may touch
 * its sums, change its factors in registers, or write the shared memory that it reads; and a wgmma.fence must stand between an access
 * to one of its registers and it. Products of one shape may follow each other on the same sums. A mov is no access: ptxas gives both
 * names one register, so the copy is on its way too, and puts a constant in place where it likes.
 *
 * Each warp keeps this for itself, and waits for its own registers. Shared memory has been read for all four warps when one of them has
 * waited, which the others learn like all that comes before (past.h). This is kept only if async is checked.
 */
#ifndef EMU_SUMS_H
#define EMU_SUMS_H

#include "warp.h"

/** A product on its way. */
typedef struct emu_issue {
    const emu_inst *inst;
    uint32_t serial; /* counted from 1 */
    uint32_t group;  /* groups that had been committed before it */
    uint32_t time;   /* of the cluster, when it read its factors */
} emu_issue;

typedef struct emu_sums {
    uint32_t fences, groups; /* passed, and committed */
    uint32_t serial, done;   /* of the products that were issued, and waited for, last */
    emu_issue *issue;        /* those on their way, the oldest first */
    uint32_t issues, capacity;
    struct emu_sum_register {
        uint32_t touched; /* fences passed when it was last accessed */
        uint32_t serial;  /* of the last product that has it, */
        bool is_sum;      /* as one of its sums */
    } * reg;
} emu_sums;

/** For a launch in which something can be on its way; false: out of memory. */
bool emu_sums_make(emu_warp *warp);
void emu_sums_start(emu_warp *warp);
void emu_sums_free(emu_warp *warp);

/** An instruction that is no wgmma accesses registers that are sums or factors of one: inst->meets_sums. */
void emu_sums_touch(emu_warp *warp, const emu_inst *inst);

/** A product is issued: its registers are checked. */
void emu_sums_issue(emu_warp *warp, const emu_inst *inst);

/** Make one group of the products since the last. */
void emu_sums_commit(emu_warp *warp);

/** Wait until at most so many of the committed groups are on their way. */
void emu_sums_wait(emu_warp *warp, uint32_t groups);

#endif
