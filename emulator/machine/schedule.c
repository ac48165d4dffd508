/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule: distribute clusters among host threads, each of which runs one after the other. A cooperative launch runs all
 * clusters at once, on one thread. The warps of their blocks take turns; each runs until it waits.
 */
#include "schedule.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "barrier.h"
#include "arrival.h"
#include "cluster.h"
#include "counters.h"
#include "finding.h"
#include "mbarrier.h"
#include "progress.h"
#include "step.h"
#include "warpgroup.h"

enum { QUANTUM = 1 << 16, QUANTUM_OF_MANY = 1 << 12 }; /* per turn: usually; if blocks may wait for each other */
enum { MOST_IDLE = 256 };

/* The clusters that one host thread runs at once: one, or all of a cooperative launch. */
typedef struct group {
    emu_launch *launch;
    emu_cluster *cluster;
    uint64_t clusters;
    uint64_t quantum;
    uint64_t idle; /* rounds without progress except by lanes that were told to give up */
} group;

static emu_block *block_at(const group *all, uint64_t n)
{
    return &all->cluster[n / all->cluster->blocks].block[n % all->cluster->blocks];
}

static bool is_done(const emu_block *block)
{
    for (uint32_t w = 0; w < block->launch->warps; w++)
        if (block->warp[w].splits)
            return false;
    return true;
}

static bool is_waiting(const emu_block *block)
{
    for (uint32_t w = 0; w < block->launch->warps; w++)
        for (uint32_t i = 0; i < block->warp[w].splits; i++)
            if (block->warp[w].split[i].state == R_RUN)
                return false;
    return true;
}

/* Describe a wait that the warp's position does not show; NULL: none. */
static const char *describe_wait(const emu_warp *warp, char *text, size_t bytes)
{
    if (warp->split[0].state == R_WARPGROUP)
        return emu_describe_wait(warp, text, bytes);
    return warp->waits_for ? emu_mbarrier_describe(warp->waits_for, text, bytes) : NULL;
}

/*
 * Report where the warps of all blocks stand, as a finding of the first warp. Warps that wait for their warpgroup come first,
 * as others wait for them.
 */
static void report_deadlock(const group *all)
{
    const emu_inst *insts = all->launch->module->inst;
    const uint64_t blocks = all->clusters * all->cluster->blocks;
    const emu_warp *first = NULL;
    char text[400] = "", what[120];
    size_t n = 0;

    for (uint64_t b = 0; b < 2 * blocks; b++)
        for (uint32_t w = 0; w < all->launch->warps && n < sizeof text - 180; w++) {
            const emu_warp *warp = &block_at(all, b < blocks ? b : b - blocks)->warp[w];
            if (!warp->splits || (warp->split[0].state == R_WARPGROUP) != (b < blocks))
                continue;
            n += (size_t)snprintf(text + n, sizeof text - n, first ? "," : "");
            first = first ? first : warp;
            if (warp->block != first->block)
                n += (size_t)snprintf(text + n, sizeof text - n, " block (%u, %u, %u)", warp->block->index[0],
                                      warp->block->index[1], warp->block->index[2]);
            n += (size_t)snprintf(text + n, sizeof text - n, " warp %u at line %u", w, insts[warp->split[0].pc].line);
            if (describe_wait(warp, what, sizeof what))
                n += (size_t)snprintf(text + n, sizeof text - n, " (%s)", what);
        }
    if (first)
        emu_find(first, &insts[first->split[0].pc], CUEMU_DEADLOCK, __builtin_ctz(first->split[0].mask), 0,
                 "no warp can go on:%s", text);
}

/* Give each warp of a block its turn; false: the launch has failed. */
static bool take_turns(emu_block *block, uint64_t quantum)
{
    emu_launch *launch = block->launch;
    const uint32_t start = launch->seed ? (uint32_t)(emu_random(block) % launch->warps) : 0;

    for (uint32_t n = 0; n < launch->warps; n++) {
        emu_warp *warp = &block->warp[(start + n) % launch->warps];
        const uint64_t before = warp->executed;
        if (warp->splits == 0)
            continue;
        if (!emu_run_warp(warp, launch->seed ? 1 + emu_random(block) % 500 : quantum))
            return false;
        if (warp->executed > before)
            warp->barrier_threads = UINT32_MAX; /* a warp that waits has arrived there in this turn */
        if (warp->splits)
            emu_check_endless(warp, warp->executed - before);
        if (emu_has_failed(warp))
            return false;
    }
    return true;
}

/* Has anything happened that lets waiting lanes try again? */
static bool has_news(const emu_block *block)
{
    for (uint32_t w = 0; w < block->launch->warps; w++)
        if (block->warp[w].splits && block->warp[w].events != block->cluster->events)
            return true;
    return false;
}

