/* SPDX-License-Identifier: Apache-2.0 */
/* access: loads, stores, atomics, asynchronous copies and matrix loads. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "count.h"
#include "lanes.h"
#include "number.h"

/* One request of a warp, every lane's address resolved to host memory. */
typedef struct request {
    uint64_t address[EMU_LANES]; /* an offset for shared memory */
    uint8_t *at[EMU_LANES];
    emu_allocation *allocation[EMU_LANES];
    emu_space space[EMU_LANES];
    uint32_t mask;
    unsigned bytes;
} request;

/* ---- addresses ------------------------------------------------------------------------------------------------------- */

static uint64_t address_of(const emu_warp *warp, const emu_operand *operand, int lane)
{
    return emu_unsigned(warp, operand, lane) + (uint64_t)operand->displacement;
}

/* The allocation that holds [low, low + bytes), or NULL; those hit last are tried first. */
static emu_allocation *find_allocation(emu_block *block, uint64_t low, uint64_t bytes)
{
    emu_allocation *one;

    for (unsigned i = 0; i < sizeof block->last / sizeof block->last[0]; i++) {
        one = block->last[i];
        if (one && low - one->base < one->size && bytes <= one->size - (low - one->base))
            return one;
    }
    one = emu_memory_find(low);
    if (!one || bytes > one->size - (low - one->base))
        return NULL;
    block->last[block->last_next++ % (sizeof block->last / sizeof block->last[0])] = one;
    return one;
}

static const emu_shared_range *find_range(const emu_launch *launch, uint64_t low, uint64_t bytes)
{
    for (uint32_t i = 0; i < launch->ranges; i++)
        if (low >= launch->range[i].begin && low < launch->range[i].end && bytes <= launch->range[i].end - low)
            return &launch->range[i];
    return NULL;
}

static void out_of_bounds(emu_warp *warp, const emu_inst *inst, int lane, emu_space space, uint64_t address, unsigned bytes)
{
    const emu_launch *launch = warp->block->launch;
    char where[200] = "";

    if (space == S_SHARED) {
        for (uint32_t i = 0; i < launch->ranges; i++) {
            const emu_shared_range *r = &launch->range[i];
            const uint64_t before = r->begin - address, behind = address + bytes - r->end;
            if (before < EMU_RED_ZONE / 2 || behind < EMU_RED_ZONE)
                snprintf(where, sizeof where, ", %llu bytes %s %.*s, which has %u bytes",
                         (unsigned long long)(before < EMU_RED_ZONE / 2 ? before : behind),
                         before < EMU_RED_ZONE / 2 ? "before" : "beyond the end of",
                         r->symbol ? (int)(r->symbol->name_length < 80 ? r->symbol->name_length : 80) : 24,
                         r->symbol ? r->symbol->name : "the dynamic shared array", r->end - r->begin);
        }
        emu_find(warp, inst, CUEMU_OUT_OF_BOUNDS, lane, address, "%u bytes at shared offset 0x%llx%s", bytes,
                 (unsigned long long)address, where[0] ? where : ", outside every shared array");
    } else if (space == S_GLOBAL || space == S_GENERIC) {
        emu_find(warp, inst, CUEMU_OUT_OF_BOUNDS, lane, address, "%u bytes at 0x%llx, %s", bytes, (unsigned long long)address,
                 emu_describe_address(address, where, sizeof where));
    } else {
        emu_find(warp, inst, CUEMU_OUT_OF_BOUNDS, lane, address, "%u bytes at 0x%llx of %s memory", bytes,
                 (unsigned long long)address,
                 space == S_LOCAL   ? "local"
                 : space == S_CONST ? "constant"
                                    : "parameter");
    }
}

/* Resolve one lane's address; false: it may not be accessed, and a finding says why. */
static bool resolve_lane(emu_warp *warp, const emu_inst *inst, request *r, int lane)
{
    const emu_block *block = warp->block;
    const emu_function *f = block->launch->function;
    uint64_t address = r->address[lane];
    emu_space space = r->space[lane];

    if (space == S_GENERIC) {
        if (address - EMU_SHARED_WINDOW < EMU_WINDOW_BYTES) {
            space = S_SHARED;
            address -= EMU_SHARED_WINDOW;
        } else if (address - EMU_LOCAL_WINDOW < EMU_WINDOW_BYTES) {
            space = S_LOCAL;
            address -= EMU_LOCAL_WINDOW;
        } else {
            space = S_GLOBAL;
        }
    }
    if (space == S_GLOBAL && address - EMU_PARAM_WINDOW < EMU_WINDOW_BYTES) {
        space = S_PARAM;
        address -= EMU_PARAM_WINDOW;
    }
    if ((space == S_LOCAL || space == S_PARAM) && address - EMU_FRAMES_IN_LOCAL < EMU_WINDOW_BYTES - EMU_FRAMES_IN_LOCAL) {
        space = S_FRAME;
        address -= EMU_FRAMES_IN_LOCAL;
    }
    r->space[lane] = space;
    r->address[lane] = address;
    r->allocation[lane] = NULL;
    switch (space) {
    case S_SHARED:
        if (!find_range(block->launch, address, r->bytes))
            break;
        r->at[lane] = block->shared + address;
        return true;
    case S_GLOBAL:
    case S_CONST:
        r->allocation[lane] = find_allocation(warp->block, address, r->bytes);
        if (!r->allocation[lane])
            break;
        r->at[lane] = r->allocation[lane]->host + (address - r->allocation[lane]->base);
        return true;
    case S_LOCAL:
        if (address > f->local_bytes || r->bytes > f->local_bytes - address)
            break;
        r->at[lane] = warp->local + (size_t)lane * f->local_bytes + address;
        return true;
    case S_FRAME:
        if (address > f->frame_bytes || r->bytes > f->frame_bytes - address)
            break;
        r->at[lane] = warp->frame + (size_t)lane * f->frame_bytes + address;
        return true;
    default:
        if (address > f->param_bytes || r->bytes > f->param_bytes - address)
            break;
        r->at[lane] = (uint8_t *)(uintptr_t)block->launch->parameters + address;
        return true;
    }
    out_of_bounds(warp, inst, lane, space, address, r->bytes);
    return false;
}

