/* SPDX-License-Identifier: Apache-2.0 */
#include "custom_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/reference.h>

#include "error.h"

enum { POISON = 0xff, SET_ALIGNMENT = 256, CHUNK = 256 };

static bool is_output(const tj_custom_argument *a)
{
    return a->kind == TJ_CUSTOM_OUT || a->kind == TJ_CUSTOM_INOUT;
}

static size_t round_up(size_t bytes)
{
    return (bytes + SET_ALIGNMENT - 1) / SET_ALIGNMENT * SET_ALIGNMENT;
}

tj_status tj_custom_set_bytes(const tj_custom *custom, const int64_t *extent, size_t *bytes, tj_error *err)
{
    tj_status status = TJ_OK;

    *bytes = 0;
    for (size_t i = 0; status == TJ_OK && i < custom->spec.argument_count; i++) {
        const tj_custom_argument *a = &custom->spec.argument[i];
        int64_t count = 0;

        if (!tj_custom_is_pointer(a))
            continue;
        status = tj_custom_count(custom, i, extent, &count, err);
        *bytes += status == TJ_OK ? round_up((size_t)count * tj_type_bytes((tj_type)a->type)) : 0;
    }
    return status;
}

/* ---- on the host -------------------------------------------------------------------------------------------------- */

static tj_status fill_argument(tj_custom_bench *bench, size_t i, uint64_t seed, tj_error *err)
{
    const tj_custom_spec *spec = &bench->custom->spec;
    const tj_custom_argument *a = &spec->argument[i];
    tj_status status = tj_custom_count(bench->custom, i, bench->extent, &bench->argument[i].count, err);
    size_t bytes;

    if (status != TJ_OK)
        return status;
    bench->argument[i].bytes = bytes = (size_t)bench->argument[i].count * tj_type_bytes((tj_type)a->type);
    bench->argument[i].before = malloc(bytes);
    bench->argument[i].after = malloc(bytes);
    if (!bench->argument[i].before || !bench->argument[i].after)
        return tj_fail_memory(err, "the arguments of a trial");
    if (a->kind == TJ_CUSTOM_OUT)
        memset(bench->argument[i].before, POISON, bytes);
    else if (!spec->fill)
        tj_fill_random((tj_type)a->type, bench->argument[i].before, (size_t)bench->argument[i].count, seed + i);
    else if (spec->fill(bench->extent, i, bench->argument[i].before, spec->payload) != 0)
        return tj_fail(err, TJ_ERR_CANCELLED, "spec.fill of family %s failed at argument %s", spec->name, a->name);
    memcpy(bench->argument[i].after, bench->argument[i].before, bytes);
    return TJ_OK;
}

static void set_scalar(tj_custom_bench *bench, size_t i)
{
    const tj_custom_argument *a = &bench->custom->spec.argument[i];

    if (a->kind == TJ_CUSTOM_SCALAR && a->type == TJ_F64)
        bench->argument[i].scalar.f64 = a->trial;
    else if (a->kind == TJ_CUSTOM_SCALAR && a->type == TJ_F32)
        bench->argument[i].scalar.f32 = (float)a->trial;
    else if (a->kind == TJ_CUSTOM_SCALAR)
        bench->argument[i].scalar.s32 = (int32_t)a->trial;
    for (size_t e = 0; a->kind == TJ_CUSTOM_EXTENT && e < bench->custom->spec.extent_count; e++)
        if (strcmp(bench->custom->name[e], a->name) == 0)
            bench->argument[i].scalar.s32 = (int32_t)bench->extent[e];
}

