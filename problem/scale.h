/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scale: the scales of a matrix. Those of the whole sum (k is 0) are factors of the epilogue; those along k multiply parts of the
 * sum before they are added.
 */
#ifndef TJ_PROBLEM_SCALE_H
#define TJ_PROBLEM_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include <tilejit/problem.h>
#include <tilejit/shape.h>

/** Return the scales of a matrix. */
static inline const tj_scale *tj_scale_of(const tj_problem *problem, tj_which which)
{
    return &problem->scale[which];
}

/** Return the scales of a matrix, to be changed. */
static inline tj_scale *tj_scale_in(tj_problem *problem, tj_which which)
{
    return &problem->scale[which];
}

/** Return the name of the scales of a matrix in problems, records and text: "scale_m". */
static inline const char *tj_scale_name(tj_which which)
{
    static const char *const name[TJ_MATRICES] = {"scale_m", "scale_n", "scale_p", "scale_c"};

    return name[which];
}

/** Does a matrix have scales? */
static inline bool tj_is_scaled(const tj_problem *problem, tj_which which)
{
    return tj_scale_of(problem, which)->type != 0;
}

/** Does any matrix? */
static inline bool tj_has_scales(const tj_problem *problem)
{
    bool has = false;

    for (tj_which which = TJ_MATRIX_M; which < TJ_SCALED; which++)
        has |= tj_is_scaled(problem, which);
    return has;
}

/** Do the scales of M or N multiply parts of a sum, along k? */
static inline bool tj_scales_along_k(const tj_problem *problem, tj_which which)
{
    return tj_scale_of(problem, which)->k > 0;
}

/** Are any scales, or zero points, of M or N of this type? */
static inline bool tj_scales_have_type(const tj_problem *problem, int32_t type)
{
    bool have = false;

    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++)
        have |= tj_scale_of(problem, which)->type == type || tj_scale_of(problem, which)->zero == type;
    return have;
}

/** Does one scale of M or N multiply the whole sum of every element? */
static inline bool tj_scales_sum_by_one(const tj_problem *problem, tj_which which)
{
    return tj_is_scaled(problem, which) && tj_scale_of(problem, which)->rows == 0 && !tj_scales_along_k(problem, which);
}

/** Do scales of M or N multiply the whole sum? */
static inline bool tj_scales_sum(const tj_problem *problem, tj_which which)
{
    return tj_is_scaled(problem, which) && !tj_scales_along_k(problem, which);
}

/** Do scales of M or N multiply the whole sum, one for each row of M or column of N, or for each block of them? */
static inline bool tj_scales_sum_by_each(const tj_problem *problem, tj_which which)
{
    return tj_scales_sum(problem, which) && tj_scale_of(problem, which)->rows > 0;
}

/** Return the elements of k of a part, all of whose products have the same scales; 0: no scales are along k. */
static inline int32_t tj_scale_k(const tj_problem *problem)
{
    const int32_t m = tj_scale_of(problem, TJ_MATRIX_M)->k, n = tj_scale_of(problem, TJ_MATRIX_N)->k;

    return m == 0 || (n != 0 && n < m) ? n : m;
}

/** The types of a P whose scales the kernel finds. */
static const uint32_t TJ_QUANTIZED_TYPES = 1U << TJ_E4M3 | 1U << TJ_E5M2 | 1U << TJ_S8 | 1U << TJ_E2M1;

/** Is it one of them? */
static inline bool tj_type_is_quantized(int32_t type)
{
    return type > 0 && type < 32 && (TJ_QUANTIZED_TYPES >> type & 1) != 0;
}

/**
 * Return the place of the scale of row number `row` and part number `part`, in elements from the first. ld: from one part, block of
 * rows or row of tiles to the next, as the layout says.
 */
int64_t tj_scale_place(const tj_scale *scale, int64_t ld, int64_t row, int64_t part);