/* Resolve a whole request. false: the launch has failed. */
static bool resolve(emu_warp *warp, const emu_inst *inst, uint32_t mask, const emu_operand *operand, unsigned bytes, request *r)
{
    const unsigned align = bytes & (0 - bytes); /* accesses have sizes that are powers of two */
    uint64_t low = UINT64_MAX, high = 0, all = 0;
    emu_space space = inst->space;

    r->mask = mask;
    r->bytes = bytes;
    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        emu_check_defined(warp, inst, operand, mask, "as an address");
    EMU_EACH_LANE (i, mask) {
        const uint64_t address = address_of(warp, operand, i);
        r->address[i] = address;
        r->space[i] = space;
        low = address < low ? address : low;
        high = address > high ? address : high;
        all |= address;
    }
    if (all & (align - 1)) {
        EMU_EACH_LANE (i, mask)
            if (r->address[i] & (align - 1)) {
                emu_find(warp, inst, CUEMU_MISALIGNED, i, r->address[i], "%u bytes at 0x%llx, which is no multiple of %u",
                         bytes, (unsigned long long)r->address[i], align);
                return false;
            }
    }
    /* All lanes in one array or allocation: the usual case. */
    if (space == S_SHARED && high - low < UINT32_MAX && find_range(warp->block->launch, low, high - low + bytes)) {
        EMU_EACH_LANE (i, mask) {
            r->at[i] = warp->block->shared + r->address[i];
            r->allocation[i] = NULL;
        }
        return true;
    }
    if (space == S_GLOBAL || (space == S_GENERIC && high < EMU_SHARED_WINDOW)) {
        emu_allocation *one = find_allocation(warp->block, low, high - low + bytes);
        if (warp->block->progress.is_watched) {
            emu_touch(warp->block, low);
            emu_touch(warp->block, high);
        }
        if (one) {
            EMU_EACH_LANE (i, mask) {
                r->at[i] = one->host + (r->address[i] - one->base);
                r->allocation[i] = one;
                r->space[i] = S_GLOBAL;
            }
            return true;
        }
    }
    EMU_EACH_LANE (i, mask)
        if (!resolve_lane(warp, inst, r, i))
            return false;
    return true;
}

/* Lanes of a request that are in one space. */
static uint32_t lanes_in(const request *r, emu_space space)
{
    uint32_t lanes = 0;

    EMU_EACH_LANE (i, r->mask)
        lanes |= (uint32_t)(r->space[i] == space) << i;
    return lanes;
}

static void count(const emu_warp *warp, const emu_inst *inst, const request *r, unsigned elements, bool is_write)
{
    cuEmuCounters *line = emu_line(warp, inst);
    uint32_t lanes;

    if (!line)
        return;
    lanes = lanes_in(r, S_GLOBAL);
    if (lanes)
        emu_count_global(line, r->address, lanes, r->bytes, elements, is_write);
    lanes = lanes_in(r, S_SHARED);
    if (lanes)
        emu_count_shared(line, r->address, lanes, r->bytes, elements, is_write);
    line->local_requests += lanes_in(r, S_LOCAL) != 0;
}

/* Definedness of a lane's bytes, one byte each; NULL: all are defined. */
static uint8_t *defined_bytes(const emu_warp *warp, const request *r, int lane)
{
    const emu_allocation *one = r->allocation[lane];

    switch (r->space[lane]) {
    case S_SHARED:
        return warp->block->shared_defined ? warp->block->shared_defined + r->address[lane] : NULL;
    case S_LOCAL:
        return warp->local_defined
                   ? warp->local_defined + (size_t)lane * warp->block->launch->function->local_bytes + r->address[lane]
                   : NULL;
    case S_GLOBAL:
        return one && one->defined ? one->defined + (r->address[lane] - one->base) : NULL;
    default:
        return NULL;
    }
}

static void check_access(emu_warp *warp, const emu_inst *inst, const request *r, int lane, const uint8_t *value, bool is_write,
                         bool is_atomic)
{
    const uint32_t checks = warp->block->launch->checks;

    if (r->space[lane] == S_SHARED && checks & (CUEMU_CHECK_RACES | CUEMU_CHECK_ASYNC))
        emu_check_shared(warp, inst, lane, (uint32_t)r->address[lane], r->bytes, value, is_write, is_atomic);
    else if (r->space[lane] == S_GLOBAL && checks & CUEMU_CHECK_RACES)
        emu_check_global(warp, inst, lane, r->allocation[lane], r->address[lane], r->bytes, value, is_write, is_atomic);
}

