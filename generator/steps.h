/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps: the kernels of a launch: add them, name them, and list their arguments.
 */
#ifndef TJ_GENERATOR_STEPS_H
#define TJ_GENERATOR_STEPS_H

#include "family.h"

/** Return the product's step, to be filled in. */
static inline tj_launch_step *tj_step_product(tj_launch_form *form)
{
    return &form->step[form->product];
}

/** Return what the source calls the number of the product that a block, or a tile that it walks, belongs to. */
static inline const char *tj_step_product_name(const tj_launch_step *step)
{
    return step->grid == TJ_GRID_WALK_ALL ? "product" : step->splits > 1 ? "blockIdx.z / SPLITS" : "blockIdx.z";
}

/**
 * Add a kernel: directly before the product, or after all others. what ("reduce") is static text: it names the kernel, and the
 * template's parameter for that name. Other steps may move. fill may be NULL, as in tj_family.describe.
 */
tj_launch_step *tj_step_add(const tj_problem *view, const char *what, bool is_ahead, tj_template_params *fill,
                            tj_launch_form *form);

/**
 * Set the kernel's name: tiled_f32_512x300x700, in the caller's dimensions; a dimension that is passed keeps its letter. The
 * template calls the kernel by what alone ("tiled").
 */
void tj_step_name(const tj_problem *view, const char *what, tj_template_params *fill, const tj_launch_form *form,
                  tj_launch_step *step);

/** Set the threads of a block, in one row, and the elements of P that it computes. */
static inline void tj_step_set_blocks(tj_launch_step *step, int32_t threads, int32_t rows, int32_t cols)
{
    step->block_x = threads;
    step->block_y = 1;
    step->block_rows = rows;
    step->block_cols = cols;
}

/** Append an argument, if it is present. */
static inline void tj_step_add_arg(tj_launch_step *step, bool is_present, tj_argument_kind kind, int32_t index)
{
    if (is_present)
        step->arg[step->arg_count++] = (tj_argument){(int32_t)kind, index};
}

/** Append the lists that a kernel reads, as bits of list_table.h say: addresses, or the elements of those in host memory. */
void tj_step_add_lists(const tj_problem *problem, unsigned read, tj_launch_step *step);

/**
 * List the arguments of a step, from which tj_signature_print prints its parameters. reads: M and N; writes: P. A step that does
 * only one of these gets the workspace in place of the rest. If is_swapped, the source's M is the caller's N.
 */
void tj_step_list_args(const tj_problem *view, bool is_swapped, bool reads, bool writes, tj_launch_step *step);

/**
 * When all steps are added: decide whether the product waits for an earlier kernel before it touches an operand (`awaits`), and
 * whether it lets a later kernel start early (`dependents`). A product that the caller asks to overlap does both, and so does a
 * short one that is the first kernel: it may overlap the preceding kernel in the stream. If the first kernel is another one,
 * that one waits (`first_awaits`), and overlaps.
 */
void tj_step_describe_order(const tj_problem *view, tj_template_params *fill, tj_launch_form *form);

/** May the first kernel of a launch overlap the kernel before the launch? Known when all steps are described. */
bool tj_launch_overlaps(const tj_problem *view, const tj_launch_form *form);

/**
 * Return the `*` of a pointer to memory that the kernel of a step only reads: "*__restrict__ ", which allows ld.global.nc, or "*".
 * Such a load is for memory that nobody writes while the kernel lives. But a kernel before the launch, which that overlaps, may
 * write the caller's operands meanwhile, and an earlier kernel of the launch the workspace (is_workspace).
 */
const char *tj_step_pointer(const tj_problem *view, const tj_launch_form *form, const tj_launch_step *step, bool is_workspace);

/** List the outputs of the epilogue's reductions, for the step that finishes them. */
void tj_step_list_results(const tj_problem *view, tj_launch_step *step);

#endif