/** Operands of a launch: scales, zero points and the numbers of whole matrices, counted from TJ_OPERAND_SCALE on. */
enum { TJ_SCALE_OPERANDS = TJ_OPERAND_WITH - TJ_OPERAND_SCALE };

/** Return the matrix that one of them belongs to. */
static inline tj_which tj_scale_operand_of(int index)
{
    return (tj_which)(index < TJ_SCALED ? index : (index - TJ_SCALED) % TJ_FACTORS);
}

/** Return the same of N for one of M, and of M for one of N; what belongs to P stays. */
static inline int tj_scale_operand_across(int index)
{
    const tj_which of = tj_scale_operand_of(index);

    return of == TJ_MATRIX_P ? index : of == TJ_MATRIX_M ? index + 1 : index - 1;
}

/** Is it read along k, for elements or for parts of a sum? Else it multiplies the whole sum. */
static inline bool tj_scale_operand_goes_along_k(const tj_problem *problem, int index)
{
    return index < TJ_FACTORS ? tj_scales_along_k(problem, (tj_which)index)
                              : index >= TJ_SCALED && index < TJ_SCALED + TJ_FACTORS;
}

/** Can the problem have these scales? The message names the first wrong number. Types and compute are spelled out. */
tj_status tj_scales_check(const tj_problem *words, tj_error *err);

/**
 * Are all scales of f32, one for each row of M or column of N or one for all of them, and along k part by part and of weights
 * only? Every family takes those that multiply the sum; others are taken by families that say so (tj_family.takes_scales).
 */
bool tj_scales_are_plain(const tj_problem *problem);

/**
 * The forms of scales that have a word and, in records, a number: 0: none; 1: one; 2: each; 3: along-k, one for each row and
 * tj_scale_k elements of k. All of them are f32, part by part, without zero points and without a number for the whole matrix.
 */
enum { TJ_SCALE_ALONG_K = 3, TJ_SCALE_FORMS, TJ_SCALE_OF_ANY_FORM = TJ_SCALE_FORMS };

/** Return the number of the form of a matrix's scales, or TJ_SCALE_OF_ANY_FORM. The scales have passed their check. */
int tj_scale_form(const tj_problem *problem, tj_which which);

/** Are scales of the form along-k, whose number of elements is stated apart from them? */
static inline bool tj_scales_name_k(const tj_problem *problem)
{
    return tj_scale_form(problem, TJ_MATRIX_M) == TJ_SCALE_ALONG_K || tj_scale_form(problem, TJ_MATRIX_N) == TJ_SCALE_ALONG_K;
}

/** Return scales of a form. k: the elements of k of each, if the form is along-k; TJ_ANY where it is read after them. */
tj_scale tj_scale_of_form(int form, int32_t k);

/** Return the word of a form: "each"; "" for none. */
const char *tj_scale_word(int form);

enum { TJ_SCALE_TEXT_BYTES = 80, TJ_SCALE_MARK_BYTES = TJ_SCALE_TEXT_BYTES + 1 };

/** Print scales of any form: "f32:128x128:row-by-row", "bf16:1x32:zero=u4", "e4m3:1x16:whole"; "all" is the number 0. */
void tj_scale_print(const tj_scale *scale, char text[TJ_SCALE_TEXT_BYTES]);

/** Read what tj_scale_print prints. False: it is something else; *scale is then unchanged. */
bool tj_scale_scan(const char *text, tj_scale *scale);

/** Print the mark that follows the name of a matrix's scales in the line of a problem: "", ":each", ":along_k", "=bf16:1x128". */
void tj_scale_print_mark(const tj_problem *problem, tj_which which, char text[TJ_SCALE_MARK_BYTES]);

/** Read such a mark. Along k, the number of elements is TJ_ANY, until scale_k, which is printed after all scales, says it. */
bool tj_scale_scan_mark(const char *mark, tj_scale *scale);

#endif