static void note_write(const request *r, int lane)
{
    const emu_allocation *one = r->allocation[lane];
    emu_watch *watch = one ? one->watch : NULL;

    if (!watch)
        return;
    for (unsigned b = 0; b < r->bytes; b++) {
        const uint64_t at = r->address[lane] + b - watch->address;
        if (at < watch->rows * watch->pitch && atomic_load_explicit(&watch->writes[at], memory_order_relaxed) < 255)
            atomic_fetch_add_explicit(&watch->writes[at], 1, memory_order_relaxed);
    }
}

/* ---- loads and stores ------------------------------------------------------------------------------------------------ */

/* Is an access ordered by itself: volatile, relaxed, acquire, release? choice[0] of the forms below. */
static bool is_ordered(const emu_inst *inst)
{
    return inst->choice[0] != 0;
}

/* What an access of release semantics orders is what a fence before it would. */
static bool releases(const emu_inst *inst)
{
    return memmem(inst->text, inst->text_length, ".release", 8) || memmem(inst->text, inst->text_length, ".acq_rel", 8);
}

static void count_fence(emu_warp *warp)
{
    if (warp->block->launch->order)
        warp->block->launch->order[warp->block->number].fences++;
}

static void load_element(emu_warp *warp, const emu_inst *inst, const request *r, unsigned n, uint32_t mask)
{
    const emu_operand *d = &inst->operand[n];
    const unsigned bytes = emu_type_bytes(inst->type[0]);
    const bool is_signed = emu_type_is_signed(inst->type[0]);
    uint8_t *to = emu_lanes(warp, d);

    if (d->bytes == 4 && bytes == 4) {
        EMU_EACH_LANE (i, mask)
            memcpy(to + (size_t)i * 4, r->at[i] + (size_t)n * 4, 4);
    } else if (d->bytes == bytes) {
        EMU_EACH_LANE (i, mask)
            memcpy(to + (size_t)i * bytes, r->at[i] + (size_t)n * bytes, bytes);
    } else {
        EMU_EACH_LANE (i, mask) {
            uint64_t value = 0;
            memcpy(&value, r->at[i] + (size_t)n * bytes, bytes);
            if (is_signed && value >> (8 * bytes - 1) & 1)
                value |= UINT64_MAX << (8 * bytes - 1);
            emu_set_unsigned(warp, d, i, value);
        }
    }
}

static void load(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const unsigned bytes = emu_type_bytes(inst->type[0]) * inst->vector, size = bytes / inst->vector;
    const uint32_t checks = warp->block->launch->checks;
    request r;

    if (!resolve(warp, inst, mask, &inst->operand[inst->vector], bytes, &r))
        return;
    count(warp, inst, &r, inst->vector, false);
    if (checks & (CUEMU_CHECK_RACES | CUEMU_CHECK_ASYNC))
        EMU_EACH_LANE (i, mask)
            check_access(warp, inst, &r, i, NULL, false, is_ordered(inst));
    for (unsigned n = 0; n < inst->vector; n++)
        load_element(warp, inst, &r, n, mask);
    if (!(checks & CUEMU_CHECK_UNINITIALISED))
        return;
    for (unsigned n = 0; n < inst->vector; n++) {
        uint32_t defined = mask;
        EMU_EACH_LANE (i, mask) {
            const uint8_t *known = defined_bytes(warp, &r, i);
            for (unsigned b = n * size; known && b < (n + 1) * size; b++)
                if (!known[b])
                    defined &= ~(1u << i);
        }
        emu_set_defined(warp, &inst->operand[n], defined, mask);
    }
}

/* Does a request write where programs may only read? A finding says so. */
static bool is_forbidden(emu_warp *warp, const emu_inst *inst, const request *r)
{
    const uint32_t lanes = lanes_in(r, S_PARAM) | lanes_in(r, S_CONST);
    const int lane = lanes ? __builtin_ctz(lanes) : 0;

    if (lanes)
        emu_find(warp, inst, CUEMU_ILLEGAL, lane, r->address[lane], "a store to memory that is read only");
    return lanes != 0;
}

static void store(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const unsigned size = emu_type_bytes(inst->type[0]), bytes = size * inst->vector;
    const uint32_t checks = warp->block->launch->checks;
    request r;

    if (!resolve(warp, inst, mask, &inst->operand[0], bytes, &r) || is_forbidden(warp, inst, &r))
        return;
    count(warp, inst, &r, inst->vector, true);
    if (checks & CUEMU_CHECK_RACES && is_ordered(inst) && releases(inst))
        count_fence(warp);
    EMU_EACH_LANE (i, mask) {
        uint8_t value[64];
        for (unsigned n = 0; n < inst->vector; n++) {
            const emu_operand *from = &inst->operand[1 + n];
            memcpy(value + n * size, (const uint8_t *)emu_lanes(warp, from) + (size_t)i * from->bytes, size);
        }
        if (checks)
            check_access(warp, inst, &r, i, value, true, is_ordered(inst));
        memcpy(r.at[i], value, bytes);
        note_write(&r, i);
    }
    if (!(checks & CUEMU_CHECK_UNINITIALISED))
        return;
    for (unsigned n = 0; n < inst->vector; n++) {
        const uint32_t known = emu_defined(warp, &inst->operand[1 + n]);
        const uint32_t global = lanes_in(&r, S_GLOBAL);
        if (~known & global)
            emu_check_defined(warp, inst, &inst->operand[1 + n], global, "in a store to global memory");
        EMU_EACH_LANE (i, mask) {
            uint8_t *defined = defined_bytes(warp, &r, i);
            if (defined)
                memset(defined + n * size, known >> i & 1, size);
        }
    }
}

