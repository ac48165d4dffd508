/* SPDX-License-Identifier: Apache-2.0 */
#include "patience.h"

#include <time.h>

#include "cluster.h"
#include "finding.h"

enum { LOOK = 1 << 16 }; /* instructions between two checks */

void emu_patience_begin(emu_patience *p)
{
    p->steps = p->executed = 0;
    p->next_look = LOOK;
    p->is_watched = false;
}

static uint64_t cpu_time(void)
{
    struct timespec t = {0, 0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * Does a warp run without end? A long kernel moves on to other data, or has many blocks that each end; a block that does
 * neither for long counts as endless. CPU time gives the same answer on a busy host. Short blocks are not watched.
 */
void emu_check_endless(emu_warp *warp, uint64_t executed)
{
    const emu_launch *launch = warp->block->launch;
    emu_patience *p = &warp->block->patience;
    uint64_t *since = &warp->block->cluster->leader->since; /* a block that waits for others makes progress when they do */
    const emu_inst *inst = &launch->module->inst[warp->split[0].pc];
    const int lane = __builtin_ctz(warp->split[0].mask);
    uint64_t now;

    p->executed += executed;
    if (p->executed > launch->budget)
        emu_find(warp, inst, CUEMU_ENDLESS, lane, 0,
                 "more than %llu warp instructions in one block, probably in a loop without an end; CUDA_EMULATOR_BUDGET=N "
                 "allows N",
                 (unsigned long long)launch->budget);
    if (p->executed < p->next_look || !launch->patience)
        return;
    now = cpu_time();
    p->next_look = p->executed + LOOK;
    if (!p->is_watched) {
        memset(p->line, 0, sizeof p->line);
        p->lines = 0;
    }
    if (!p->is_watched || p->steps != p->seen) {
        p->is_watched = true;
        p->seen = p->steps;
        *since = now;
    } else if (now - *since > launch->patience * 1000000000) {
        emu_find(warp, inst, CUEMU_ENDLESS, lane, 0,
                 "no thread of the block has ended or come to new data for %llu s, probably in a loop without an end; "
                 "CUDA_EMULATOR_PATIENCE=N waits N seconds, 0 for ever",
                 (unsigned long long)launch->patience);
    }
}
