/* SPDX-License-Identifier: Apache-2.0 */
/* atomic: atomic read-modify-write. */
#include <pthread.h>

#include "counters.h"
#include "finding.h"
#include "number.h"
#include "reduce.h"
#include "request.h"

/* Lanes run one after the other; this lock orders atomics of different blocks and launches. */
static pthread_mutex_t atomics = PTHREAD_MUTEX_INITIALIZER;

enum { INC = EMU_MAX + 1, DEC, EXCH, CAS };

void emu_atomics_lock(void)
{
    pthread_mutex_lock(&atomics);
}

void emu_atomics_unlock(void)
{
    pthread_mutex_unlock(&atomics);
}

/* f32 in global memory: the L2 cache adds, and flushes subnormals. */
static uint64_t combine_float(emu_type type, uint64_t old, uint64_t b, bool flushes)
{
    const emu_format *f = type == T_F16 || type == T_F16X2 ? &emu_half : &emu_bfloat16;

    if (type == T_F32 && flushes)
        return emu_f32_bits(emu_flush(emu_canonical(emu_flush(emu_f32((uint32_t)old)) + emu_flush(emu_f32((uint32_t)b)))));
    if (type == T_F32)
        return emu_f32_bits(emu_canonical(emu_f32((uint32_t)old) + emu_f32((uint32_t)b)));
    if (type == T_F64)
        return emu_f64_bits(emu_f64(old) + emu_f64(b));
    if (type == T_F16 || type == T_BF16)
        return emu_narrow(emu_widen((uint32_t)old, f) + emu_widen((uint32_t)b, f), f, ROUND_NEAREST, false);
    return emu_narrow(emu_widen(old & 0xffff, f) + emu_widen(b & 0xffff, f), f, ROUND_NEAREST, false) |
           (uint64_t)emu_narrow(emu_widen((uint32_t)(old >> 16), f) + emu_widen((uint32_t)(b >> 16), f), f, ROUND_NEAREST,
                                false)
               << 16;
}

uint64_t emu_combine_atomic(int how, emu_type type, uint64_t old, uint64_t b, uint64_t c, bool flushes)
{
    if (emu_type_is_float(type) && how == EMU_ADD)
        return combine_float(type, old, b, flushes);
    switch (how) {
    case INC:
        return old >= b ? 0 : old + 1;
    case DEC:
        return old == 0 || old > b ? b : old - 1;
    case EXCH:
        return b;
    case CAS:
        return old == b ? c : old;
    default:
        return emu_reduce(how, type, old, b);
    }
}

/* Begin an atomic; its operands are the results, the address, then the values. */
static bool begin_atomic(emu_warp *warp, const emu_inst *inst, uint32_t mask, emu_request *r)
{
    cuEmuCounters *line = emu_line(warp, inst);

    if (!emu_resolve(warp, inst, inst->space, mask, &inst->operand[inst->outputs], emu_type_bytes(inst->type[0]) * inst->vector,
                     r) ||
        emu_is_forbidden(warp, inst, r))
        return false;
    if (line) {
        line->atomics += emu_popcount(mask);
        emu_count_request(warp, inst, r, inst->vector, true);
    }
    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        for (unsigned n = inst->outputs + 1u; n < inst->operands; n++)
            emu_check_defined(warp, inst, &inst->operand[n], mask, "in an atomic");
    if (warp->block->launch->checks & CUEMU_CHECK_RACES && emu_releases(inst))
        emu_fence(warp);
    return true;
}

/* The new value is defined; the old one must be, unless it is only exchanged. */
static void define(emu_warp *warp, const emu_inst *inst, int lane, uint64_t address, uint8_t *defined, unsigned bytes,
                   bool is_exchange)
{
    if (!is_exchange && memchr(defined, 0, bytes))
        emu_find(warp, inst, CUEMU_UNINITIALISED, lane, address, "combines a value with memory that was never written");
    memset(defined, 1, bytes); /* report once */
}

/* Combine one element; the elements of a vector are atomic one by one. */
static void combine_element(emu_warp *warp, const emu_inst *inst, const emu_request *r, int lane, unsigned n)
{
    const unsigned bytes = emu_type_bytes(inst->type[0]), first = inst->outputs;
    const bool has_third = inst->vector == 1 && first + 2u < inst->operands;
    const uint64_t b = emu_unsigned(warp, &inst->operand[first + 1 + n], lane);
    const uint64_t c = has_third ? emu_unsigned(warp, &inst->operand[first + 2], lane) : 0;
    const bool tracks = warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED;
    uint8_t *at = r->place[lane].at + (size_t)n * bytes,
            *defined = tracks ? emu_defined_bytes(warp, lane, &r->place[lane]) : NULL;
    uint64_t old = 0, value;

    defined = defined ? defined + (size_t)n * bytes : NULL;
    memcpy(&old, at, bytes);
    value = emu_combine_atomic(inst->choice[3], inst->type[0], old, b, c, r->place[lane].space == S_GLOBAL);
    memcpy(at, &value, bytes);
    if (first)
        emu_set_unsigned(warp, &inst->operand[n], lane, old);
    if (first && tracks)
        emu_set_defined(warp, &inst->operand[n], defined && !defined[0] ? 0 : UINT32_MAX, 1u << lane);
    if (defined)
        define(warp, inst, lane, r->place[lane].address + (uint64_t)n * bytes, defined, bytes, inst->choice[3] == EXCH);
}

