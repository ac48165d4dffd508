/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters: print the emulator's counters of a launch, for people and as JSON.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

static const struct {
    const char *name;
    size_t offset;
} counters[] = {{"instructions", offsetof(cuEmuCounters, instructions)},
                {"lane_instructions", offsetof(cuEmuCounters, lane_instructions)},
                {"flops", offsetof(cuEmuCounters, flops)},
                {"fma", offsetof(cuEmuCounters, fma)},
                {"mma_flops", offsetof(cuEmuCounters, mma_flops)},
                {"global_loads", offsetof(cuEmuCounters, global_loads)},
                {"global_stores", offsetof(cuEmuCounters, global_stores)},
                {"global_load_requests", offsetof(cuEmuCounters, global_load_requests)},
                {"global_store_requests", offsetof(cuEmuCounters, global_store_requests)},
                {"global_load_sectors", offsetof(cuEmuCounters, global_load_sectors)},
                {"global_store_sectors", offsetof(cuEmuCounters, global_store_sectors)},
                {"global_load_bytes", offsetof(cuEmuCounters, global_load_bytes)},
                {"global_store_bytes", offsetof(cuEmuCounters, global_store_bytes)},
                {"shared_loads", offsetof(cuEmuCounters, shared_loads)},
                {"shared_stores", offsetof(cuEmuCounters, shared_stores)},
                {"shared_load_requests", offsetof(cuEmuCounters, shared_load_requests)},
                {"shared_store_requests", offsetof(cuEmuCounters, shared_store_requests)},
                {"shared_load_wavefronts", offsetof(cuEmuCounters, shared_load_wavefronts)},
                {"shared_store_wavefronts", offsetof(cuEmuCounters, shared_store_wavefronts)},
                {"bank_conflicts", offsetof(cuEmuCounters, bank_conflicts)},
                {"local_requests", offsetof(cuEmuCounters, local_requests)},
                {"atomics", offsetof(cuEmuCounters, atomics)},
                {"barriers", offsetof(cuEmuCounters, barriers)},
                {"block_barriers", offsetof(cuEmuCounters, block_barriers)},
                {"divergences", offsetof(cuEmuCounters, divergences)},
                {"async_requests", offsetof(cuEmuCounters, async_requests)},
                {"async_bytes", offsetof(cuEmuCounters, async_bytes)},
                {"async_wavefronts", offsetof(cuEmuCounters, async_wavefronts)},
                {"async_conflicts", offsetof(cuEmuCounters, async_conflicts)}};

enum { COUNTERS = sizeof counters / sizeof counters[0], SECTOR_BYTES = 32 };
enum {
    LAST_KERNEL = 1,
    FIRST_KERNEL = 2
}; /* of the launches that follow: values of CUEMU_COUNT; 3 means the second, and so on */

static uint64_t value_of(const cuEmuCounters *all, size_t index)
{
    uint64_t value;

    memcpy(&value, (const char *)all + counters[index].offset, sizeof value);
    return value;
}

void cli_counters_add(cuEmuCounters *sum, const cuEmuCounters *one)
{
    for (size_t i = 0; i < COUNTERS; i++) {
        const uint64_t value = value_of(sum, i) + value_of(one, i);
        memcpy((char *)sum + counters[i].offset, &value, sizeof value);
    }
}

/* FLOP per byte requested from global memory: the textbook's arithmetic intensity. */
static double intensity(const cuEmuCounters *c)
{
    return cli_ratio((double)(c->flops + c->mma_flops), (double)(c->global_load_bytes + c->global_store_bytes));
}

/* Share of useful bytes in the sectors that were moved. */
static double sector_efficiency(const cuEmuCounters *c)
{
    return cli_ratio((double)(c->global_load_bytes + c->global_store_bytes),
                     SECTOR_BYTES * (double)(c->global_load_sectors + c->global_store_sectors));
}

void cli_set_counters(tj_json *object, const cuEmuCounters *c)
{
    for (size_t i = 0; i < COUNTERS; i++)
        cli_set_int(object, counters[i].name, (int64_t)value_of(c, i));
}

