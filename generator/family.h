/* SPDX-License-Identifier: Apache-2.0 */
/*
 * family: the form that every way to compute a product fills in. docs/adding-a-family.md walks through one.
 */
#ifndef TJ_GENERATOR_FAMILY_H
#define TJ_GENERATOR_FAMILY_H

#include <tilejit/analysis.h>
#include <tilejit/source.h>

#include "canonical.h"
#include "checked.h"
#include "template.h"

enum { TJ_FAMILY_START_PARAMS = 12 };
enum { TJ_GRID_LIMIT = 65535 }; /* blocks on grid.y, and on grid.z */

/** The tile of P that a block computes, and the length of a phase, each with the name that the text gives it. */
typedef struct tj_tile {
    int32_t rows, k, cols;
    const char *rows_name, *k_name, *cols_name;
} tj_tile;

/** Rows of the first parameters of a config, in the order of the form; 0, and what is behind them: left open. */
typedef struct tj_family_values {
    size_t count;
    const int32_t (*row)[TJ_FAMILY_START_PARAMS];
} tj_family_values;

struct tj_custom; /* custom.h */

struct tj_family {
    const struct tj_custom *
        custom; /* of the application's own: of what follows only data and resolve, which refuses problems, are its; NULL: ours */
    const char *name, *summary;
    const tj_param *param;
    size_t param_count;
    const char *const *constraint; /* sentences, NULL-terminated */
    const tj_family_values *start; /* where a search begins, beside the default. NULL: nowhere else */
    const tj_family_values
        *weighed;           /* the model says which is best on a device, where a config names none of them. NULL: none */
    uint32_t types;         /* that M, N and P may have, bits 1 << tj_type; 0: all */
    bool takes_weights;     /* one of M and N may be of 8 bits beside floats, whatever `types` says */
    bool takes_s4;          /* one of them may be s4 beside floats: two in a byte */
    bool scales_along_k;    /* TJ_SCALE_ALONG_K */
    bool sums_in_registers; /* many of them: a kernel that spills is not launched */
    bool takes_groups;      /* tj_problem.groups */
    enum {
        TJ_REDUCES_BY_WARP = 1, /* a thread has rows r and columns c of P, and a warp combines what its lanes know of each */
        TJ_REDUCES_BY_PATH,     /* the same, in whichever of several kernels the device chooses: each has tiles of its own */
        TJ_REDUCES_BY_TILE,     /* a thread has one element, and a block combines its tile of TILE_WIDTH x TILE_WIDTH */
        TJ_REDUCES_BY_ROWS, /* a thread has one element after the other, and a block combines some rows of its tile at a time */
        TJ_REDUCES_BY_TEAM  /* as by warp, and a team of threads has all of P: there is no kernel behind */
    } reduces;              /* rows and columns (tj_epilogue_reduces): with a kernel behind, templates/parts/combine.cuh */
    bool checks_k;          /* false: a thread walks all of k by itself, so k never needs a check */
    int32_t widest;         /* the longest edge that a tile may have; it decides whether indexes fit an int */

    /**
     * Does the text compute P^T = N^T . M^T (tj_problem_transpose)? NULL: exactly where P is column-major, so that the text's P
     * is row-major. A family with a rule of its own has texts for both layouts of P.
     */
    bool (*is_swapped)(const tj_problem *problem, const tj_config *config);

    /** The tile of a config whose parameters are settled, in the text's dimensions. Of problem only the types count. */
    tj_tile (*tile)(const tj_problem *problem, const tj_config *config);

    /**
     * Settle the parameters that are still 0 and the checks that are still TJ_CHECK_AUTO, and test the constraints. Numbers are
     * in range already. view is the problem as the text sees it (tj_family_view); config speaks of the caller's dimensions.
     */
    tj_status (*resolve)(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err);

    /**
     * Leave a thread more registers, by looser launch bounds or by smaller tiles. config is resolved. False: nothing is left to do. NULL:
     * this family has no such bounds.
     */
    bool (*relax)(tj_config *config);

    /** Admit so many rows of the text's P. config is resolved. False: it does as it is, or nothing helps. NULL: nothing ever does. */
    bool (*for_tall)(const tj_problem *problem, int64_t rows, tj_config *config);

    /**
     * Ask nothing of the operands: no alignment but that of an element and, without a workspace, none. config is resolved. False:
     * this family cannot do without. NULL: it never asks.
     */
    bool (*for_any_operands)(bool has_workspace, tj_config *config);