static void change_nothing(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)warp, (void)inst, (void)mask; /* that a program could see */
}

/* discard.L2 [a], 128: what lies there is as if it had never been written. */
static void discard(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    request r;

    if (!resolve(warp, inst, mask, &inst->operand[0], 128, &r) || is_forbidden(warp, inst, &r))
        return;
    EMU_EACH_LANE (i, mask) {
        uint8_t *defined = defined_bytes(warp, &r, i);
        if (defined)
            memset(defined, 0, 128);
    }
}

/* A cache policy is opaque, and hints change nothing here. */
static void make_policy(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    EMU_EACH_LANE (i, mask)
        emu_set_unsigned(warp, &inst->operand[0], i, 0);
    emu_set_defined(warp, &inst->operand[0], UINT32_MAX, mask);
}

/* ---- atomics --------------------------------------------------------------------------------------------------------- */

/* One lane after the other; between blocks of one launch, and between launches, under this lock. */
static pthread_mutex_t atomics = PTHREAD_MUTEX_INITIALIZER;

enum { AND = 1, OR, XOR, ADD, MIN, MAX, INC, DEC, EXCH, CAS };

/* f32 in global memory: the L2 cache adds, and it flushes subnormals. */
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

static uint64_t combine(int how, emu_type type, uint64_t old, uint64_t b, uint64_t c, bool flushes)
{
    const unsigned spare = 64 - 8 * emu_type_bytes(type);
    const int64_t x = (int64_t)(old << spare) >> spare, y = (int64_t)(b << spare) >> spare;

    if (emu_type_is_float(type) && how == ADD)
        return combine_float(type, old, b, flushes);
    switch (how) {
    case AND:
        return old & b;
    case OR:
        return old | b;
    case XOR:
        return old ^ b;
    case ADD:
        return old + b;
    case MIN:
        return emu_type_is_signed(type) ? (x < y ? old : b) : old < b ? old : b;
    case MAX:
        return emu_type_is_signed(type) ? (x > y ? old : b) : old > b ? old : b;
    case INC:
        return old >= b ? 0 : old + 1;
    case DEC:
        return old == 0 || old > b ? b : old - 1;
    case EXCH:
        return b;
    default:
        return old == b ? c : old;
    }
}

/* What all atomics begin with; operand number address is followed by the values. */
static bool begin_atomic(emu_warp *warp, const emu_inst *inst, uint32_t mask, unsigned address, request *r)
{
    cuEmuCounters *line = emu_line(warp, inst);

    if (!resolve(warp, inst, mask, &inst->operand[address], emu_type_bytes(inst->type[0]) * inst->vector, r) ||
        is_forbidden(warp, inst, r))
        return false;
    if (line) {
        line->atomics += emu_popcount(mask);
        count(warp, inst, r, inst->vector, true);
    }
    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        for (unsigned n = address + 1; n < inst->operands; n++)
            emu_check_defined(warp, inst, &inst->operand[n], mask, "in an atomic");
    if (warp->block->launch->checks & CUEMU_CHECK_RACES && releases(inst))
        count_fence(warp);
    return true;
}

/* What an atomic leaves is defined; what it found must have been, unless it is only exchanged. */
static void define(emu_warp *warp, const emu_inst *inst, int lane, uint64_t address, uint8_t *defined, unsigned bytes,
                   bool is_exchange)
{
    if (!is_exchange && memchr(defined, 0, bytes))
        emu_find(warp, inst, CUEMU_UNINITIALISED, lane, address, "combines a value with memory that was never written");
    memset(defined, 1, bytes); /* once is enough */
}

/* One element; a vector's are atomic each for itself. */
static void combine_element(emu_warp *warp, const emu_inst *inst, const request *r, int lane, unsigned n, bool answers)
{
    const unsigned bytes = emu_type_bytes(inst->type[0]), first = answers ? inst->vector : 0;
    const bool has_third = inst->vector == 1 && first + 2u < inst->operands;
    const uint64_t b = emu_unsigned(warp, &inst->operand[first + 1 + n], lane);
    const uint64_t c = has_third ? emu_unsigned(warp, &inst->operand[first + 2], lane) : 0;
    const bool tracks = warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED;
    uint8_t *at = r->at[lane] + (size_t)n * bytes, *defined = tracks ? defined_bytes(warp, r, lane) : NULL;
    uint64_t old = 0, value;

    defined = defined ? defined + (size_t)n * bytes : NULL;
    memcpy(&old, at, bytes);
    value = combine(inst->choice[3], inst->type[0], old, b, c, r->space[lane] == S_GLOBAL);
    memcpy(at, &value, bytes);
    if (answers)
        emu_set_unsigned(warp, &inst->operand[n], lane, old);
    if (answers && tracks)
        emu_set_defined(warp, &inst->operand[n], defined && !defined[0] ? 0 : UINT32_MAX, 1u << lane);
    if (defined)
        define(warp, inst, lane, r->address[lane] + (uint64_t)n * bytes, defined, bytes, inst->choice[3] == EXCH);
}

