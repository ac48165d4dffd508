/* SPDX-License-Identifier: Apache-2.0 */
/*
 * family: the form that describes each way to compute a product. docs/adding-a-family.md walks through one.
 */
#ifndef TJ_GENERATOR_FAMILY_H
#define TJ_GENERATOR_FAMILY_H

#include <tilejit/source.h>

#include "canonical.h"
#include "checked.h"
#include "counts.h"
#include "invariant.h"
#include "model.h"
#include "symmetric.h"
#include "template.h"

enum { TJ_FAMILY_START_PARAMS = 14 };
enum { TJ_GRID_LIMIT = 65535 }; /* blocks on grid.y, and on grid.z */

/** The tile of P that a block computes, and the length of a phase, each with its name in the source. */
typedef struct tj_tile {
    int32_t rows, k, cols;
    const char *rows_name, *k_name, *cols_name;
} tj_tile;

/**
 * Rows of values for the first parameters of a config, in the order of the form. 0, and parameters after the row, stay open.
 */
typedef struct tj_family_values {
    size_t count;
    const int32_t (*row)[TJ_FAMILY_START_PARAMS];
} tj_family_values;

struct tj_custom; /* custom.h */

struct tj_family {
    const struct tj_custom *
        custom; /* of the application: of the members below it has only data, and a resolve that refuses all problems; NULL: ours */
    const char *name, *summary;
    const tj_param *param;
    size_t param_count;
    const char *const *constraint; /* sentences, NULL-terminated */
    const tj_family_values *start; /* configs from which a search begins, besides the default. NULL: none */
    const tj_family_values
        *weighed;       /* the model chooses among these for a device if the config sets none of them. NULL: none */
    uint32_t types;     /* of M, N and P, bits 1 << tj_type; 0: all */
    bool takes_weights; /* M or N may have fewer bits than the other, if that is a float, whatever `types` says */
    enum { TJ_PAIRS_OF_WEIGHTS = 1, TJ_PAIRS } takes_pairs; /* M or N may have 4 bits, two in a byte; 0: neither */
    bool takes_complex;                                     /* c64 and c128, whatever `types` says; they need add_product */
    bool takes_repacked;                                    /* M or N of 4 bits may be in the order of tj_repack */
    bool scales_along_k;                                    /* plain scales (tj_scales_are_plain) of parts of k */
    bool sums_in_registers;                                 /* many accumulators: a kernel that spills is not launched */
    bool takes_gathered;                                    /* rows of M by an index */
    bool takes_scattered;                                   /* rows of P by an index */
    bool takes_symmetric;                                   /* one triangle of P is computed (tj_symmetric), in square tiles */
    bool (*takes_tall)(const tj_problem *view, const tj_config *config); /* and in tiles of two squares; NULL: never */
    bool takes_groups_along_k;
    bool takes_groups; /* rows in groups, by offsets or masked */
    enum {
        TJ_REDUCES_BY_WARP = 1, /* a thread has rows r and columns c of P, and a warp combines its lanes' partial results */
        TJ_REDUCES_BY_PATH,     /* the same in several kernels, of which the device selects one; each has its own tiles */
        TJ_REDUCES_BY_TILE,     /* a thread has one element, and a block combines its tile of TILE_WIDTH x TILE_WIDTH */
        TJ_REDUCES_BY_ROWS, /* a thread has one element after the other, and a block combines some rows of its tile at a time */
        TJ_REDUCES_BY_TEAM  /* as by warp, but a team of threads has all of P: no kernel follows */
    } reduces;              /* rows and columns (tj_epilogue_reduces), finished by the kernel of templates/parts/combine.cuh */
    const tj_model *model;  /* constants of its predicted time; `count` replaces them for a second kind of kernel */
    bool checks_k;          /* false: a thread walks all of k, so k never needs a check */
    int32_t widest;         /* the longest edge that a tile may have; decides whether indexes fit an int */

    /**
     * Does the source compute P^T = N^T . M^T (tj_problem_transpose)? NULL: exactly if P is column-major, so that the source's
     * P is row-major. A family with its own rule has sources for both layouts of P.
     */
    bool (*is_swapped)(const tj_problem *problem, const tj_config *config);

    /**
     * Return the tile of a config whose parameters are settled, in the source's dimensions. Depends on problem by its types
     * only.
     */
    tj_tile (*tile)(const tj_problem *problem, const tj_config *config);

    /**
     * Settle the parameters that are still 0 and the checks that are still TJ_CHECK_AUTO, and test the constraints. Values are
     * in range already. view: the problem as the source sees it (tj_request_view); config is in the caller's dimensions.
     */
    tj_status (*resolve)(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err);

    /**
     * Can a source of this family multiply by scales that are not plain (tj_scales_are_plain)? Types and layouts of view are
     * those that the family takes. NULL: by none.
     */
    bool (*takes_scales)(const tj_problem *view);

    /**
     * Does the source quantise P itself, whose scales it finds (tj_problem.scale[TJ_MATRIX_P])? problem: the caller's, canonical,
     * with such scales; parameters of config may be open. NULL or false: a kernel after the product does it (parts/after.h).
     */
    bool (*quantizes)(const tj_problem *problem, const tj_config *config);