    /** Choose what a target with these features (tj_feature bits) has, where config leaves that open. NULL: every text does with none. */
    void (*for_target)(uint32_t features, tj_config *config);

    /**
     * The operands as the kernel that multiplies reads them, where a step ahead of it has moved them: with other leading dimensions
     * and strides. NULL: as they are.
     */
    tj_problem (*moved)(const tj_problem *view, const tj_config *config);

    /**
     * The template, its parameters beyond those every family has, and the launch form. The form comes with one step, which
     * multiplies: a TJ_GRID_TILES. A step whose arguments are left out gets those of templates/parts/parameters.cuh if it is the one
     * that multiplies; the name of any other is what it does ("reduce").
     */
    const char *(*describe)(const tj_problem *view, const tj_config *config, tj_template_params *params, tj_launch_form *form);

    /**
     * What a launch moves and computes (docs/analysis.md). Every extent, leading dimension and stride of view is a number. The
     * caller has filled in blocks, threads, bytes of elements and of shared memory, flop, work of memory and the pipe of sums
     * outside of tensor cores. It adds what beta costs a launch without splits, and derives global_bytes, the intensities and the
     * work of the L2, unless the family states that the L1 serves some. The rest is the family's. May be NULL: then nothing can be
     * said of the family's speed.
     */
    void (*count)(const tj_problem *view, const tj_config *config, tj_counts *counts);

    /** Can a resolved config be the fastest for this problem on any device? What a tuner leaves out. NULL: each can. */
    bool (*is_worth_trying)(const tj_problem *view, const tj_config *config);

    /** The same, before all parameters are known (tj_views_hopeless). NULL: nothing is known before. */
    bool (*is_hopeless)(const tj_problem *view, const tj_config *config, size_t known);
};

/** Does a thread keep what it has found of each of its rows and columns until all of them are stored? */
static inline bool tj_reduces_by_thread(const tj_family *family)
{
    return family->reduces == TJ_REDUCES_BY_WARP || family->reduces == TJ_REDUCES_BY_PATH ||
           family->reduces == TJ_REDUCES_BY_TEAM;
}

/** f32, f64, f16 and bf16: of a family whose sums are floats, converted one by one. */
#define TJ_FLOAT_TYPES (1U << TJ_F32 | 1U << TJ_F64 | 1U << TJ_F16 | 1U << TJ_BF16)

#include "families/table.h"

/** Which boundary checks a resolved config puts into the text, in the text's dimensions. */
typedef struct tj_checks {
    bool j, k, l;
} tj_checks;

static inline tj_checks tj_checks_of(const tj_config *config, bool is_swapped)
{
    const bool j = config->check_j == TJ_CHECK_ON, l = config->check_l == TJ_CHECK_ON;

    return (tj_checks){is_swapped ? l : j, config->check_k == TJ_CHECK_ON, is_swapped ? j : l};
}

/** The view that a text of the config's family has of a problem: canonical, and transposed where is_swapped says so. */
tj_problem tj_family_view(const tj_config *config, const tj_problem *problem, bool *is_swapped);

/** The view with groups of the mean size, which forms weigh; without groups as it is. */
static inline tj_problem tj_mean_of_groups(tj_problem view)
{
    if (view.groups.count > 0)
        view.j.extent = tj_ceil_div(view.j.extent, view.groups.count);
    return view;
}

/**
 * The launch form of a resolved config, as tj_generate would fill it in, but for the kernel's name and arguments. view and
 * is_swapped: tj_family_view.
 */
void tj_family_launch(const tj_problem *view, bool is_swapped, const tj_config *config, tj_launch_form *form);

/**
 * To how many bytes a text of that form asks a matrix of a canonical problem to be aligned; 0: to an element, or to pointers to
 * it.
 */
static inline int32_t tj_asked_alignment(const tj_problem *problem, const tj_launch_form *form, tj_which which)
{
    const tj_matrix *matrix = tj_problem_matrix(problem, which);
    const int32_t bytes = form->align[which];

    return !tj_stride_is_pointers(matrix->stride) && bytes > (int32_t)tj_type_bytes((tj_type)matrix->type) ? bytes : 0;
}

/** Is it a config, with values in the ranges of its family? Errors: TJ_ERR_INVALID_ARGUMENT. */
tj_status tj_config_check(const tj_config *config, tj_error *err);

/** Where a parameter of that name stands in the family's form; -1 if it has none. */
int tj_family_param_index(const tj_family *family, const char *name);

#endif