static void atomic(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool answers)
{
    request r;

    if (!begin_atomic(warp, inst, mask, answers ? inst->vector : 0, &r))
        return;
    pthread_mutex_lock(&atomics);
    EMU_EACH_LANE (i, mask) {
        if (warp->block->launch->checks)
            check_access(warp, inst, &r, i, NULL, true, true);
        for (unsigned n = 0; n < inst->vector; n++)
            combine_element(warp, inst, &r, i, n, answers);
        note_write(&r, i);
    }
    pthread_mutex_unlock(&atomics);
}

/* exch and, with a third operand, cas of 128 bits. */
static void atom_128(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint8_t *b, *c;
    uint8_t *d = emu_lanes(warp, &inst->operand[0]);
    request r;

    if (!begin_atomic(warp, inst, mask, 1, &r))
        return;
    b = emu_lanes(warp, &inst->operand[2]);
    c = inst->operands > 3 ? emu_lanes(warp, &inst->operand[3]) : NULL;
    pthread_mutex_lock(&atomics);
    EMU_EACH_LANE (i, mask) {
        const size_t at = (size_t)i * 16;
        uint8_t *defined = defined_bytes(warp, &r, i), old[16];
        if (warp->block->launch->checks)
            check_access(warp, inst, &r, i, NULL, true, true);
        memcpy(old, r.at[i], 16);
        if (!c)
            memcpy(r.at[i], b + at, 16);
        else if (memcmp(old, b + at, 16) == 0)
            memcpy(r.at[i], c + at, 16);
        memcpy(d + at, old, 16);
        note_write(&r, i);
        emu_set_defined(warp, &inst->operand[0], defined && !defined[0] ? 0 : UINT32_MAX, 1u << i);
        if (defined)
            define(warp, inst, i, r.address[i], defined, 16, !c);
    }
    pthread_mutex_unlock(&atomics);
}

static void atom(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    atomic(warp, inst, mask, true);
}

static void red(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    atomic(warp, inst, mask, false);
}

/* f32 in vectors of up to 16 bytes, halves and pairs of halves in such of up to 16. */
static bool is_vector_of_atomic(const emu_inst *inst)
{
    return inst->space != S_SHARED && emu_type_bytes(inst->type[0]) * inst->vector <= 16 &&
           (inst->type[0] == T_F32) == (inst->choice[4] == 0);
}

static emu_exec choose_atom_vector(const emu_inst *inst)
{
    return is_vector_of_atomic(inst) ? atom : NULL;
}

static emu_exec choose_red_vector(const emu_inst *inst)
{
    return is_vector_of_atomic(inst) ? red : NULL;
}

/* ---- asynchronous copies --------------------------------------------------------------------------------------------- */

static void mark_flight(emu_warp *warp, const emu_copy *copy, int delta)
{
    emu_shared_byte *byte = warp->block->byte;

    for (unsigned b = 0; byte && b < copy->bytes; b++)
        if (delta > 0 || byte[copy->target + b].in_flight) /* a finding has set it to 0 */
            byte[copy->target + b].in_flight = (uint8_t)(byte[copy->target + b].in_flight + delta);
}