static void print_total(const char *what, const cuEmuCounters *c)
{
    cli_print(stdout, "%-10s %" PRIu64 " instructions of warps, %.1f of 32 lanes at work, %" PRIu64 " divergent branches\n",
              what, c->instructions, cli_ratio((double)c->lane_instructions, (double)c->instructions), c->divergences);
    cli_print(stdout, "  compute  %" PRIu64 " FLOP, %" PRIu64 " FMA", c->flops + c->mma_flops, c->fma);
    if (c->mma_flops)
        cli_print(stdout, ", %" PRIu64 " FLOP of it by MMA", c->mma_flops);
    cli_print(stdout, "; %.3g FLOP/B asked of global memory\n", intensity(c));
    cli_print(stdout,
              "  global   %" PRIu64 " loads in %" PRIu64 " requests and %" PRIu64 " sectors, %" PRIu64 " stores in %" PRIu64
              " requests and %" PRIu64 " sectors\n",
              c->global_loads, c->global_load_requests, c->global_load_sectors, c->global_stores, c->global_store_requests,
              c->global_store_sectors);
    cli_print(stdout, "           %" PRIu64 " bytes asked for, %.0f %% of a sector used%s\n",
              c->global_load_bytes + c->global_store_bytes, 100 * sector_efficiency(c),
              sector_efficiency(c) > 1 ? " (lanes share what they load)" : "");
    cli_print(stdout,
              "  shared   %" PRIu64 " loads in %" PRIu64 " wavefronts, %" PRIu64 " stores in %" PRIu64 " wavefronts, %" PRIu64
              " bank conflicts\n",
              c->shared_loads, c->shared_load_wavefronts, c->shared_stores, c->shared_store_wavefronts, c->bank_conflicts);
    if (c->async_requests)
        cli_print(stdout,
                  "           %" PRIu64 " bytes copied there asynchronously in %" PRIu64 " wavefronts, %" PRIu64
                  " bank conflicts\n",
                  c->async_bytes, c->async_wavefronts, c->async_conflicts);
    cli_print(stdout, "  barriers %" PRIu64 " of blocks, %" PRIu64 " arrivals of warps\n", c->block_barriers, c->barriers);
    if (c->atomics || c->local_requests)
        cli_print(stdout, "  others   %" PRIu64 " atomics, %" PRIu64 " requests to local memory\n", c->atomics,
                  c->local_requests);
}

/* Instructions of one line of the CUDA source, added up. */
typedef struct text_line {
    uint32_t number;
    cuEmuCounters sum;
} text_line;

static int by_number(const void *a, const void *b)
{
    const uint32_t x = ((const text_line *)a)->number, y = ((const text_line *)b)->number;

    return (x > y) - (x < y);
}

static text_line *find_line(text_line *line, size_t *count, uint32_t number)
{
    for (size_t i = 0; i < *count; i++)
        if (line[i].number == number)
            return &line[i];
    memset(&line[*count], 0, sizeof line[*count]);
    line[*count].number = number;
    return &line[(*count)++];
}

/* Return a line of the CUDA source, from 1, without its indentation. */
static const char *line_text(const char *text, uint32_t number, int *length)
{
    for (uint32_t i = 1; i < number && text; i++) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    *length = 0;
    if (!text || number == 0)
        return "";
    text += strspn(text, " ");
    *length = (int)strcspn(text, "\n");
    return text;
}

static tj_status tell_lines(const cli_call *call, const tj_emulator *emulator, size_t instructions, const char *source,
                            tj_json *list, tj_error *err)
{
    text_line *line = malloc((instructions + 1) * sizeof *line);
    size_t count = 0;

    if (!line)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %zu lines", instructions);
    for (size_t i = 0; i < instructions; i++) {
        uint32_t ptx_line = 0, cuda_line = 0;
        cuEmuCounters one;
        char text[160];
        tj_json *object;
        if (!emulator->get_line(i, &ptx_line, &cuda_line, text, sizeof text, &one) || one.instructions == 0)
            continue;
        cli_counters_add(&find_line(line, &count, cuda_line)->sum, &one);
        object = cli_append_object(list);
        cli_set_counters(object, &one);
        cli_set_int(object, "ptx_line", ptx_line);
        cli_set_int(object, "cuda_line", cuda_line);
        cli_set_text(object, "ptx", text);
    }
    qsort(line, count, sizeof *line, by_number);
    if (!call->is_json)
        cli_print(stdout, "line instructions         FLOP   gl. loads     sectors   sh. loads  wavefronts   conflicts\n");
    for (size_t i = 0; i < count && !call->is_json; i++) {
        const cuEmuCounters *c = &line[i].sum;
        int length;
        const char *words_of_line = line_text(source, line[i].number, &length);
        cli_print(stdout,
                  "%4" PRIu32 " %12" PRIu64 " %12" PRIu64 " %11" PRIu64 " %11" PRIu64 " %11" PRIu64 " %11" PRIu64 " %11" PRIu64
                  "  %.*s\n",
                  line[i].number, c->instructions, c->flops + c->mma_flops, c->global_loads,
                  c->global_load_sectors + c->global_store_sectors, c->shared_loads,
                  c->shared_load_wavefronts + c->shared_store_wavefronts, c->bank_conflicts, length < 80 ? length : 80,
                  words_of_line);
    }
    free(line);
    return TJ_OK;
}