/* Complete one pending arrival. false: there is none. */
static bool land_first(const group *all)
{
    for (uint64_t i = 0; i < all->clusters; i++)
        if (emu_land_first(&all->cluster[i]))
            return true;
    return false;
}

/* Answer "not passed" to lanes that test a barrier and could do something else. false: there are none. */
static bool give_up(const group *all)
{
    bool is_any = false;

    for (uint64_t b = 0; b < all->clusters * all->cluster->blocks; b++)
        for (uint32_t w = 0; w < all->launch->warps; w++) {
            emu_warp *warp = &block_at(all, b)->warp[w];
            for (uint32_t i = 0; i < warp->splits; i++)
                if (warp->split[i].state == R_WAIT && warp->waits_for) {
                    warp->gives_up |= warp->split[i].mask;
                    warp->split[i].state = R_RUN;
                    is_any = true;
                }
        }
    return is_any;
}

/* Make progress when every warp waits; false: nothing helps. */
static bool go_on(group *all)
{
    if (land_first(all)) {
        all->idle = 0;
        return true;
    }
    return all->idle++ < MOST_IDLE && give_up(all);
}

/* Run one turn of all blocks; false: they are done, or the launch has failed. */
static bool run_round(group *all)
{
    const uint64_t blocks = all->clusters * all->cluster->blocks;
    const uint64_t start = all->launch->seed ? emu_random(&all->cluster->block[0]) % blocks : 0;
    bool are_done = true, moves = false;

    for (uint64_t i = 0; i < all->clusters; i++)
        emu_land_due(&all->cluster[i]);
    for (uint64_t n = 0; n < blocks; n++) {
        emu_block *block = block_at(all, (start + n) % blocks);
        if (is_done(block))
            continue;
        if (!take_turns(block, all->quantum))
            return false;
        moves |= emu_pass_barriers(block) || is_done(block) || !is_waiting(block);
        if (atomic_load(&all->launch->failed))
            return false;
        are_done &= is_done(block);
    }
    for (uint64_t n = 0; n < blocks && !moves; n++)
        moves = has_news(block_at(all, n));
    all->idle = moves ? 0 : all->idle;
    if (are_done || moves || go_on(all))
        return !are_done;
    report_deadlock(all);
    return false;
}

static pthread_mutex_t merging = PTHREAD_MUTEX_INITIALIZER;

/* Run the next clusters from `first` on; false: there are no more. */
static bool run_group(group *all, uint64_t first)
{
    if (first >= all->launch->clusters)
        return false;
    for (uint64_t i = 0; i < all->clusters; i++) {
        emu_cluster_start(&all->cluster[i], first + i);
        all->cluster[i].leader = all->cluster;
    }
    while (run_round(all))
        continue;
    for (uint64_t i = 0; i < all->clusters * all->cluster->blocks; i++)
        emu_progress_step();
    return true;
}

static void merge_counters(const group *all)
{
    emu_launch *launch = all->launch;

    pthread_mutex_lock(&merging);
    for (uint64_t b = 0; b < all->clusters * all->cluster->blocks; b++)
        for (uint32_t i = 0; block_at(all, b)->line && i < launch->module->insts; i++)
            emu_counters_add(&launch->line[i], &block_at(all, b)->line[i]);
    pthread_mutex_unlock(&merging);
}

static void *work(void *argument)
{
    emu_launch *launch = argument;
    const uint64_t clusters = launch->is_held ? launch->clusters : 1;
    group all = {.launch = launch, .cluster = calloc(clusters, sizeof *all.cluster)};

    all.quantum = launch->is_held || launch->blocks > launch->clusters ? QUANTUM_OF_MANY : QUANTUM;
    if (launch->budget < all.quantum)
        all.quantum = launch->budget + 1;
    while (all.cluster && all.clusters < clusters && emu_cluster_make(&all.cluster[all.clusters], launch))
        all.clusters++;
    if (all.clusters < clusters) {
        emu_find(NULL, NULL, CUEMU_ILLEGAL, 0, 0, "out of memory for the blocks of %.*s", (int)launch->function->name_length,
                 launch->function->name);
        atomic_store(&launch->failed, CUEMU_ILLEGAL);
    }
    while (!atomic_load(&launch->failed) && run_group(&all, atomic_fetch_add(&launch->next_cluster, clusters)))
        continue;
    if (launch->counts && all.clusters == clusters)
        merge_counters(&all);
    for (uint64_t i = 0; all.cluster && i < clusters; i++)
        emu_cluster_free(&all.cluster[i]);
    free(all.cluster);
    return NULL;
}

void emu_run(emu_launch *launch)
{
    pthread_t thread[256];
    uint32_t started = 0;

    while (started + 1 < launch->workers && started < 256 && pthread_create(&thread[started], NULL, work, launch) == 0)
        started++;
    work(launch); /* works even if no thread could be started */
    for (uint32_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}