/* cp.async.cg.shared.global [to], [from], size{, from_size}: nothing is seen in shared memory before the wait. */
static void copy_async(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint32_t *size = emu_lanes(warp, &inst->operand[2]);
    const unsigned bytes = size[__builtin_ctz(mask)];
    const bool has_source_size = inst->operands > 3 && inst->operand[3].bytes == 4;
    emu_inst to = *inst, from = *inst;
    cuEmuCounters *line = emu_line(warp, inst);
    uint32_t reads = mask, parts = 0;
    request target, source;

    if ((bytes != 4 && bytes != 8 && bytes != 16) || (inst->choice[0] == 2 && bytes != 16)) {
        emu_find(warp, inst, CUEMU_ILLEGAL, __builtin_ctz(mask), 0,
                 "a copy of %u bytes; cp.async takes 4, 8 or 16, with .cg 16", bytes);
        return;
    }
    if (inst->operands > 3 && !has_source_size) { /* ignore-src predicate */
        reads &= ~emu_predicate(warp, &inst->operand[3]);
    } else if (has_source_size) {
        EMU_EACH_LANE (i, mask) {
            const uint64_t part = emu_unsigned(warp, &inst->operand[3], i);
            if (part == 0)
                reads &= ~(1u << i);
            else if (part > bytes) {
                emu_find(warp, inst, CUEMU_ILLEGAL, i, 0, "reads %llu bytes of a copy of %u", (unsigned long long)part, bytes);
                return;
            }
        }
    }
    to.space = S_SHARED;
    from.space = S_GLOBAL;
    if (!resolve(warp, &to, mask, &inst->operand[0], bytes, &target))
        return;
    /* The source may lie anywhere if nothing of it is read; of a lane that reads a part, the part must exist. */
    EMU_EACH_LANE (i, has_source_size ? reads : 0) {
        const unsigned part = (unsigned)emu_unsigned(warp, &inst->operand[3], i);
        const uint64_t address = address_of(warp, &inst->operand[1], i);
        if (part == bytes)
            continue;
        parts |= 1u << i;
        if (address & (bytes - 1)) {
            emu_find(warp, inst, CUEMU_MISALIGNED, i, address, "%u bytes at 0x%llx, which is no multiple of %u", bytes,
                     (unsigned long long)address, bytes);
            return;
        }
        if (!resolve(warp, &from, 1u << i, &inst->operand[1], part, &source))
            return;
    }
    if (reads & ~parts && !resolve(warp, &from, reads & ~parts, &inst->operand[1], bytes, &source))
        return;
    if (line) {
        emu_count_async(line, target.address, mask, reads, bytes);
        if (reads)
            emu_count_global(line, source.address, reads, bytes, bytes / 4, false);
    }
    EMU_EACH_LANE (i, mask) {
        const bool is_read = reads >> i & 1;
        emu_copy *copy;
        if (warp->copies == warp->copy_capacity) {
            const uint32_t capacity = warp->copy_capacity * 2 + 256;
            emu_copy *larger = realloc(warp->copy, capacity * sizeof *larger);
            if (!larger) {
                emu_find(warp, inst, CUEMU_ILLEGAL, i, 0, "out of memory for copies on their way");
                return;
            }
            warp->copy = larger;
            warp->copy_capacity = capacity;
        }
        copy = &warp->copy[warp->copies++];
        *copy = (emu_copy){.source = is_read ? source.address[i] : 0,
                           .target = (uint32_t)target.address[i],
                           .group = warp->group[i],
                           .lane = (uint8_t)i,
                           .bytes = (uint8_t)bytes,
                           .inst = inst};
        copy->source_bytes = !is_read          ? 0
                             : has_source_size ? (uint8_t)emu_unsigned(warp, &inst->operand[3], i)
                                               : (uint8_t)bytes;
        if (warp->block->byte) {
            emu_check_shared(warp, inst, i, copy->target, bytes, NULL, true, false);
            mark_flight(warp, copy, 1);
        }
    }
}

static void complete(emu_warp *warp, const emu_copy *copy)
{
    emu_block *block = warp->block;
    emu_allocation *from = copy->source_bytes ? find_allocation(block, copy->source, copy->source_bytes) : NULL;
    uint8_t *defined = block->shared_defined;

    mark_flight(warp, copy, -1);
    if (block->byte)
        emu_check_shared(warp, copy->inst, copy->lane, copy->target, copy->bytes, NULL, true, false);
    memset(block->shared + copy->target, 0, copy->bytes);
    if (defined)
        memset(defined + copy->target, 1, copy->bytes);
    if (!from)
        return;
    if (block->launch->checks & CUEMU_CHECK_RACES)
        emu_check_global(warp, copy->inst, copy->lane, from, copy->source, copy->source_bytes, NULL, false, false);
    memcpy(block->shared + copy->target, from->host + (copy->source - from->base), copy->source_bytes);
    if (defined && from->defined)
        memcpy(defined + copy->target, from->defined + (copy->source - from->base), copy->source_bytes);
}

void emu_complete_copies(emu_warp *warp, uint32_t mask, uint32_t keep, bool all)
{
    uint32_t left = 0;

    for (uint32_t n = 0; n < warp->copies; n++) {
        const emu_copy *copy = &warp->copy[n];
        const bool is_committed = copy->group < warp->group[copy->lane];
        const bool is_old = is_committed && warp->group[copy->lane] - copy->group > keep;
        if (mask >> copy->lane & 1 && (all || is_old))
            complete(warp, copy);
        else
            warp->copy[left++] = *copy;
    }
    warp->copies = left;
}

static void commit_group(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst;
    EMU_EACH_LANE (i, mask)
        warp->group[i]++;
}

static void wait_group(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_complete_copies(warp, mask, *(const uint32_t *)emu_lanes(warp, &inst->operand[0]), false);
}

static void wait_all(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst;
    emu_complete_copies(warp, mask, 0, true);
}

/* ---- matrices -------------------------------------------------------------------------------------------------------- */

/* Rows of 8 x 8 matrices of 16-bit elements: lane 8 m + n has the address of row n of matrix m. */
static bool resolve_rows(emu_warp *warp, const emu_inst *inst, const emu_operand *operand, unsigned matrices, request *r,
                         bool is_write)
{
    const uint32_t mask = matrices == 4 ? UINT32_MAX : (1u << 8 * matrices) - 1;
    emu_inst in_shared = *inst;
    cuEmuCounters *line = emu_line(warp, inst);

    in_shared.space = inst->space == S_GENERIC ? S_GENERIC : S_SHARED;
    if (!resolve(warp, &in_shared, mask, operand, 16, r))
        return false;
    if (line)
        emu_count_shared(line, r->address, mask, 16, 8, is_write);
    return true;
}

