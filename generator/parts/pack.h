/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack: a kernel before the product (templates/pack/pack.cuh) that copies operands to the workspace. Every packed line begins
 * at a multiple of 16 bytes. On request tiles are padded to whole ones and lines are transposed; tf32 is rounded, and weights
 * (tj_widens_weights) become numbers of the type that they are multiplied by.
 *
 * A family says which operands in a tj_pack, and then calls:
 *
 *   resolve   tj_pack_check
 *   moved     tj_pack_moved: the problem as the product reads it, with its layouts
 *   describe  tj_pack_describe, after tj_split_describe and after form->align is set, whether or not anything is packed
 *   count     tj_pack_count
 *   template  parts/vector.cuh, with compute tf32 parts/tf32.cuh, with weights parts/widen.cuh, and pack/pack.cuh where the source's
 *             `packs` is set; the product waits for the pack kernel, by griddepcontrol.wait, before it reads M or N
 */
#ifndef TJ_GENERATOR_PACK_H
#define TJ_GENERATOR_PACK_H

#include "family.h"

/** One operand of the source. All zero: the product reads the caller's matrix. */
typedef struct tj_pack_operand {
    bool is_packed;
    bool transposes;    /* exchange the direction of lines: along k to across k, or the reverse; elements have 4 bytes, or 1 */
    bool asks_to_align; /* read 16 bytes at once where possible, and ask for an aligned pointer in form->align */
    int32_t lines;      /* the number of packed lines is a multiple of this, and not 0; 0: as 1 */
    int32_t line;       /* the elements of a line are a multiple of this, and of 16 bytes in any case; 0: as 1 */
    int32_t slice;      /* of the workspace: index into tj_launch_form.slice, one for each operand; splits use slice 0 */
} tj_pack_operand;

/** Both operands, by tj_which: TJ_MATRIX_M and TJ_MATRIX_N of the source. */
typedef struct tj_pack {
    tj_pack_operand operand[2];
} tj_pack;

/** Is any operand packed? */
static inline bool tj_pack_is_any(const tj_pack *pack)
{
    return pack->operand[0].is_packed || pack->operand[1].is_packed;
}

/**
 * Refuse operands that cannot be packed: the sizes must be known when the source is generated, and fit 63 bits. asked
 * ("pack=both") and remedy ("pack=none") appear in the message.
 */
tj_status tj_pack_check(const tj_problem *view, const tj_pack *pack, int32_t splits, const char *asked, const char *remedy,
                        tj_error *err);

/** Return the problem with the types, layouts, leading dimensions and strides of packed operands. */
tj_problem tj_pack_moved(const tj_problem *view, const tj_pack *pack);

/** Return the number of lines of the packed operand, padding included. */
int64_t tj_pack_lines(const tj_problem *view, const tj_pack *pack, tj_which which);

/**
 * Set the template's parameters, reserve slices at multiples of 128 bytes at the current end of the workspace, and add the pack
 * kernel. The product gets its arguments, and overlaps the pack kernel: it waits on the device.
 */
void tj_pack_describe(const tj_problem *view, const tj_pack *pack, tj_template_params *fill, tj_launch_form *form);

/** Fill in the members of a tensor map that locate a packed operand; the family fills in the box and the rest. */
void tj_pack_map(const tj_problem *view, const tj_pack *pack, tj_which which, tj_tensor_map *map);

/** Count the pack kernel in tj_counts.pack. */
void tj_pack_count(const tj_problem *view, const tj_pack *pack, tj_counts *counts);

#endif
