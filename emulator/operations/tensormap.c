/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensormap: kernels that change tensor maps, or build them from zeros, field by field; and fences of the proxy through which
 * copies read maps.
 */
#include "tensormap.h"

#include "cluster.h"
#include "finding.h"

enum { HALF = EMU_TENSOR_ALIGNMENT, HALVES = EMU_TENSOR_BYTES / HALF };

/* ---- finding maps ------------------------------------------------------------------------------------------------------ */

static bool find_map(emu_warp *warp, const emu_inst *inst, int lane, emu_space space, const emu_operand *operand,
                     emu_place half[HALVES])
{
    emu_operand one = *operand;
    emu_request r;

    for (int i = 0; i < HALVES; i++, one.displacement += HALF) {
        if (!emu_resolve(warp, inst, space, 1u << lane, &one, HALF, &r))
            return false;
        half[i] = r.place[lane];
    }
    return true;
}

bool emu_read_map(emu_warp *warp, const emu_inst *inst, int lane, emu_space space, const emu_operand *operand, emu_tensor *map)
{
    emu_place half[HALVES];

    if (!find_map(warp, inst, lane, space, operand, half))
        return false;
    for (int i = 0; i < HALVES; i++)
        memcpy((uint8_t *)map + (size_t)i * HALF, half[i].at, HALF);
    return true;
}

/* Write a map; copies read it through another proxy. */
static void write_map(emu_warp *warp, const emu_inst *inst, int lane, const emu_place half[HALVES], const emu_tensor *map)
{
    for (int i = 0; i < HALVES; i++) {
        const uint8_t *from = (const uint8_t *)map + (size_t)i * HALF;
        uint8_t *defined = emu_defined_bytes(warp, lane, &half[i]);
        emu_request r = {.mask = 1, .bytes = HALF, .place = {half[i]}};
        emu_check_access(warp, inst, lane, &half[i], HALF, from, true, false);
        emu_note_write(&r, 0);
        memcpy(half[i].at, from, HALF);
        if (defined)
            memset(defined, 1, HALF);
    }
    emu_forget_map(warp->block, half[0].address);
}

bool emu_check_map(emu_warp *warp, const emu_inst *inst, int lane, const emu_operand *operand, const emu_tensor *map)
{
    const uint64_t address = emu_address_of(warp, operand, lane);
    emu_place half[HALVES];

    if (!emu_tensor_is_sealed(map) || !emu_tensor_is_right(map)) {
        emu_find(warp, inst, CUEMU_ILLEGAL, lane, address,
                 emu_tensor_is_sealed(map) ? "the tensor map there has a field that cuTensorMapEncodeTiled would refuse"
                                           : "the 128 bytes there are no tensor map that cuTensorMapEncodeTiled has made");
        return false;
    }
    if (find_map(warp, inst, lane, S_GENERIC, operand, half) && half[0].allocation &&
        emu_was_written(warp, half[0].allocation, half[0].address) && !emu_has_acquired(warp->block, half[0].address) &&
        warp->block->launch->checks & CUEMU_CHECK_ASYNC)
        emu_find(
            warp, inst, CUEMU_PROXY_FENCE, lane, address,
            "uses the tensor map at 0x%llx, which was written in this launch with no fence.proxy.tensormap::generic.acquire "
            "of it since",
            (unsigned long long)half[0].address);
    return true;
}

/* ---- fields ------------------------------------------------------------------------------------------------------------ */

static bool is_zero(const emu_tensor *map)
{
    const uint8_t *at = (const uint8_t *)map;
    uint8_t any = 0;

    for (size_t i = 0; i < sizeof *map; i++)
        any |= at[i];
    return !any;
}

/* Open a lane's map for changes. Zeros are a new map. false: the launch has failed. */
static bool open_map(emu_warp *warp, const emu_inst *inst, int lane, emu_place half[HALVES], emu_tensor *map)
{
    for (unsigned n = 1; n < inst->operands && warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED; n++)
        emu_check_defined(warp, inst, &inst->operand[n], 1u << lane, "in a tensor map");
    if (!find_map(warp, inst, lane, (emu_space)inst->space, &inst->operand[0], half) ||
        !emu_read_map(warp, inst, lane, (emu_space)inst->space, &inst->operand[0], map))
        return false;
    if (emu_tensor_is_sealed(map) || is_zero(map))
        return true;
    emu_find(warp, inst, CUEMU_ILLEGAL, lane, half[0].address, "the 128 bytes there are neither a tensor map nor zeros");
    return false;
}

static void close_map(emu_warp *warp, const emu_inst *inst, int lane, const emu_place half[HALVES], emu_tensor *map)
{
    emu_tensor_seal(map);
    write_map(warp, inst, lane, half, map);
}

static void replace_address(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_place half[HALVES];
    emu_tensor map;

    EMU_EACH_LANE (i, mask) {
        if (!open_map(warp, inst, i, half, &map))
            return;
        map.address = emu_unsigned(warp, &inst->operand[1], i);
        close_map(warp, inst, i, half, &map);
    }
}