static unsigned matrices_of(const emu_inst *inst)
{
    return 1u << (inst->choice[0] - 1); /* x1 x2 x4 */
}

static void ldmatrix(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const unsigned matrices = matrices_of(inst);
    const bool is_transposed = inst->choice[1];
    request r;

    (void)mask;
    if (inst->operands != matrices + 1) {
        emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "ldmatrix of %u matrices with %u results", matrices, inst->operands - 1u);
        return;
    }
    if (!resolve_rows(warp, inst, &inst->operand[matrices], matrices, &r, false))
        return;
    if (warp->block->byte)
        EMU_EACH_LANE (i, r.mask)
            check_access(warp, inst, &r, i, NULL, false, false);
    for (unsigned m = 0; m < matrices; m++) {
        uint32_t *d = emu_lanes(warp, &inst->operand[m]), defined = UINT32_MAX;
        for (unsigned i = 0; i < EMU_LANES; i++) {
            uint16_t half[2];
            for (unsigned n = 0; n < 2; n++) {
                const unsigned row = is_transposed ? 2 * (i % 4) + n : i / 4, column = is_transposed ? i / 4 : 2 * (i % 4) + n;
                const uint8_t *known = defined_bytes(warp, &r, (int)(8 * m + row));
                memcpy(&half[n], r.at[8 * m + row] + 2 * column, 2);
                if (known && (!known[2 * column] || !known[2 * column + 1]))
                    defined &= ~(1u << i);
            }
            d[i] = half[0] | (uint32_t)half[1] << 16;
        }
        emu_set_defined(warp, &inst->operand[m], defined, UINT32_MAX);
    }
}

static void stmatrix(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const unsigned matrices = matrices_of(inst);
    const bool is_transposed = inst->choice[1];
    request r;

    (void)mask;
    if (inst->operands != matrices + 1) {
        emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "stmatrix of %u matrices with %u inputs", matrices, inst->operands - 1u);
        return;
    }
    if (!resolve_rows(warp, inst, &inst->operand[0], matrices, &r, true))
        return;
    if (warp->block->byte)
        EMU_EACH_LANE (i, r.mask)
            check_access(warp, inst, &r, i, NULL, true, false);
    for (unsigned m = 0; m < matrices; m++) {
        const uint32_t *a = emu_lanes(warp, &inst->operand[1 + m]);
        const uint32_t known = emu_defined(warp, &inst->operand[1 + m]);
        for (unsigned i = 0; i < EMU_LANES; i++)
            for (unsigned n = 0; n < 2; n++) {
                const unsigned row = is_transposed ? 2 * (i % 4) + n : i / 4, column = is_transposed ? i / 4 : 2 * (i % 4) + n;
                const uint16_t half = (uint16_t)(a[i] >> 16 * n);
                uint8_t *defined = defined_bytes(warp, &r, (int)(8 * m + row));
                memcpy(r.at[8 * m + row] + 2 * column, &half, 2);
                if (defined)
                    memset(defined + 2 * column, known >> i & 1, 2);
            }
    }
}

/* ---- fences ---------------------------------------------------------------------------------------------------------- */

static void fence(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst, (void)mask; /* one lane after the other: all is in order already; races are told by the count */
    count_fence(warp);
}

#define ORDERS "{.volatile,.relaxed,.acquire,.release}{.weak,.mmio}{.cta,.cluster,.gpu,.sys}"
#define SPACES "{.global,.shared,.shared::cta,.local,.param,.const,.param::entry,.param::func}"
#define CACHES                                                                                                            \
    "{.ca,.cg,.cs,.lu,.cv,.wb,.wt}{.nc}{.L1::evict_normal,.L1::evict_unchanged,.L1::evict_first,.L1::evict_last,.L1::no_" \
    "allocate}"                                                                                                           \
    "{.L2::evict_normal,.L2::evict_first,.L2::evict_last}{.L2::64B,.L2::128B,.L2::256B}{.L2::cache_hint}"
#define VALUES "{.v2,.v4,.v8}{*.b8,.b16,.b32,.b64,.b128,.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64,.f16,.bf16,.f32,.f64}"
#define HINT "{.L2::cache_hint}"
#define ASYNC "{*.ca,.cg}{*.shared.global,.shared::cta.global}{.L2::64B,.L2::128B,.L2::256B}" HINT
#define PRIORITIES \
    "{*.L2::evict_last,.L2::evict_normal,.L2::evict_first,.L2::evict_unchanged}{.L2::evict_first,.L2::evict_unchanged}"
#define RESTRICTIONS "{*.acquire.sync_restrict::shared::cluster,.release.sync_restrict::shared::cta}.cluster"
#define SCOPES "{.relaxed,.acquire,.release,.acq_rel}{.cta,.cluster,.gpu,.sys}{.global,.shared,.shared::cta}"