tj_status tj_custom_bench_fill(tj_gpu *gpu, CUstream stream, const tj_custom *custom, const int64_t *extent, uint64_t seed,
                               tj_custom_bench *bench, tj_error *err)
{
    const tj_custom_spec *spec = &custom->spec;
    void *argument[TJ_CUSTOM_MAX_ARGUMENTS];
    tj_status status = TJ_OK;

    memset(bench, 0, sizeof *bench);
    bench->gpu = gpu;
    bench->stream = stream;
    bench->custom = custom;
    if (!spec->reference)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family %s has no reference (spec.reference), so nothing can be tuned or proven", spec->name);
    memcpy(bench->extent, extent, spec->extent_count * sizeof *extent);
    for (size_t i = 0; status == TJ_OK && i < spec->argument_count; i++) {
        if (tj_custom_has_elements(&spec->argument[i]))
            status = fill_argument(bench, i, seed, err);
        else
            set_scalar(bench, i);
        argument[i] = bench->argument[i].after ? bench->argument[i].after : (void *)&bench->argument[i].scalar;
        bench->elements += is_output(&spec->argument[i]) ? bench->argument[i].count : 0;
    }
    if (status == TJ_OK && spec->reference(bench->extent, argument, spec->payload) != 0)
        return tj_fail(err, TJ_ERR_CANCELLED, "the reference of family %s failed", spec->name);
    return status;
}

/* ---- on the device ------------------------------------------------------------------------------------------------ */

/* From one set of an argument to the next. */
static size_t stride_of(const tj_custom_bench *bench, size_t i)
{
    return round_up(bench->argument[i].bytes) + bench->guard;
}

static tj_status place_argument(tj_custom_bench *bench, size_t i, tj_error *err)
{
    const size_t stride = stride_of(bench, i), arguments = bench->custom->spec.argument_count;
    tj_status status =
        tj_gpu_allocate(bench->gpu, bench->stream, bench->guard + bench->sets * stride, &bench->argument[i].buffer, err);

    if (status == TJ_OK)
        status = tj_buffer_fill(bench->argument[i].buffer, POISON, err);
    for (size_t set = 0; status == TJ_OK && set < bench->sets; set++) {
        const size_t at = bench->guard + set * stride;

        bench->value[set * arguments + i].address = (char *)tj_buffer_address(bench->argument[i].buffer) + at;
        if (bench->custom->spec.argument[i].kind != TJ_CUSTOM_OUT)
            status = tj_buffer_write(bench->argument[i].buffer, at, bench->argument[i].before, bench->argument[i].bytes, err);
    }
    return status;
}

tj_status tj_custom_bench_place(tj_custom_bench *bench, size_t sets, size_t guard, tj_error *err)
{
    const tj_custom_spec *spec = &bench->custom->spec;
    size_t largest = 0;
    tj_status status = TJ_OK;

    bench->sets = sets;
    bench->guard = guard;
    bench->value = calloc(sets * spec->argument_count, sizeof *bench->value);
    for (size_t i = 0; i < spec->argument_count; i++)
        largest = stride_of(bench, i) > largest ? stride_of(bench, i) : largest;
    bench->read = malloc(guard + largest);
    if (!bench->value || !bench->read)
        return tj_fail_memory(err, "the arguments of a trial");
    for (size_t i = 0; status == TJ_OK && i < spec->argument_count; i++) {
        if (tj_custom_is_pointer(&spec->argument[i]))
            status = place_argument(bench, i, err);
        for (size_t set = 0; !tj_custom_has_elements(&spec->argument[i]) && set < sets; set++)
            memcpy(&bench->value[set * spec->argument_count + i], &bench->argument[i].scalar, sizeof bench->argument[i].scalar);
    }
    return status;
}

void tj_custom_bench_drop(tj_custom_bench *bench)
{
    for (size_t i = 0; i < TJ_CUSTOM_MAX_ARGUMENTS; i++) {
        free(bench->argument[i].before);
        free(bench->argument[i].after);
        tj_buffer_free(bench->argument[i].buffer);
    }
    free(bench->value);
    free(bench->read);
    memset(bench, 0, sizeof *bench);
}

tj_status tj_custom_bench_set_constants(const tj_custom_bench *bench, const tj_custom_kernel *kernel, tj_error *err)
{
    const tj_custom_spec *spec = &bench->custom->spec;
    tj_status status = TJ_OK;

    for (size_t i = 0; status == TJ_OK && i < spec->argument_count; i++)
        if (spec->argument[i].kind == TJ_CUSTOM_CONSTANT)
            status = tj_custom_set_constant(kernel, spec->argument[i].name, bench->argument[i].before, 0, bench->stream, err);
    return status;
}

