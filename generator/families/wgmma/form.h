/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wgmma: declarations that the form of the family (form.c) and its counts (counts.c) share.
 */
#ifndef TJ_GENERATOR_WGMMA_H
#define TJ_GENERATOR_WGMMA_H

#include "family.h"
#include "parts/pack.h"

enum { TJ_WGMMA_LINE = 128 }; /* bytes of a line of a tile in shared memory: the widest swizzle */
enum { TJ_WGMMA_ROWS = 64 };  /* of one product of a warpgroup */
enum { TJ_WGMMA_NOW = 1, TJ_WGMMA_LATE = 2 };
enum { TJ_WGMMA_TOGETHER = 1, TJ_WGMMA_PINGPONG = 2 };
enum { TJ_WGMMA_BOXES = 1, TJ_WGMMA_LINES = 2, TJ_WGMMA_ELEMENTS = 3 };
enum { TJ_WGMMA_NONE = 1, TJ_WGMMA_M, TJ_WGMMA_N, TJ_WGMMA_BOTH }; /* the operands that pack and transpose name */
enum { TJ_WGMMA_REGISTERS = 5 };                                   /* transpose alone: M is multiplied from registers */
enum { TJ_WGMMA_SLICE_ROWS = 16 };                                 /* rows that a warp stores at once */
enum { TJ_WGMMA_QUAD_SUMS = 128 };                                 /* of four lanes, in which each has 16 values of P */
enum { TJ_WGMMA_AS_P = 1, TJ_WGMMA_SWAPPED = 2 };
enum {
    TJ_WGMMA_ALONE = 1,
    TJ_WGMMA_M2,
    TJ_WGMMA_N2,
    TJ_WGMMA_M4,
    TJ_WGMMA_N4,
    TJ_WGMMA_K2,
    TJ_WGMMA_K4
}; /* blocks of a cluster, and what they share */

/** The parameters by name, and numbers derived from them and from the types of M and N. */
typedef struct tj_wgmma_shape {
    int32_t bm, bn, multipliers, pingpong, splits, stages, blocks, release, store, group, pack, transpose;
    int32_t element_bytes, k_step, bk, threads, wm; /* wm: rows of a warpgroup */
    int32_t numbers;                                /* elements of k in a stored one: two in a byte of e2m1, else 1 */
    int32_t cluster_rows, cluster_cols; /* tiles of a cluster: of one column, which share N, or of one row, with M */
    int32_t parts;                      /* blocks of a cluster that share the k of a tile */
    int32_t slices;                     /* multipliers of weights that share the k of a tile, whose phases they take in turns */
    int32_t weight_bits;                /* of M, whose weights, or f32, come from registers; 0: they do not */
    int32_t planes;                     /* of 16 bits, in which M is multiplied: 3 of f32, else 1 */
    int32_t scale_registers;            /* for the scales of many parts of a phase */
    bool adds_parts;                    /* parts of a sum are added in f32, multiplied by scales of weights along k */
    int32_t part_rows;                  /* whose sums of a part a warpgroup has at once: 64, or all if parts are long */
    bool promotes;                      /* tensor cores sum a part of k; the thread adds its accumulators in f32 */
    bool halves;                        /* it does so for one half of the columns after the other */
    bool scales_parts;                  /* parts have scales along k, by which it multiplies their sums */
    bool scales_cols;                   /* those of N are one for each column, not for blocks of them */
    bool finds_groups;                  /* a warp finds out whose rows a tile has */
    bool gathers;                       /* threads copy rows of M, which an index gathers */
    bool divides_k;                     /* each tile has the k of its group, beyond whose end threads clear what was copied */
    bool swapped;                       /* bm counts columns of P, and the source's P lies column by column */
    bool paired;                        /* the two blocks of a cluster have one half of the columns of N each */
    bool in_strips;                     /* sums come to registers strip by strip, from tensor memory */
    bool takes_across;                  /* elements of one byte or four may lie across k, too */
    int32_t other_bytes;                /* of shared memory of a block, beyond those of its ring and what it stores */
    int32_t stage_bytes;                /* of shared memory of a stage, beyond those of its tiles and barriers */
    const char *family;                 /* which has tiles like these, and stores P as this one does: wgmma or tcgen05 */
} tj_wgmma_shape;

