/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack: a step ahead of the product (templates/parts/pack.cuh) that copies operands to the workspace, where every line begins at a
 * multiple of 16 bytes, where tiles are whole if the family wants them so, where lines may lie the other way, where tf32 is rounded, and
 * where weights (tj_widens_weights) become numbers of the type that they are multiplied by.
 *
 * A family says which operands in a tj_pack, and then:
 *
 *   resolve   tj_pack_check
 *   moved     tj_pack_moved: the problem as the product reads it, with its layouts
 *   describe  tj_pack_describe, behind tj_split_describe and what sets form->align, whether or not anything is packed
 *   count     tj_pack_count
 *   template  parts/vector.cuh, with compute tf32 parts/tf32.cuh, with weights parts/widen.cuh, and parts/pack.cuh where the text's
 *             `packs` says so; the product waits for the step ahead, by griddepcontrol.wait, before it reads M or N
 */
#ifndef TJ_GENERATOR_PACK_H
#define TJ_GENERATOR_PACK_H

#include "family.h"

/** One operand of the text. All zero: the product reads it where the caller has it. */
typedef struct tj_pack_operand {
    bool is_packed;
    bool transposes;    /* lines along k become lines across it, or the other way round; elements have 4 bytes, or 1 */
    bool asks_to_align; /* where all 16 bytes can be read at once, they are, and form->align asks for such a pointer */
    int32_t lines;      /* the packed lines are a multiple of these, one of them at least; 0: as 1 */
    int32_t line;       /* and the elements of each a multiple of these, and of 16 bytes in any case; 0: as 1 */
    int32_t slice;      /* of the workspace: an index into tj_launch_form.slice, one for each operand; that of splits is 0 */
} tj_pack_operand;

/** Both, by tj_which: TJ_MATRIX_M and TJ_MATRIX_N of the text. */
typedef struct tj_pack {
    tj_pack_operand operand[2];
} tj_pack;

/** Is there a step at all? */
static inline bool tj_pack_is_any(const tj_pack *pack)
{
    return pack->operand[0].is_packed || pack->operand[1].is_packed;
}

/**
 * Refuses what cannot be packed: the sizes must be known when the text is made, and fit 63 bits. asked ("pack=both") and remedy
 * ("pack=none") are for the message.
 */
tj_status tj_pack_check(const tj_problem *view, const tj_pack *pack, int32_t splits, const char *asked, const char *remedy,
                        tj_error *err);

/** The problem with the types, layouts, leading dimensions and strides of packed operands. */
tj_problem tj_pack_moved(const tj_problem *view, const tj_pack *pack);

/** Lines of the packed operand, with those that were added. */
int64_t tj_pack_lines(const tj_problem *view, const tj_pack *pack, tj_which which);

/**
 * The template's parameters, the room in the workspace behind what is there, at a multiple of 128 bytes from its beginning, and the
 * step. The product gets its arguments, and overlaps the step: it waits by itself.
 */
void tj_pack_describe(const tj_problem *view, const tj_pack *pack, tj_template_params *fill, tj_launch_form *form);

/** What of a tensor map says where a packed operand lies; its box and the like are the family's. */
void tj_pack_map(const tj_problem *view, const tj_pack *pack, tj_which which, tj_tensor_map *map);

/** Count the step: tj_counts.pack. */
void tj_pack_count(const tj_problem *view, const tj_pack *pack, tj_counts *counts);

#endif
