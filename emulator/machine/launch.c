/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "finding.h"
#include "option.h"
#include "progress.h"
#include "schedule.h"
#include "shadow.h"

enum { COUNT_ALL = 1, COUNT_NEXT = 2 }; /* values of CUEMU_COUNT; a larger value counts a later launch */

/* ---- the launch counted last ----------------------------------------------------------------------------------------- */

static struct {
    cuEmuLaunch launch;
    const emu_module *module;
    cuEmuCounters *line;
    uint32_t first, insts;
} counted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t following = PTHREAD_MUTEX_INITIALIZER; /* held by the launch that is checked for races */
static _Atomic(uint64_t) launches;

static void keep_counters(const emu_launch *launch)
{
    pthread_mutex_lock(&lock);
    free(counted.line);
    counted.line = launch->line;
    counted.module = launch->module;
    counted.insts = launch->module->insts;
    memset(&counted.launch, 0, sizeof counted.launch);
    counted.launch.number = launch->number;
    snprintf(counted.launch.kernel, sizeof counted.launch.kernel, "%.*s", (int)launch->function->name_length,
             launch->function->name);
    memcpy(counted.launch.grid, launch->grid, sizeof launch->grid);
    memcpy(counted.launch.block, launch->block, sizeof launch->block);
    counted.launch.shared_bytes = launch->function->static_shared + launch->dynamic_shared;
    counted.launch.instructions = launch->module->insts;
    for (uint32_t i = 0; i < launch->module->insts; i++)
        emu_counters_add(&counted.launch.total, &launch->line[i]);
    pthread_mutex_unlock(&lock);
}

int emu_counted_launch(cuEmuLaunch *launch)
{
    int is_there;

    pthread_mutex_lock(&lock);
    is_there = counted.launch.number != 0;
    if (is_there)
        *launch = counted.launch;
    pthread_mutex_unlock(&lock);
    return is_there;
}

int emu_counted_line(size_t index, uint32_t *ptx_line, uint32_t *cuda_line, char *text, size_t text_bytes,
                     cuEmuCounters *counters)
{
    int is_there;

    pthread_mutex_lock(&lock);
    is_there = counted.line && index < counted.insts;
    if (is_there) {
        const emu_inst *inst = counted.module ? &counted.module->inst[index] : NULL;
        *ptx_line = inst ? inst->line : 0;
        *cuda_line = inst ? inst->cuda_line : 0;
        if (text_bytes)
            snprintf(text, text_bytes, "%.*s", inst ? (int)inst->text_length : 0, inst ? inst->text : "");
        *counters = counted.line[index];
    }
    pthread_mutex_unlock(&lock);
    return is_there;
}

void emu_forget_launches(const emu_module *module)
{
    emu_findings_forget(module);
    pthread_mutex_lock(&lock);
    if (counted.module == module)
        counted.module = NULL;
    pthread_mutex_unlock(&lock);
}

/* ---- launching ------------------------------------------------------------------------------------------------------- */

/* Set the ranges of a block's shared arrays: those of its kernel. */
static bool set_ranges(emu_launch *launch)
{
    const emu_module *m = launch->module;
    const emu_function *f = launch->function;
    emu_shared_range *range = calloc((size_t)f->shared_arrays + 1, sizeof *range);

    if (!range)
        return false;
    launch->range = range;
    for (uint32_t i = 0; i < f->shared_arrays; i++) {
        const emu_symbol *s = &m->symbol[f->shared[i]];
        range[launch->ranges++] = (emu_shared_range){(uint32_t)s->address, (uint32_t)(s->address + s->bytes), s};
    }
    if (launch->dynamic_shared)
        range[launch->ranges++] = (emu_shared_range){m->shared_bytes, m->shared_bytes + launch->dynamic_shared, NULL};
    launch->shared_bytes = m->shared_bytes + launch->dynamic_shared + EMU_RED_ZONE;
    return true;
}