tj_status tj_custom_bench_launch(const tj_custom_bench *bench, const tj_custom_kernel *kernel, size_t set, tj_error *err)
{
    return tj_custom_launch(kernel, bench->extent, &bench->value[set * bench->custom->spec.argument_count], bench->stream, err);
}

/* ---- comparing ---------------------------------------------------------------------------------------------------- */

static bool is_near(const tj_custom_spec *spec, double got, double wanted)
{
    if (isnan(wanted) || isinf(wanted))
        return isnan(wanted) ? isnan(got) : got == wanted;
    return fabs(got - wanted) <= spec->absolute + spec->relative * fabs(wanted);
}

/* The first element that is not what the reference has; false: there is none. */
static bool find_wrong(const tj_custom_bench *bench, size_t i, const char *got, char *reason)
{
    const tj_custom_argument *a = &bench->custom->spec.argument[i];
    const size_t size = tj_type_bytes((tj_type)a->type);
    double mine[CHUNK], theirs[CHUNK];

    for (int64_t at = 0; at < bench->argument[i].count; at += CHUNK) {
        const int64_t left = bench->argument[i].count - at, count = left < CHUNK ? left : CHUNK;

        tj_convert(TJ_F64, mine, (tj_type)a->type, got + (size_t)at * size, (size_t)count);
        tj_convert(TJ_F64, theirs, (tj_type)a->type, (const char *)bench->argument[i].after + (size_t)at * size, (size_t)count);
        for (int64_t k = 0; k < count; k++) {
            if (is_near(&bench->custom->spec, mine[k], theirs[k]))
                continue;
            (void)snprintf(reason, TJ_CUSTOM_REASON_BYTES, "element %lld of %s is %.9g, and the reference has %.9g",
                           (long long)at + (long long)k, a->name, mine[k], theirs[k]);
            return true;
        }
    }
    return false;
}

static bool is_poison(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((unsigned char)bytes[i] != POISON)
            return false;
    return true;
}

/* Read back the first set of an argument, with the guards on both sides. */
static tj_status inspect(tj_custom_bench *bench, size_t i, char *reason, tj_error *err)
{
    const tj_custom_argument *a = &bench->custom->spec.argument[i];
    const size_t guard = bench->guard, bytes = bench->argument[i].bytes, behind = stride_of(bench, i) - bytes;
    char *read = bench->read;
    const tj_status status = tj_buffer_read(bench->argument[i].buffer, 0, read, guard + stride_of(bench, i), err);

    if (status != TJ_OK || reason[0])
        return status;
    if (is_output(a) && find_wrong(bench, i, read + guard, reason))
        return TJ_OK;
    if (!is_output(a) && memcmp(read + guard, bench->argument[i].before, bytes) != 0)
        (void)snprintf(reason, TJ_CUSTOM_REASON_BYTES, "it writes to %s, which it only reads", a->name);
    else if (!is_poison(read, guard) || !is_poison(read + guard + bytes, behind))
        (void)snprintf(reason, TJ_CUSTOM_REASON_BYTES, "it writes %s %s", is_poison(read, guard) ? "after" : "before", a->name);
    return TJ_OK;
}

tj_status tj_custom_bench_verify(tj_custom_bench *bench, const tj_custom_kernel *kernel, char reason[TJ_CUSTOM_REASON_BYTES],
                                 tj_error *err)
{
    const tj_custom_spec *spec = &bench->custom->spec;
    tj_status status = tj_custom_bench_set_constants(bench, kernel, err);

    reason[0] = '\0';
    for (size_t i = 0; status == TJ_OK && i < spec->argument_count; i++)
        if (is_output(&spec->argument[i]))
            status = tj_buffer_write(bench->argument[i].buffer, bench->guard, bench->argument[i].before,
                                     bench->argument[i].bytes, err);
    if (status == TJ_OK)
        status = tj_custom_bench_launch(bench, kernel, 0, err);
    if (status == TJ_OK)
        status = tj_gpu_wait(bench->gpu, bench->stream, err);
    for (size_t i = 0; status == TJ_OK && i < spec->argument_count; i++)
        if (tj_custom_is_pointer(&spec->argument[i]) && (is_output(&spec->argument[i]) || bench->guard > 0))
            status = inspect(bench, i, reason, err);
    return status;
}
