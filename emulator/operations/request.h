/* SPDX-License-Identifier: Apache-2.0 */
/* request: one memory access of a warp, with the host address of each lane. */
#ifndef EMU_REQUEST_H
#define EMU_REQUEST_H

#include "lanes.h"
#include "shadow.h"

typedef struct emu_request {
    emu_place place[EMU_LANES];
    uint32_t mask;
    unsigned bytes; /* per lane */
} emu_request;

/** Resolve a request of bytes from each lane of mask; space: of the addresses. false: the launch has failed. */
bool emu_resolve(emu_warp *warp, const emu_inst *inst, emu_space space, uint32_t mask, const emu_operand *operand,
                 unsigned bytes, emu_request *r);

/** Like emu_resolve, with given addresses; those of lanes outside mask are ignored. */
bool emu_resolve_at(emu_warp *warp, const emu_inst *inst, emu_space space, uint32_t mask, const uint64_t address[EMU_LANES],
                    unsigned bytes, emu_request *r);

/** Find `bytes` bytes at one lane's address; size and address are multiples of 16. false: the launch has failed. */
bool emu_resolve_span(emu_warp *warp, const emu_inst *inst, emu_space space, int lane, const emu_operand *operand,
                      uint32_t bytes, emu_place *place);

/** Does a request write read-only memory? A finding says so. */
bool emu_is_forbidden(emu_warp *warp, const emu_inst *inst, const emu_request *r);

/** Count a request. elements: per lane. */
void emu_count_request(const emu_warp *warp, const emu_inst *inst, const emu_request *r, unsigned elements, bool is_write);

static inline uint64_t emu_address_of(const emu_warp *warp, const emu_operand *operand, int lane)
{
    return emu_unsigned(warp, operand, lane) + (uint64_t)operand->displacement;
}

/** Return the lanes of a request whose address is in a space. */
static inline uint32_t emu_lanes_in(const emu_request *r, emu_space space)
{
    uint32_t lanes = 0;

    EMU_EACH_LANE (i, r->mask)
        lanes |= (uint32_t)(r->place[i].space == space) << i;
    return lanes;
}

/** Record a lane's write for the watch, if there is one. */
static inline void emu_note_write(const emu_request *r, int lane)
{
    const emu_place *place = &r->place[lane];
    emu_watch *watch = place->allocation ? place->allocation->watch : NULL;

    if (!watch)
        return;
    for (unsigned b = 0; b < r->bytes; b++) {
        const uint64_t at = place->address + b - watch->address;
        if (at < watch->rows * watch->pitch && atomic_load_explicit(&watch->writes[at], memory_order_relaxed) < 255)
            atomic_fetch_add_explicit(&watch->writes[at], 1, memory_order_relaxed);
    }
}

/** An access with release semantics orders what a fence before it would. */
static inline bool emu_releases(const emu_inst *inst)
{
    return memmem(inst->text, inst->text_length, ".release", 8) || memmem(inst->text, inst->text_length, ".acq_rel", 8);
}

#endif