/** Does the source's M hold f32, and N bf16? Three planes of bf16 then hold each element of M exactly. */
static inline bool tj_wgmma_has_f32(const tj_problem *view)
{
    return view->m.type == TJ_F32 && view->n.type == TJ_BF16;
}

/** Does the source's M come to registers, to be converted there: weights of 8 or 4 bits, or f32 that meets bf16? */
static inline bool tj_wgmma_has_weights(const tj_problem *view)
{
    return tj_wgmma_has_f32(view) || (tj_is_weights(view, TJ_MATRIX_M) && view->m.type != TJ_F16 && view->m.type != TJ_BF16);
}

/** Return the type of M or N as the tensor cores multiply it. */
int32_t tj_wgmma_type(const tj_problem *view, tj_which which);

/** Refuse what the tensor cores do not multiply f32 by, and f32 that does not come from registers. */
tj_status tj_wgmma_check_f32(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err);

/**
 * Refuse repacked weights, and weights with scales along k, that do not come from registers; and parts that a phase of these does
 * not divide.
 */
tj_status tj_wgmma_check_parts(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err);

/** Describe how the weights of M come to registers (weights.c), whether or not they do. clips_rows: some rows lie outside M. */
void tj_wgmma_describe_weights(const tj_problem *view, const tj_wgmma_shape *s, bool clips_rows, tj_template_params *fill);

/** Can weights that come from registers have the scales and zero points of this problem, in one view or the other? */
bool tj_wgmma_takes_scales_of_weights(const tj_problem *view);

/**
 * Have parts of k sums of their own: because the scales of M along k multiply these, and not the factors, which would not be
 * exact; or because tensor cores add products of e4m3 with 13 bits?
 */
bool tj_wgmma_adds_parts(const tj_problem *view);

/** Does a part of k, whose sums threads multiply and add, last for more than a phase? */
bool tj_wgmma_has_long_parts(const tj_problem *view, const tj_wgmma_shape *s);

/** Return the registers of a thread for the scales of a phase, beyond those that find room. */
int32_t tj_wgmma_scale_registers(const tj_problem *view, const tj_wgmma_shape *s);

tj_wgmma_shape tj_wgmma_shape_of(const tj_problem *view, const tj_config *config);

/** How a tile of the source's M or N lies in shared memory: blocks of lines, each block copied at once. */
typedef struct tj_wgmma_tile {
    int32_t blocks, lines;
    int32_t line;  /* stored elements */
    int32_t bytes; /* of a line: 128 or, of weights, 64 */
    bool along_k;  /* a line lies along k, perhaps after packing or transposing */
    bool squares;  /* it is copied in squares of `line` lines, and transposed in shared memory */
} tj_wgmma_tile;

tj_wgmma_tile tj_wgmma_tile_of(const tj_problem *view, const tj_wgmma_shape *s, bool is_m);

/**
 * Return the operands to pack: those that no tensor map can describe, or that lie across k with elements of one byte or four.
 */
tj_pack tj_wgmma_pack_of(const tj_problem *view, const tj_wgmma_shape *s);

/** Return the bytes of a phase, and those of all shared memory of a block. */
int64_t tj_wgmma_phase_bytes(const tj_problem *view, const tj_wgmma_shape *s);
int64_t tj_wgmma_shared_bytes(const tj_problem *view, const tj_wgmma_shape *s);

/**
 * Return the registers of a multiplying thread's accumulators, and of the factors of M, or the scales of columns, that it
 * loads.
 */
int32_t tj_wgmma_sum_registers(const tj_wgmma_shape *s);
int32_t tj_wgmma_factor_registers(const tj_wgmma_shape *s);

/** Can the parts of a sum that threads add up be multiplied by these scales? */
bool tj_wgmma_takes_scales(const tj_problem *view);

