/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_memory: tcgen05.alloc and dealloc, loads and stores of a warp, their waits, and fences. */
#include "tensor_memory.h"
#include "finding.h"
#include "request.h"
#include "sums.h"
#include "tcgen05.h"

/* Read an operand that must be equal in all lanes. */
static bool is_uniform(emu_warp *warp, const emu_inst *inst, const emu_operand *operand, const char *what)
{
    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        emu_check_defined(warp, inst, operand, UINT32_MAX, "of tensor memory");
    for (int lane = 1; lane < EMU_LANES; lane++)
        if (emu_unsigned(warp, operand, lane) != emu_unsigned(warp, operand, 0)) {
            emu_find(warp, inst, CUEMU_ILLEGAL, lane, 0, "%s is another than that of the warp's first lane", what);
            return false;
        }
    return true;
}

/* ---- allocation -------------------------------------------------------------------------------------------------------- */

static bool are_columns(emu_warp *warp, const emu_inst *inst, const emu_operand *operand, uint32_t *columns)
{
    *columns = (uint32_t)emu_unsigned(warp, operand, 0);
    if (!is_uniform(warp, inst, operand, "the number of columns"))
        return false;
    if (*columns >= EMU_TENSOR_LEAST && *columns <= EMU_TENSOR_COLUMNS && !(*columns & (*columns - 1)))
        return true;
    emu_find(warp, inst, CUEMU_ILLEGAL, 0, *columns, "%u columns of tensor memory: an allocation has 32, 64, 128, 256 or 512",
             *columns);
    return false;
}

/* tcgen05.alloc [to], columns: the address of the first column is stored to shared memory. */
static void allocate(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_block *block = warp->block;
    uint32_t columns, first = 0;
    uint8_t *defined;
    emu_request r;

    (void)mask;
    if (!emu_tensor_group(warp, inst, 0, inst->choice[0]) || !are_columns(warp, inst, &inst->operand[1], &columns) ||
        !emu_resolve(warp, inst, inst->space, 1, &inst->operand[0], sizeof first, &r))
        return;
    if (r.place[0].space != S_SHARED || (r.place[0].block && r.place[0].block != block)) {
        emu_find(warp, inst, CUEMU_ILLEGAL, 0, r.place[0].address, "stores the address outside the block's shared memory");
        return;
    }
    if (block->tensor->relinquished_by) {
        emu_find(warp, inst, CUEMU_TENSOR_MEMORY, 0, 0, "allocates tensor memory, which the block has relinquished at line %u",
                 block->tensor->relinquished_by->line);
        return;
    }
    if (!emu_tensor_allocate(warp, inst, columns, &first)) {
        warp->is_held = true;
        return;
    }
    emu_check_access(warp, inst, 0, &r.place[0], sizeof first, (const uint8_t *)&first, true, false);
    memcpy(r.place[0].at, &first, sizeof first);
    defined = emu_defined_bytes(warp, 0, &r.place[0]);
    if (defined)
        memset(defined, 1, sizeof first);
}

/* tcgen05.dealloc address, columns */
static void deallocate(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    uint32_t columns;

    (void)mask;
    if (!emu_tensor_group(warp, inst, 0, inst->choice[0]) || !is_uniform(warp, inst, &inst->operand[0], "the address") ||
        !are_columns(warp, inst, &inst->operand[1], &columns))
        return;
    emu_tensor_free(warp, inst, (uint32_t)emu_unsigned(warp, &inst->operand[0], 0), columns);
}

static void relinquish(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)mask;
    if (emu_tensor_group(warp, inst, 0, inst->choice[0]))
        warp->block->tensor->relinquished_by = inst;
}

/* ---- loads and stores -------------------------------------------------------------------------------------------------- */

typedef enum shape { S16X64 = 1, S16X128, S16X256, S32X32, S16X32X2 } shape;

/* The words of tensor memory that a warp accesses: lanes and columns from an address on. */
typedef struct window {
    shape shape;
    uint32_t lanes, columns, registers; /* columns: in words of a register, which with `packs` take two columns */
    uint32_t second;                    /* 16x32bx2: columns to those of the upper threads */
    uint32_t lane, column;
    bool packs;
    emu_tensor_memory *memory;
} window;

/* A word of tensor memory. */
typedef struct spot {
    uint32_t lane, column;
} spot;