    /**
     * Return the order in which the source of a resolved config adds the products of an element, as far as it is one that a
     * problem may ask for (tj_sum_order_of), and keeps to it in every tile, at the edges of P too. view has no sums of integers.
     * NULL: its own.
     */
    tj_sum_order (*sum_order)(const tj_problem *view, const tj_config *config);

    /**
     * Leave a thread more registers, by looser launch bounds or smaller tiles. config is resolved. False: nothing is left to
     * do. NULL: the family has no such bounds.
     */
    bool (*relax)(tj_config *config);

    /**
     * Change the config to admit `rows` rows of the source's P. config is resolved. False: it admits them already, or cannot.
     * NULL: no config ever can.
     */
    bool (*for_tall)(const tj_problem *problem, int64_t rows, tj_config *config);

    /**
     * Change the config so that operands need only the alignment of an element and, without has_workspace, no workspace. config
     * is resolved. False: the family cannot do without. NULL: it never needs either.
     */
    bool (*for_any_operands)(bool has_workspace, tj_config *config);

    /** Choose features of a target (tj_feature bits), where config leaves them open. NULL: no source needs any. */
    void (*for_target)(uint32_t features, tj_config *config);

    /**
     * Return the operands as the product reads them after an earlier kernel has moved them, with their new leading dimensions
     * and strides. NULL: not moved.
     */
    tj_problem (*moved)(const tj_problem *view, const tj_config *config);

    /**
     * Return the name of the template, set its parameters beyond those of every family, and fill in the launch form. The form
     * begins with one step, the product, a TJ_GRID_TILES. A product without arguments gets those of
     * tj_step_list_args. Every other step is named after its purpose ("reduce").
     */
    const char *(*describe)(const tj_problem *view, const tj_config *config, tj_template_params *params, tj_launch_form *form);

    /**
     * Count the traffic and work of a launch (docs/analysis.md). Every extent, leading dimension and stride of view is a
     * number. The caller has filled in the model, blocks, threads, bytes of elements and of shared memory, flop, and the work of
     * memory and of the pipe of sums outside tensor cores. Afterwards it adds the cost of beta to a launch without splits, and
     * derives global_bytes, the intensities and the work of the L2, unless the family states that the L1 serves some. The
     * family counts the rest. May be NULL: then the family's speed is unknown.
     */
    void (*count)(const tj_problem *view, const tj_config *config, tj_counts *counts);

    /**
     * Can a resolved config be the fastest for this problem on any device? A tuner omits the others. NULL: every config can.
     */
    bool (*is_worth_trying)(const tj_problem *view, const tj_config *config);

    /** Decide the same from the first `known` parameters (tj_request_hopeless). NULL: undecided. */
    bool (*is_hopeless)(const tj_problem *view, const tj_config *config, size_t known);
};

/** Does a thread keep the partial reductions of its rows and columns until all of them are stored? */
static inline bool tj_reduces_by_thread(const tj_family *family)
{
    return family->reduces == TJ_REDUCES_BY_WARP || family->reduces == TJ_REDUCES_BY_PATH ||
           family->reduces == TJ_REDUCES_BY_TEAM;
}

/** f32, f64, f16 and bf16: the types of a family with float accumulators, converted one by one. */
#define TJ_FLOAT_TYPES (1U << TJ_F32 | 1U << TJ_F64 | 1U << TJ_F16 | 1U << TJ_BF16)

#include "families/table.h"

/** The boundary checks of a resolved config, in the source's dimensions. */
typedef struct tj_checks {
    bool j, k, l;
} tj_checks;

static inline tj_checks tj_checks_of(const tj_config *config, bool is_swapped)
{
    const bool j = config->check_j == TJ_CHECK_ON, l = config->check_l == TJ_CHECK_ON;

    return (tj_checks){is_swapped ? l : j, config->check_k == TJ_CHECK_ON, is_swapped ? j : l};
}

/** Return the view with groups of the usual size, which forms use for decisions; unchanged without groups. */
static inline tj_problem tj_mean_of_groups(tj_problem view)
{
    if (tj_is_grouped(&view))
        view.j.extent = tj_usual_rows(&view);
    return view;
}

/**
 * Return the alignment in bytes that the source asks of a matrix of a canonical problem; 0: that of an element or, with arrays
 * of pointers, of a pointer.
 */
static inline int32_t tj_asked_alignment(const tj_problem *problem, const tj_launch_form *form, tj_which which)
{
    const tj_matrix *matrix = tj_problem_matrix(problem, which);
    const int32_t bytes = form->align[which];

    return !tj_stride_is_pointers(matrix->stride) && bytes > (int32_t)tj_type_bytes((tj_type)matrix->type) ? bytes : 0;
}

/**
 * Return the config that takes every operand of a problem, in few registers: the choice if nothing else is known. Its family is
 * TJ_SAFE_FAMILY, unless the problem's invariant asks for the sums of tensor cores. Weights of 4 bits then ask for aligned operands,
 * as do 8-bit floats in parts of k, unless they can be packed.
 */
tj_config tj_safe_config(const tj_problem *problem);

/** Check a config, and that its values are in the ranges of its family. Errors: TJ_ERR_INVALID_ARGUMENT. */
tj_status tj_config_check(const tj_config *config, tj_error *err);

/** Return the index of the parameter with that name in the family's form; -1 if it has none. */
int tj_family_param_index(const tj_family *family, const char *name);

#endif