static const tj_launch_form *form_of(const tj_plan *plan)
{
    return tj_source_launch(tj_plan_source(plan));
}

/* Take the launch counted last, and stop counting. */
static tj_status take_launch(const tj_emulator *emulator, cuEmuLaunch *launch, tj_error *err)
{
    (void)emulator->set_option(CUEMU_COUNT, 0);
    return emulator->get_launch(launch) ? TJ_OK : tj_fail(err, TJ_ERR_INTERNAL, "the emulator counted nothing");
}

/* A plan with one kernel is counted in the last launch of a batch that takes several. */
static uint64_t value_for(const tj_plan *plan, int32_t step)
{
    return form_of(plan)->steps > 1 ? (uint64_t)(FIRST_KERNEL + step) : LAST_KERNEL;
}

tj_status cli_count_kernel(tj_context *context, const tj_emulator *emulator, const tj_plan *plan, const tj_operands *operands,
                           int32_t step, cuEmuLaunch *launch, tj_error *err)
{
    tj_status status;

    (void)emulator->set_option(CUEMU_COUNT, value_for(plan, step));
    status = cli_launch(context, emulator, plan, operands, err);
    if (status == TJ_OK)
        return take_launch(emulator, launch, err);
    (void)emulator->set_option(CUEMU_COUNT, 0);
    return status;
}

tj_status cli_count_begin(const cli_call *call, bool by_line, const tj_plan *plan, tj_error *err)
{
    const tj_emulator *emulator;
    const tj_status status = tj_emulator_get(call->context, &emulator, err);

    if (status != TJ_OK)
        return status;
    if (!emulator)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "--count%s needs the emulator, and this device is a GPU: add --device emulator",
                       by_line ? "-lines" : "");
    (void)emulator->set_option(CUEMU_COUNT, value_for(plan, form_of(plan)->product));
    return TJ_OK;
}

/* lines: NULL: not wanted. */
static tj_status tell_kernel(const cli_call *call, const tj_emulator *emulator, const char *what, const tj_source *source,
                             const cuEmuLaunch *launch, tj_json *lines, tj_error *err)
{
    if (!call->is_json)
        print_total(what, &launch->total);
    return lines ? tell_lines(call, emulator, launch->instructions, tj_source_text(source), lines, err) : TJ_OK;
}

tj_status cli_count_end(const cli_call *call, bool by_line, const tj_plan *plan, const tj_operands *operands, tj_error *err)
{
    const tj_source *source = tj_plan_source(plan);
    const tj_launch_form *form = form_of(plan);
    const tj_emulator *emulator;
    cuEmuLaunch launch;
    cuEmuCounters sum;
    tj_json *object, *lines = by_line ? cli_add_list(call->answer, "lines") : NULL;
    tj_status status = tj_emulator_get(call->context, &emulator, err);

    if (status == TJ_OK)
        status = take_launch(emulator, &launch, err);
    if (status == TJ_OK) {
        sum = launch.total;
        status = tell_kernel(call, emulator, "counted", source, &launch, lines, err);
    }
    for (int32_t step = 0; step < form->steps && status == TJ_OK; step++) {
        if (step == form->product)
            continue;
        status = cli_count_kernel(call->context, emulator, plan, operands, step, &launch, err);
        if (status == TJ_OK) {
            cli_counters_add(&sum, &launch.total);
            status =
                tell_kernel(call, emulator, step < form->product ? "  packing" : "  its sums", source, &launch, lines, err);
        }
    }
    if (status != TJ_OK) {
        tj_json_remove(call->answer, "lines");
        return status;
    }
    object = cli_add_object(call->answer, "counters");
    cli_set_counters(object, &sum);
    cli_set_real(object, "arithmetic_intensity", intensity(&sum));
    cli_set_real(object, "sector_efficiency", sector_efficiency(&sum));
    return TJ_OK;
}