/* Set an enumerated field. false: the emulator does not support the value. */
static bool set_property(emu_tensor *map, unsigned field, uint32_t value)
{
    enum { RANK = 1, ELEMENT, INTERLEAVE, SWIZZLE, ATOMICITY, FILL };
    static const emu_element elements[] = {EL_U8,  EL_U16,     EL_U32, EL_S32,  EL_U64,  EL_S64,     EL_F16,
                                           EL_F32, EL_F32_FTZ, EL_F64, EL_BF16, EL_TF32, EL_TF32_FTZ};

    switch (field) {
    case RANK: /* minus 1 */
        map->rank = (uint8_t)(value < EMU_DIMENSIONS ? value + 1 : 0);
        return value < EMU_DIMENSIONS;
    case ELEMENT:
        if (value < sizeof elements / sizeof *elements)
            map->element = (uint8_t)elements[value];
        return value < sizeof elements / sizeof *elements;
    case SWIZZLE:
        map->swizzle = (uint8_t)(value & 3);
        return value <= 3;
    case FILL:
        map->fills_nan = value == 1;
        return value <= 1;
    default: /* no interleaving; 16-byte chunks are swizzled */
        return value == 0;
    }
}

static void replace_property(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_place half[HALVES];
    emu_tensor map;

    EMU_EACH_LANE (i, mask) {
        const uint32_t value = (uint32_t)emu_unsigned(warp, &inst->operand[1], i);
        if (!open_map(warp, inst, i, half, &map))
            return;
        if (!set_property(&map, inst->choice[0], value)) {
            emu_find(warp, inst, CUEMU_ILLEGAL, i, half[0].address, "a tensor map with %u there is not supported", value);
            return;
        }
        close_map(warp, inst, i, half, &map);
    }
}

/* [map], dimension, value. Strides are in bytes since PTX 8.5, in units of 16 bytes before. */
static void set_dimension(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool is_stride)
{
    enum { BOX = 1, EXTENT };
    const bool is_in_bytes = warp->block->launch->module->ptx_version >= 85;
    emu_place half[HALVES];
    emu_tensor map;

    EMU_EACH_LANE (i, mask) {
        const uint64_t value = emu_unsigned(warp, &inst->operand[2], i), n = emu_unsigned(warp, &inst->operand[1], i);
        if (!open_map(warp, inst, i, half, &map))
            return;
        if (n >= (is_stride ? EMU_DIMENSIONS - 1u : EMU_DIMENSIONS)) {
            emu_find(warp, inst, CUEMU_ILLEGAL, i, half[0].address, "a tensor map has no dimension %llu",
                     (unsigned long long)n);
            return;
        }
        if (is_stride)
            map.stride[n] = is_in_bytes ? value : value * 16;
        else if (inst->choice[0] == EXTENT)
            map.extent[n] = value;
        else if (inst->choice[0] == BOX)
            map.box[n] = value > EMU_MOST_OF_BOX ? 0 : (uint16_t)value;
        else
            map.step[n] = value > UINT8_MAX ? 0 : (uint8_t)value;
        close_map(warp, inst, i, half, &map);
    }
}

EMU_SETTLED(replace_dimension, set_dimension, false)
EMU_SETTLED(replace_stride, set_dimension, true)

/* ---- copies and fences ------------------------------------------------------------------------------------------------- */

/* tensormap.cp_fenceproxy [to], [from], 128: the warp copies from shared to global memory, with release. */
static void copy_map(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const int lane = __builtin_ctz(mask);
    emu_place half[HALVES];
    emu_tensor map;

    if (!emu_read_map(warp, inst, lane, S_SHARED, &inst->operand[1], &map) ||
        !find_map(warp, inst, lane, S_GLOBAL, &inst->operand[0], half))
        return;
    write_map(warp, inst, lane, half, &map);
    emu_fence(warp);
}

/* fence.proxy.tensormap::generic.acquire [map], 128 */
static void acquire_map(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    EMU_EACH_LANE (i, mask)
        emu_acquire_map(warp->block, emu_address_of(warp, &inst->operand[0], i));
}

static void release_map(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst, (void)mask;
    emu_fence(warp);
}

#define SPACE "{.global,.shared::cta}.b1024"
#define SCOPE "{*.cta,.cluster,.gpu,.sys}"

const emu_form emu_tensormap_forms[] = {
    {"tensormap.replace.tile.global_address" SPACE ".b64", "@ d", replace_address, NULL, 0, D_OWN, 0, 0, 90},
    {"tensormap.replace.tile{*.rank,.elemtype,.interleave_layout,.swizzle_mode,.swizzle_atomicity,.fill_mode}" SPACE ".b32",
     "@ w", replace_property, NULL, 0, D_OWN, 0, 0, 90},
    {"tensormap.replace.tile{*.box_dim,.global_dim,.element_stride}" SPACE ".b32", "@ N w", replace_dimension, NULL, 0, D_OWN,
     0, 0, 90},
    {"tensormap.replace.tile.global_stride" SPACE ".b64", "@ N d", replace_stride, NULL, 0, D_OWN, 0, 0, 90},
    {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release" SCOPE ".sync.aligned", "@ @ N", copy_map, NULL,
     F_WARP, D_OWN, 0, 0, 90},
    {"fence.proxy.tensormap::generic.release" SCOPE, "", release_map, NULL, 0, D_OWN, 0, 0},
    {"fence.proxy.tensormap::generic.acquire" SCOPE, "@ N", acquire_map, NULL, 0, D_OWN, 0, 0},
    {0},
};
