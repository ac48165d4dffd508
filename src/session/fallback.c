/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fallback: a kernel for any operands, in addition to the one that the library chose.
 *
 * The fastest kernel may require pointers aligned to more than an element, or a workspace. A caller that lets the library
 * choose need not know: a launch that does not bring these gets the same config without those wants, as a plan like any other,
 * made when it is first needed and remembered in the plan that it stands in for. A caller that names a config gets that config,
 * or an error.
 */
#include "plan.h"

#include <string.h>

#include "choose.h"
#include "error.h"
#include "family.h"
#include "memory.h"
#include "scope.h"

/* Otherwise it is an error, whatever the text, and the launch says so. */
static bool elements_are_aligned(const tj_kernel *kernel, const tj_operands *x)
{
    const size_t *bytes = kernel->element_bytes;

    return (((uintptr_t)x->m.address & (bytes[TJ_MATRIX_M] - 1)) | ((uintptr_t)x->n.address & (bytes[TJ_MATRIX_N] - 1)) |
            ((uintptr_t)x->p.address & (bytes[TJ_MATRIX_P] - 1)) | ((uintptr_t)x->c.address & (bytes[TJ_MATRIX_C] - 1))) == 0;
}

static tj_status refuse_capture(const tj_plan *chosen, const tj_scope *scope, struct CUstream_st *stream, tj_error *err)
{
    bool is_capturing = false;
    tj_status status = tj_stream_is_capturing(scope->driver, stream, &is_capturing, err);

    if (status == TJ_OK && is_capturing)
        status = tj_fail(err, TJ_ERR_CAPTURE,
                         "the stream is being captured, and these operands need another kernel than %s, which takes several "
                         "elements at once: align m, n, p and c to 16 bytes, or launch once with such operands before the "
                         "capture begins",
                         tj_source_kernel(chosen->program.source));
    return status;
}

/* The plan owns a hold of its fallback; of several threads that made it the first one gives it away, and all use that one. */
static const tj_plan *remember(tj_plan *chosen, const tj_plan *fallback)
{
    const tj_plan *none = NULL;

    if (atomic_compare_exchange_strong(&chosen->fallback, &none, fallback))
        return fallback;
    tj_plan_release(fallback);
    return none;
}

/*
 * Inside a scope, outside a capture. A config whose kernel may not be launched gives way as a chosen one does. A stand-in is
 * not remembered, since another plan will take its place.
 */
static tj_status make_fallback(tj_plan *chosen, const tj_scope *scope, tj_config config, tj_effort effort,
                               const tj_plan **fallback, tj_error *err)
{
    const tj_request *const request = &chosen->request;
    tj_status status = tj_plan_obtain(chosen->context, scope, request, &config, effort, fallback, err);

    while (tj_status_is_unfit(status) && tj_undemanding_next(request, &config))
        status = tj_plan_obtain(chosen->context, scope, request, &config, effort, fallback, err);
    if (status != TJ_OK)
        return status;
    if (tj_plan_is_stand_in(*fallback))
        tj_plan_release(*fallback); /* the caller has entered */
    else
        *fallback = remember(chosen, *fallback);
    return TJ_OK;
}

tj_status tj_plan_make_fallback(tj_plan *chosen, const tj_scope *scope, tj_error *err)
{
    const tj_config config =
        tj_undemanding_config(chosen->program.source, tj_memory_is_in_order(&chosen->context->host.gpu, scope->driver));
    const tj_plan *fallback;

    if (memcmp(&config, tj_source_config(chosen->program.source), sizeof config) == 0)
        return TJ_OK;
    return make_fallback(chosen, scope, config, TJ_EFFORT_BEST, &fallback, err);
}

tj_status tj_plan_fit(const tj_plan **plan, const tj_scope *scope, const tj_operands *given, bool is_entered,
                      struct CUstream_st *stream, tj_error *err)
{
    tj_plan *chosen = (tj_plan *)(uintptr_t)*plan; /* immutable but for the one pointer that is set here */
    const tj_plan *fallback;
    /* One that the caller holds may be launched by a thread that has not entered, for which no stand-in would stay. */
    const tj_effort effort =
        is_entered && chosen->context->first_call == TJ_FIRST_CALL_QUICK ? TJ_EFFORT_QUICK : TJ_EFFORT_BEST;
    tj_operands x;
    tj_status status = TJ_OK;

    if (chosen->key.config || tj_operands_accept(given, &x, NULL) != TJ_OK)
        return TJ_OK;
    x.struct_size = sizeof x;
    if (tj_kernel_suits(chosen->program.kernel, &x) || !elements_are_aligned(chosen->program.kernel, &x))
        return TJ_OK;
    fallback = atomic_load_explicit(&chosen->fallback, memory_order_acquire);
    if (!fallback)
        status = refuse_capture(chosen, scope, stream, err);
    if (!fallback && status == TJ_OK) {
        const tj_config config =
            tj_undemanding_config(chosen->program.source, tj_memory_is_in_order(&chosen->context->host.gpu, scope->driver));

        status = make_fallback(chosen, scope, config, effort, &fallback, err);
    }
    if (status == TJ_OK)
        *plan = fallback;
    return status;
}