/* Return the place of register i of a thread, counted in registers from the window's first word. */
static spot place_in(const window *w, uint32_t thread, uint32_t i)
{
    switch (w->shape) {
    case S16X64:
        return (spot){thread % 2 * 8 + thread / 4, 2 * i + thread / 2 % 2};
    case S16X128:
        return (spot){i % 2 * 8 + thread / 4, i / 2 * 4 + thread % 4};
    case S16X256:
        return (spot){i / 2 % 2 * 8 + thread / 4, i / 4 * 8 + thread % 4 * 2 + i % 2};
    case S16X32X2:
        return (spot){thread % 16, i};
    default:
        return (spot){thread, i};
    }
}

/* Return the word, or the first of two, that is register i of a thread. */
static spot spot_of(const window *w, uint32_t thread, uint32_t i)
{
    const spot at = place_in(w, thread, i);
    const uint32_t second = w->shape == S16X32X2 && thread >= EMU_PART ? w->second : 0;

    return (spot){w->lane + at.lane, w->column + second + at.column * (w->packs ? 2 : 1)};
}

/*
 * Find the words of an instruction. A device takes the quarter from the warp, and some programs leave it 0 in the address; any other
 * than the warp's is a mistake. false: the warp may not access them, and a finding says so.
 */
static bool find_window(emu_warp *warp, const emu_inst *inst, const emu_operand *address, window *w)
{
    static const uint8_t registers[] = {0, 1, 2, 4, 1, 1}, columns[] = {0, 2, 4, 8, 1, 1};
    const uint32_t times = 1u << (inst->choice[1] - 1), quarter = warp->number % 4 * EMU_QUARTER;
    uint32_t at, width;

    *w = (window){.shape = (shape)inst->choice[0], .packs = inst->choice[2]};
    w->lanes = w->shape == S32X32 ? EMU_QUARTER : EMU_PART;
    w->registers = registers[w->shape] * times;
    w->columns = columns[w->shape] * times;
    if (!is_uniform(warp, inst, address, "the address"))
        return false;
    at = (uint32_t)emu_address_of(warp, address, 0);
    w->lane = (at >> 16) + (at >> 16 < EMU_QUARTER ? quarter : 0);
    w->column = at & 0xffff;
    if (w->shape == S16X32X2)
        w->second = (uint32_t)emu_unsigned(warp, &inst->operand[inst->outputs ? inst->operands - 1 : 1], 0);
    width = w->columns * (w->packs ? 2 : 1);
    if (w->lane != quarter && !(w->lanes == EMU_PART && w->lane == quarter + EMU_PART)) {
        emu_find(warp, inst, CUEMU_TENSOR_MEMORY, 0, at,
                 "accesses tensor memory from lane %u on: warp %u has lanes %u to %u, and this shape begins at %u%s", w->lane,
                 warp->number, quarter, quarter + EMU_QUARTER - 1, quarter, w->lanes == EMU_PART ? " or 16 further" : "");
        return false;
    }
    w->memory = emu_tensor_columns(warp, inst, 0, warp->block, w->column, width);
    if (w->memory && w->shape == S16X32X2)
        w->memory = emu_tensor_columns(warp, inst, 0, warp->block, w->column + w->second, width);
    return w->memory != NULL;
}

static void touch_window(emu_warp *warp, const emu_inst *inst, const window *w, emu_tensor_access access)
{
    const uint32_t width = w->columns * (w->packs ? 2 : 1);

    for (uint32_t part = w->lane / EMU_PART; part < (w->lane + w->lanes) / EMU_PART; part++)
        for (uint32_t c = 0; c < width; c++) {
            emu_tensor_touch(warp, inst, 0, w->memory, w->column + c, part, access);
            if (w->shape == S16X32X2)
                emu_tensor_touch(warp, inst, 0, w->memory, w->column + w->second + c, part, access);
        }
}

static void load(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    window w;

    (void)mask;
    if (!find_window(warp, inst, &inst->operand[inst->outputs], &w))
        return;
    touch_window(warp, inst, &w, EMU_LOAD);
    for (uint32_t i = 0; i < w.registers; i++) {
        uint32_t known = 0;
        for (uint32_t lane = 0; lane < EMU_LANES; lane++) {
            const spot at = spot_of(&w, lane, i);
            uint32_t value = w.memory->value[at.column][at.lane];
            bool is_known = w.memory->known[at.column][at.lane];
            if (w.packs) {
                value = (value & 0xffff) | w.memory->value[at.column + 1][at.lane] << 16;
                is_known &= w.memory->known[at.column + 1][at.lane];
            }
            emu_set_unsigned(warp, &inst->operand[i], (int)lane, value);
            known |= (uint32_t)is_known << lane;
        }
        emu_set_defined(warp, &inst->operand[i], known, UINT32_MAX);
    }
    emu_sums_load(warp, inst);
}