const emu_form emu_memory_forms[] = {
    {"ld" ORDERS SPACES CACHES VALUES, "=~vT @ H", load, NULL, 0, D_OWN, 0, 0},
    {"ldu{.-}{.global}" VALUES, "=~vT @", load, NULL, 0, D_OWN, 0, 0},
    {"st" ORDERS SPACES CACHES VALUES, "@ ~vT H", store, NULL, 0, D_OWN, 0, 0},
    {"atom" SCOPES "{*.and,.or,.xor,.add,.min,.max,.inc,.dec,.exch}{.noftz}{*.b32,.b64,.u32,.u64,.s32,.s64,.f16,.f16x2,.bf16,."
     "bf16x2,.f32,.f64}" HINT,
     "=T @ T H", atom, NULL, 0, D_ATOMIC, 0, 0},
    {"atom" SCOPES "{*.-,.-,.-,.-,.-,.-,.-,.-,.-,.cas}{*.b16,.b32,.b64}" HINT, "=T @ T T H", atom, NULL, 0, D_OWN, 0, 0},
    {"atom" SCOPES "{*.exch}.b128" HINT, "=T @ T H", atom_128, NULL, 0, D_OWN, 0, 0},
    {"atom" SCOPES "{*.cas}.b128", "=T @ T T", atom_128, NULL, 0, D_OWN, 0, 0},
    {"atom" SCOPES "{*.-,.-,.-,.add}{.noftz}{*.v2,.v4,.v8}{*.f32,.f16,.bf16,.f16x2,.bf16x2}" HINT, "=vT @ vT H", NULL,
     choose_atom_vector, 0, D_ATOMIC, 0, 0},
    {"red" SCOPES "{*.and,.or,.xor,.add,.min,.max,.inc,.dec}{.noftz}{*.b32,.b64,.u32,.u64,.s32,.s64,.f16,.f16x2,.bf16,.bf16x2,."
     "f32,.f64}" HINT,
     "@ T H", red, NULL, 0, D_ATOMIC, 0, 0},
    {"red" SCOPES "{*.-,.-,.-,.add}{.noftz}{*.v2,.v4,.v8}{*.f32,.f16,.bf16,.f16x2,.bf16x2}" HINT, "@ vT H", NULL,
     choose_red_vector, 0, D_ATOMIC, 0, 0},
    {"cp.async" ASYNC, "@ @ N H", copy_async, NULL, 0, D_OWN, 0, 0},
    {"cp.async" ASYNC, "@ @ N w H", copy_async, NULL, 0, D_OWN, 0, 0},
    {"cp.async" ASYNC, "@ @ N p H", copy_async, NULL, 0, D_OWN, 0, 0},
    {"cp.async.commit_group", "", commit_group, NULL, 0, D_OWN, 0, 0},
    {"cp.async.wait_group", "N", wait_group, NULL, 0, D_OWN, 0, 0},
    {"cp.async.wait_all", "", wait_all, NULL, 0, D_OWN, 0, 0},
    {"ldmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "=4w @", ldmatrix, NULL, F_COLLECTIVE, D_OWN,
     0, 0},
    {"ldmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "=2w @", ldmatrix, NULL, F_COLLECTIVE, D_OWN,
     0, 0},
    {"ldmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "=1w @", ldmatrix, NULL, F_COLLECTIVE, D_OWN,
     0, 0},
    {"stmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "@ 4w", stmatrix, NULL, F_COLLECTIVE, D_USE,
     0, 0},
    {"stmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "@ 2w", stmatrix, NULL, F_COLLECTIVE, D_USE,
     0, 0},
    {"stmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "@ 1w", stmatrix, NULL, F_COLLECTIVE, D_USE,
     0, 0},
    {"membar{*.cta,.gl,.sys}", "", fence, NULL, 0, D_OWN, 0, 0},
    {"fence{.sc,.acq_rel,.acquire,.release}{.cta,.cluster,.gpu,.sys}", "", fence, NULL, 0, D_OWN, 0, 0},
    /* Proxies are ways to the same memory that a device does not keep in order, and a program here has one. */
    {"fence.proxy{*.alias,.async}{.global,.shared::cta,.shared::cluster}", "", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"membar.proxy{*.alias,.async}{.global,.shared::cta,.shared::cluster}", "", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"fence.proxy.tensormap::generic.release{*.cta,.cluster,.gpu,.sys}", "", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"fence.proxy.tensormap::generic.acquire{*.cta,.cluster,.gpu,.sys}", "@ N", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"fence.proxy.async::generic" RESTRICTIONS, "", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"fence" RESTRICTIONS, "", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"fence.mbarrier_init.release.cluster", "", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"createpolicy.fractional" PRIORITIES ".b64", "=d w?", make_policy, NULL, 0, D_OWN, 0, 0},
    {"createpolicy.range{.global}" PRIORITIES ".b64", "=d @ w w", make_policy, NULL, 0, D_OWN, 0, 0},
    {"createpolicy.cvt.L2.b64", "=d d", make_policy, NULL, 0, D_OWN, 0, 0},
    {"discard{.global}.L2", "@ N", discard, NULL, 0, D_OWN, 0, 0},
    {"applypriority{.global}.L2::evict_normal", "@ N", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"prefetch{.const,.param}.tensormap", "@", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"prefetchu.L1", "@", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"griddepcontrol{*.launch_dependents,.wait}", "", change_nothing, NULL, 0, D_OWN, 0, 0}, /* grids run one after the other */
    {"prefetch{.global,.local}{*.L1,.L2,.L2::evict_last,.L2::evict_normal}", "@", change_nothing, NULL, 0, D_OWN, 0, 0},
    {0},
};
