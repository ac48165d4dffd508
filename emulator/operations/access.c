/* SPDX-License-Identifier: Apache-2.0 */
/* access: loads and stores. */
#include "finding.h"
#include "request.h"

/* Does an access order itself: volatile, relaxed, acquire, release? choice[0] of the forms below. */
static bool is_ordered(const emu_inst *inst)
{
    return inst->choice[0] != 0;
}

static void load_element(emu_warp *warp, const emu_inst *inst, const emu_request *r, unsigned n, uint32_t mask)
{
    const emu_operand *d = &inst->operand[n];
    const unsigned bytes = emu_type_bytes(inst->type[0]);
    const bool is_signed = emu_type_is_signed(inst->type[0]);
    uint8_t *to = emu_lanes(warp, d);

    if (d->bytes == bytes) {
        EMU_EACH_LANE (i, mask)
            emu_copy_bytes(to + (size_t)i * bytes, r->place[i].at + (size_t)n * bytes, bytes);
    } else {
        EMU_EACH_LANE (i, mask) {
            uint64_t value[2] = {0};
            emu_copy_bytes(value, r->place[i].at + (size_t)n * bytes, bytes);
            if (is_signed && value[0] >> (8 * bytes - 1) & 1)
                value[0] |= UINT64_MAX << (8 * bytes - 1);
            emu_set_unsigned(warp, d, i, value[0]);
        }
    }
}

static bool are_defined(const uint8_t *known, unsigned bytes)
{
    static const uint8_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};

    switch (bytes) {
    case 2:
        return memcmp(known, ones, 2) == 0;
    case 4:
        return memcmp(known, ones, 4) == 0;
    case 8:
        return memcmp(known, ones, 8) == 0;
    default:
        return !memchr(known, 0, bytes);
    }
}

/* Return the lanes of mask whose bytes from `at` on are defined. */
static uint32_t find_defined(const emu_warp *warp, const emu_request *r, unsigned at, unsigned bytes, uint32_t mask)
{
    uint32_t defined = mask;

    EMU_EACH_LANE (i, mask) {
        const uint8_t *known = emu_defined_bytes(warp, i, &r->place[i]);
        if (known && !are_defined(known + at, bytes))
            defined &= ~(1u << i);
    }
    return defined;
}

static void load(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const unsigned bytes = emu_type_bytes(inst->type[0]) * inst->vector, size = bytes / inst->vector;
    const uint32_t checks = warp->block->launch->checks;
    uint32_t whole;
    emu_request r;

    if (!emu_resolve(warp, inst, inst->space, mask, &inst->operand[inst->vector], bytes, &r))
        return;
    emu_count_request(warp, inst, &r, inst->vector, false);
    if (checks & (CUEMU_CHECK_RACES | CUEMU_CHECK_ASYNC))
        EMU_EACH_LANE (i, mask)
            emu_check_access(warp, inst, i, &r.place[i], r.bytes, NULL, false, is_ordered(inst));
    for (unsigned n = 0; n < inst->vector; n++)
        load_element(warp, inst, &r, n, mask);
    if (!(checks & CUEMU_CHECK_UNINITIALISED))
        return;
    whole = find_defined(warp, &r, 0, bytes, mask);
    for (unsigned n = 0; n < inst->vector; n++)
        emu_set_defined(warp, &inst->operand[n], whole | find_defined(warp, &r, n * size, size, mask & ~whole), mask);
}

static void store(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const unsigned size = emu_type_bytes(inst->type[0]), bytes = size * inst->vector;
    const uint32_t checks = warp->block->launch->checks;
    emu_request r;

    if (!emu_resolve(warp, inst, inst->space, mask, &inst->operand[0], bytes, &r) || emu_is_forbidden(warp, inst, &r))
        return;
    emu_count_request(warp, inst, &r, inst->vector, true);
    if (checks & CUEMU_CHECK_RACES && is_ordered(inst) && emu_releases(inst))
        emu_fence(warp);
    EMU_EACH_LANE (i, mask) {
        uint8_t value[64];
        for (unsigned n = 0; n < inst->vector; n++) {
            const emu_operand *from = &inst->operand[1 + n];
            emu_copy_bytes(value + n * size, (const uint8_t *)emu_lanes(warp, from) + (size_t)i * from->bytes, size);
        }
        if (checks)
            emu_check_access(warp, inst, i, &r.place[i], r.bytes, value, true, is_ordered(inst));
        emu_copy_bytes(r.place[i].at, value, bytes);
        emu_note_write(&r, i);
    }
    if (!(checks & CUEMU_CHECK_UNINITIALISED))
        return;
    for (unsigned n = 0; n < inst->vector; n++) {
        const uint32_t known = emu_defined(warp, &inst->operand[1 + n]);
        const uint32_t global = emu_lanes_in(&r, S_GLOBAL);
        if (~known & global)
            emu_check_defined(warp, inst, &inst->operand[1 + n], global, "in a store to global memory");
        EMU_EACH_LANE (i, mask) {
            uint8_t *defined = emu_defined_bytes(warp, i, &r.place[i]);
            if (defined)
                memset(defined + n * size, known >> i & 1, size);
        }
    }
}

/* discard.L2 [a], 128: the bytes become undefined, as if never written. */
static void discard(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_request r;

    if (!emu_resolve(warp, inst, inst->space, mask, &inst->operand[0], 128, &r) || emu_is_forbidden(warp, inst, &r))
        return;
    EMU_EACH_LANE (i, mask) {
        uint8_t *defined = emu_defined_bytes(warp, i, &r.place[i]);
        if (defined)
            memset(defined, 0, 128);
    }
}

#define ORDERS "{.volatile,.relaxed,.acquire,.release}{.weak,.mmio}{.cta,.cluster,.gpu,.sys}"
#define SPACES "{.global,.shared,.shared::cta,.shared::cluster,.local,.param,.const,.param::entry,.param::func}"
#define CACHES                                                                                                            \
    "{.ca,.cg,.cs,.lu,.cv,.wb,.wt}{.nc}{.L1::evict_normal,.L1::evict_unchanged,.L1::evict_first,.L1::evict_last,.L1::no_" \
    "allocate}"                                                                                                           \
    "{.L2::evict_normal,.L2::evict_first,.L2::evict_last}{.L2::64B,.L2::128B,.L2::256B}{.L2::cache_hint}"
#define VALUES "{.v2,.v4,.v8}{*.b8,.b16,.b32,.b64,.b128,.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64,.f16,.bf16,.f32,.f64}"

const emu_form emu_access_forms[] = {
    {"ld" ORDERS SPACES CACHES VALUES, "=~vT @ H", load, NULL, 0, D_OWN, 0, 0},
    {"ldu{.-}{.global}" VALUES, "=~vT @", load, NULL, 0, D_OWN, 0, 0},
    {"st" ORDERS SPACES CACHES VALUES, "@ ~vT H", store, NULL, 0, D_OWN, 0, 0},
    {"discard{.global}.L2", "@ N", discard, NULL, 0, D_OWN, 0, 0},
    {0},
};