static void atomic(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_request r;

    if (!begin_atomic(warp, inst, mask, &r))
        return;
    pthread_mutex_lock(&atomics);
    EMU_EACH_LANE (i, mask) {
        if (warp->block->launch->checks)
            emu_check_access(warp, inst, i, &r.place[i], r.bytes, NULL, true, true);
        for (unsigned n = 0; n < inst->vector; n++)
            combine_element(warp, inst, &r, i, n);
        emu_note_write(&r, i);
    }
    pthread_mutex_unlock(&atomics);
}

/* exch and, with a third operand, cas of 128 bits. */
static void atom_128(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint8_t *b, *c;
    uint8_t *d = emu_lanes(warp, &inst->operand[0]);
    emu_request r;

    if (!begin_atomic(warp, inst, mask, &r))
        return;
    b = emu_lanes(warp, &inst->operand[2]);
    c = inst->operands > 3 ? emu_lanes(warp, &inst->operand[3]) : NULL;
    pthread_mutex_lock(&atomics);
    EMU_EACH_LANE (i, mask) {
        const size_t at = (size_t)i * 16;
        uint8_t *defined = emu_defined_bytes(warp, i, &r.place[i]), old[16];
        if (warp->block->launch->checks)
            emu_check_access(warp, inst, i, &r.place[i], r.bytes, NULL, true, true);
        memcpy(old, r.place[i].at, 16);
        if (!c)
            memcpy(r.place[i].at, b + at, 16);
        else if (memcmp(old, b + at, 16) == 0)
            memcpy(r.place[i].at, c + at, 16);
        memcpy(d + at, old, 16);
        emu_note_write(&r, i);
        emu_set_defined(warp, &inst->operand[0], defined && !defined[0] ? 0 : UINT32_MAX, 1u << i);
        if (defined)
            define(warp, inst, i, r.place[i].address, defined, 16, !c);
    }
    pthread_mutex_unlock(&atomics);
}

/* Vectors of up to 16 bytes: of f32, halves, or pairs of halves. */
static emu_exec choose_vector(const emu_inst *inst)
{
    const bool is_allowed = inst->space != S_SHARED && inst->space != S_CLUSTER &&
                            emu_type_bytes(inst->type[0]) * inst->vector <= 16 &&
                            (inst->type[0] == T_F32) == (inst->choice[4] == 0);

    return is_allowed ? atomic : NULL;
}

#define HINT "{.L2::cache_hint}"
#define SCOPES "{.relaxed,.acquire,.release,.acq_rel}{.cta,.cluster,.gpu,.sys}{.global,.shared,.shared::cta,.shared::cluster}"

const emu_form emu_atomic_forms[] = {
    {"atom" SCOPES "{*.and,.or,.xor,.add,.min,.max,.inc,.dec,.exch}{.noftz}{*.b32,.b64,.u32,.u64,.s32,.s64,.f16,.f16x2,.bf16,."
     "bf16x2,.f32,.f64}" HINT,
     "=T @ T H", atomic, NULL, 0, D_ATOMIC, 0, 0},
    {"atom" SCOPES "{*.-,.-,.-,.-,.-,.-,.-,.-,.-,.cas}{*.b16,.b32,.b64}" HINT, "=T @ T T H", atomic, NULL, 0, D_OWN, 0, 0},
    {"atom" SCOPES "{*.exch}.b128" HINT, "=T @ T H", atom_128, NULL, 0, D_OWN, 0, 0},
    {"atom" SCOPES "{*.cas}.b128", "=T @ T T", atom_128, NULL, 0, D_OWN, 0, 0},
    {"atom" SCOPES "{*.-,.-,.-,.add}{.noftz}{*.v2,.v4,.v8}{*.f32,.f16,.bf16,.f16x2,.bf16x2}" HINT, "=vT @ vT H", NULL,
     choose_vector, 0, D_ATOMIC, 0, 0},
    {"red" SCOPES "{*.and,.or,.xor,.add,.min,.max,.inc,.dec}{.noftz}{*.b32,.b64,.u32,.u64,.s32,.s64,.f16,.f16x2,.bf16,.bf16x2,."
     "f32,.f64}" HINT,
     "@ T H", atomic, NULL, 0, D_ATOMIC, 0, 0},
    {"red" SCOPES "{*.-,.-,.-,.add}{.noftz}{*.v2,.v4,.v8}{*.f32,.f16,.bf16,.f16x2,.bf16x2}" HINT, "@ vT H", NULL, choose_vector,
     0, D_ATOMIC, 0, 0},
    {0},
};