static uint32_t choose_workers(const emu_launch *launch)
{
    const uint64_t asked = emu_option(CUEMU_THREADS);
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t workers = asked ? asked : processors > 0 ? (uint64_t)processors : 1;

    /* Race checks and atomic sums of floats need blocks in order. */
    if (launch->checks & CUEMU_CHECK_RACES || launch->function->orders_floats || launch->is_held)
        return 1;
    workers = workers > launch->clusters ? launch->clusters : workers;
    return (uint32_t)(workers > 256 ? 256 : workers);
}

/* The race state of global memory serves one launch at a time, even if threads launch into streams of their own. */
static void run(emu_launch *launch)
{
    const bool is_followed = launch->checks & CUEMU_CHECK_RACES;

    if (is_followed)
        pthread_mutex_lock(&following);
    emu_memory_hold();
    emu_progress_begin(launch->blocks);
    emu_run(launch);
    emu_progress_end();
    emu_memory_release();
    if (is_followed)
        pthread_mutex_unlock(&following);
}

cuEmuKind emu_launch_kernel(const emu_device *device, const emu_module *module, const emu_function *function,
                            const emu_shape *shape, const uint8_t *parameters, uint64_t owner)
{
    const uint32_t *block = shape->block, *unit = shape->cluster[0] ? shape->cluster : function->cluster;
    const uint32_t of_cluster[3] = {function->counts_clusters && unit[0] ? unit[0] : 1,
                                    function->counts_clusters && unit[0] ? unit[1] : 1,
                                    function->counts_clusters && unit[0] ? unit[2] : 1};
    const uint32_t grid[3] = {shape->grid[0] * of_cluster[0], shape->grid[1] * of_cluster[1], shape->grid[2] * of_cluster[2]};
    const size_t before = emu_finding_count();
    const uint64_t counting = emu_option(CUEMU_COUNT);
    emu_launch launch = {
        .module = module,
        .function = function,
        .device = device,
        .threads = block[0] * block[1] * block[2],
        .blocks = (uint64_t)grid[0] * grid[1] * grid[2],
        .parameters = parameters,
        .cluster = {1, 1, 1},
        .has_clusters = unit[0] != 0,
        .is_held = shape->is_cooperative,
        .starts_early = shape->starts_early,
        .dynamic_shared = shape->dynamic_shared,
        .checks = (uint32_t)emu_option(CUEMU_CHECKS),
        .counts = counting == COUNT_ALL || counting == COUNT_NEXT,
        .seed = emu_option(CUEMU_SEED),
        .budget = emu_option(CUEMU_BUDGET),
        .patience = emu_option(CUEMU_PATIENCE),
        .number = ++launches,
        .owner = owner,
    };
    cuEmuFinding found;

    memcpy(launch.grid, grid, sizeof launch.grid);
    memcpy(launch.block, block, sizeof launch.block);
    if (launch.has_clusters)
        memcpy(launch.cluster, unit, sizeof launch.cluster);
    launch.clusters = launch.blocks / ((uint64_t)launch.cluster[0] * launch.cluster[1] * launch.cluster[2]);
    launch.warps = (launch.threads + 31) / 32;
    if (!set_ranges(&launch) || (launch.counts && !(launch.line = calloc(module->insts, sizeof *launch.line)))) {
        free(launch.range);
        return CUEMU_ILLEGAL;
    }
    if (launch.checks & CUEMU_CHECK_RACES && launch.blocks <= 1 << 24)
        launch.order = calloc(launch.blocks, sizeof *launch.order); /* NULL: fences order nothing */
    launch.workers = choose_workers(&launch);
    run(&launch);
    free(launch.range);
    free(launch.order);
    if (launch.counts)
        keep_counters(&launch);
    if (counting >= COUNT_NEXT)
        emu_set_option(CUEMU_COUNT, counting == COUNT_NEXT ? 0 : counting - 1);
    if (launch.failed)
        return (cuEmuKind)launch.failed;
    for (size_t i = before; emu_finding_get(i, &found); i++)
        if (!emu_is_warning(found.kind))
            return found.kind;
    return CUEMU_NONE;
}