static void store(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_operand *from;
    window w;

    (void)mask;
    if (!find_window(warp, inst, &inst->operand[0], &w))
        return;
    from = &inst->operand[w.shape == S16X32X2 ? 2 : 1];
    touch_window(warp, inst, &w, EMU_STORE);
    for (uint32_t i = 0; i < w.registers; i++)
        for (uint32_t lane = 0; lane < EMU_LANES; lane++) {
            const spot at = spot_of(&w, lane, i);
            const uint32_t value = (uint32_t)emu_unsigned(warp, &from[i], (int)lane);
            const bool is_known = emu_defined(warp, &from[i]) >> lane & 1;
            w.memory->value[at.column][at.lane] = w.packs ? value & 0xffff : value;
            w.memory->known[at.column][at.lane] = is_known;
            if (w.packs) {
                w.memory->value[at.column + 1][at.lane] = value >> 16;
                w.memory->known[at.column + 1][at.lane] = is_known;
            }
        }
}

/* Is the number of registers that of the shape? */
static bool fits(const emu_inst *inst, unsigned registers)
{
    static const uint8_t of_shape[] = {0, 1, 2, 4, 1, 1};

    return registers == (unsigned)of_shape[inst->choice[0]] << (inst->choice[1] - 1);
}

static emu_exec choose_load(const emu_inst *inst)
{
    return fits(inst, inst->outputs) ? load : NULL;
}

static emu_exec choose_store(const emu_inst *inst)
{
    return fits(inst, inst->operands - (inst->choice[0] == S16X32X2 ? 2u : 1u)) ? store : NULL;
}

/* ---- waits and fences -------------------------------------------------------------------------------------------------- */

static void wait_for_loads(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst, (void)mask;
    emu_tensor_wait(warp, true);
    if (warp->sums)
        warp->sums->waits++;
}

static void wait_for_stores(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst, (void)mask;
    emu_tensor_wait(warp, false);
}

static void fence_before(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst, (void)mask;
    emu_tensor_offer(warp);
}

static void fence_after(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst, (void)mask;
    emu_tensor_settle(warp);
}

#define TIMES "{*.x1,.x2,.x4,.x8,.x16,.x32,.x64,.x128}"
#define SHAPES "{*.16x64b,.16x128b,.16x256b,.32x32b}"
#define TWICE "{*.-,.-,.-,.-,.16x32bx2}"

const emu_form emu_tensor_memory_forms[] = {
    {"tcgen05.alloc" EMU_GROUPS ".sync.aligned{.shared::cta}.b32", "@ w", allocate, NULL, F_WARP, D_OWN, 0, 0, EMU_DATACENTER},
    {"tcgen05.dealloc" EMU_GROUPS ".sync.aligned.b32", "w w", deallocate, NULL, F_WARP, D_OWN, 0, 0, EMU_DATACENTER},
    {"tcgen05.relinquish_alloc_permit" EMU_GROUPS ".sync.aligned", "", relinquish, NULL, F_WARP, D_OWN, 0, 0, EMU_DATACENTER},
    {"tcgen05.ld.sync.aligned" SHAPES TIMES "{.pack::16b}.b32", "=&w @", NULL, choose_load, F_WARP, D_LATE, 0, 0,
     EMU_DATACENTER},
    {"tcgen05.ld.sync.aligned" TWICE TIMES "{.pack::16b}.b32", "=&w @ N", NULL, choose_load, F_WARP, D_LATE, 0, 0,
     EMU_DATACENTER},
    {"tcgen05.st.sync.aligned" SHAPES TIMES "{.unpack::16b}.b32", "@ &w", NULL, choose_store, F_WARP, D_OWN, 0, 0,
     EMU_DATACENTER},
    {"tcgen05.st.sync.aligned" TWICE TIMES "{.unpack::16b}.b32", "@ N &w", NULL, choose_store, F_WARP, D_OWN, 0, 0,
     EMU_DATACENTER},
    {"tcgen05.wait::ld.sync.aligned", "", wait_for_loads, NULL, F_WARP, D_OWN, 0, 0, EMU_DATACENTER},
    {"tcgen05.wait::st.sync.aligned", "", wait_for_stores, NULL, F_WARP, D_OWN, 0, 0, EMU_DATACENTER},
    {"tcgen05.fence::before_thread_sync", "", fence_before, NULL, 0, D_OWN, 0, 0, EMU_DATACENTER},
    {"tcgen05.fence::after_thread_sync", "", fence_after, NULL, 0, D_OWN, 0, 0, EMU_DATACENTER},
    {0},
};