/** Do parts have a scale for each column, and not for blocks of columns? */
bool tj_wgmma_scales_cols(const tj_problem *view);

/** Return the elements along k whose products tensor cores sum before threads add them: a phase, or those that share scales. */
int32_t tj_wgmma_part_k(const tj_problem *view, const tj_wgmma_shape *s);

/** Return the scales along k of a phase, and the bytes of those in the ring. */
int32_t tj_wgmma_phase_scales(const tj_problem *view, const tj_wgmma_shape *s);
int64_t tj_wgmma_scale_bytes(const tj_problem *view, const tj_wgmma_shape *s);

/** Describe how warps bring scales along k, and how parts are multiplied by them. product: its name in the source. */
void tj_wgmma_describe_scales(const tj_problem *view, const tj_wgmma_shape *s, tj_checks checks, const char *product,
                              tj_template_params *fill);

/** Describe pointers to the scales of all products or groups, and to those of a tile's. product: its name in the source. */
void tj_wgmma_describe_pointers(const tj_problem *view, const char *product, tj_template_params *fill);

/** How P, or the workspace, is written through shared memory. */
typedef struct tj_wgmma_output {
    int32_t slice;  /* columns that a warp stores at once, in TJ_WGMMA_SLICE_ROWS rows */
    int32_t vector; /* neighbours that a lane finishes at once, and stores if there are no boxes */
    int32_t boxes;  /* slices per warp for stores of the copy engine; 0: lanes store them */
    bool quads;     /* four lanes exchange what they store, in registers */
    bool halves;    /* a lane stores two values of 4 bits at once, as it has them */
    int64_t bytes;  /* of shared memory of a block for this */
} tj_wgmma_output;

tj_wgmma_output tj_wgmma_output_of(const tj_problem *view, const tj_wgmma_shape *s);

/*
 * Family tcgen05 has tiles in shared memory, lanes with sums and stores of P as this one does, and shares what follows with it. Its
 * shape has the members that these read.
 */

/** Can P be stored by the copy engine? */
bool tj_wgmma_has_boxes(const tj_problem *view, const tj_wgmma_shape *s);

/** Return what to pack if the config leaves it open: the operands that need it, if that is possible. */
int32_t tj_wgmma_pack_default(const tj_problem *view, tj_wgmma_shape s);

/** Check swap, what a tensor map needs of an operand, what packing needs, and how P is stored. */
tj_status tj_wgmma_check_swap(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err);
tj_status tj_wgmma_check_operand(const tj_problem *view, const tj_wgmma_shape *s, bool is_m, tj_error *err);
tj_status tj_wgmma_check_pack(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err);
tj_status tj_wgmma_check_store(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err);

/** Describe the tensor map of an operand, how sums are stored to P, and what of that crosses the edge of P. */
void tj_wgmma_describe_map(const tj_problem *view, const tj_wgmma_shape *s, const tj_pack *pack, bool is_m,
                           tj_template_params *fill, tj_launch_form *form);
void tj_wgmma_describe_output(const tj_problem *view, const tj_wgmma_shape *s, tj_template_params *fill, tj_launch_form *form);
void tj_wgmma_describe_edges(const tj_problem *view, tj_checks checks, int32_t slice, tj_template_params *fill);

/** Return the tiles, all blocks of a cluster included, even where the last of them have tiles outside P. */
int64_t tj_wgmma_fill_clusters(const tj_problem *view, const tj_wgmma_shape *s, tj_counts *counts);

/** Count the copies of both operands' tiles, as they are after packing; and all traffic of P. */
void tj_wgmma_count_boxes(const tj_problem *packed, const tj_wgmma_shape *s, tj_counts *counts);
void tj_wgmma_count_outputs(const tj_problem *view, const tj_wgmma_shape *s, tj_counts *counts);

/** Configs from which a search begins (tj_family). */
extern const tj_family_values tj_wgmma_start;

/** The family's count (tj_family). */
void tj_wgmma_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
