/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule: blocks are shared out among host threads and run one after the other on each. In a block, warps take turns; each runs
 * until it waits.
 */
#include "schedule.h"

#include <pthread.h>
#include <stdio.h>

#include "barrier.h"
#include "block.h"
#include "counters.h"
#include "finding.h"
#include "progress.h"
#include "step.h"

enum { QUANTUM = 1 << 16 }; /* instructions of a turn */

static void report_deadlock(emu_block *block)
{
    const emu_inst *insts = block->launch->module->inst;
    char text[200] = "";
    size_t n = 0;

    for (uint32_t w = 0; w < block->launch->warps && n < sizeof text - 40; w++)
        if (block->warp[w].splits)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s warp %u at line %u", n ? "," : "", w,
                                  insts[block->warp[w].split[0].pc].line);
    for (uint32_t w = 0; w < block->launch->warps; w++)
        if (block->warp[w].splits) {
            emu_find(&block->warp[w], &insts[block->warp[w].split[0].pc], CUEMU_DEADLOCK,
                     __builtin_ctz(block->warp[w].split[0].mask), 0, "no warp can go on:%s", text);
            return;
        }
}

static void run_block(emu_block *block, uint64_t number)
{
    emu_launch *launch = block->launch;
    const uint64_t quantum = launch->budget < QUANTUM ? launch->budget + 1 : QUANTUM;
    uint32_t done = 0;

    emu_block_start(block, number);
    while (done < launch->warps) {
        const uint32_t start = launch->seed ? (uint32_t)(emu_random(block) % launch->warps) : 0;
        bool all_wait = true;
        done = 0;
        for (uint32_t n = 0; n < launch->warps; n++) {
            emu_warp *warp = &block->warp[(start + n) % launch->warps];
            const uint64_t before = warp->executed;
            if (warp->splits == 0) {
                done++;
                continue;
            }
            if (!emu_run_warp(warp, launch->seed ? 1 + emu_random(block) % 500 : quantum))
                return;
            if (warp->executed > before)
                warp->barrier_threads = UINT32_MAX; /* whatever it waits at, it came there now */
            if (warp->splits)
                emu_check_endless(warp, warp->executed - before);
            if (emu_has_failed(warp))
                return;
            done += warp->splits == 0;
        }
        if (done == launch->warps)
            return;
        for (uint32_t w = 0; w < launch->warps; w++)
            for (uint32_t i = 0; i < block->warp[w].splits; i++)
                all_wait &= block->warp[w].split[i].state != R_RUN;
        if (all_wait && !emu_pass_barriers(block)) {
            if (!atomic_load(&launch->failed))
                report_deadlock(block);
            return;
        }
    }
}

static pthread_mutex_t merging = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument)
{
    emu_launch *launch = argument;
    emu_block block;

    if (!emu_block_make(&block, launch)) {
        emu_find(NULL, NULL, CUEMU_ILLEGAL, 0, 0, "out of memory for the blocks of %.*s", (int)launch->function->name_length,
                 launch->function->name);
        atomic_store(&launch->failed, CUEMU_ILLEGAL);
    }
    while (!atomic_load(&launch->failed)) {
        const uint64_t number = atomic_fetch_add(&launch->next_block, 1);
        if (number >= launch->blocks)
            break;
        run_block(&block, number);
        emu_progress_step();
    }
    if (block.line) {
        pthread_mutex_lock(&merging);
        for (uint32_t i = 0; i < launch->module->insts; i++)
            emu_counters_add(&launch->line[i], &block.line[i]);
        pthread_mutex_unlock(&merging);
    }
    emu_block_free(&block);
    return NULL;
}

void emu_run(emu_launch *launch)
{
    pthread_t thread[256];
    uint32_t started = 0;

    while (started + 1 < launch->workers && started < 256 && pthread_create(&thread[started], NULL, work, launch) == 0)
        started++;
    work(launch); /* also if no thread could be started */
    for (uint32_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}
