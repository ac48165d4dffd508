/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes: the shapes that a run measures, from a file, or drawn (draw.h).
 *
 *     # category,j,k,l,batch,dtype      the head: which columns there are; words after two spaces are a remark
 *     square,1024,1024,1024,1,bf16
 *
 * Columns, in any order: category, j, k, l (needed); batch, dtype, n_dtype, p_dtype, compute, m_layout, n_layout, p_layout (row or col),
 * epilogue (only "none" so far). Without a head: category,j,k,l,batch. Empty lines and further lines that begin with # are skipped.
 *
 * What a line leaves open, an option of the program may say, so that one file serves every type.
 */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include <tilejit/tilejit.h>

enum { SHAPE_NAME_BYTES = 112, SHAPE_CATEGORY_BYTES = 32, SHAPE_OPTIONS = 7 };

typedef struct shape {
    char category[SHAPE_CATEGORY_BYTES];
    /* 512x300x700, 16x16x16b10000, 64x64x64-tf32, 64x64x64-bf16-f32-rcr: batch, types, compute and layouts where not plain */
    char name[SHAPE_NAME_BYTES];
    tj_problem problem; /* canonical */
} shape;

typedef struct shape_list {
    shape *item;
    size_t count;
} shape_list;

/** Which of the options that say what lines leave open is this one, 0 to SHAPE_OPTIONS - 1? "--dtype", as tilejit tune has it. -1: none. */
int shapes_find_option(const char *name);

/**
 * Read a file. left_open: the values of the options; NULL: not given. On failure the answer is 0 and err names the file and the line, or
 * the option, the value and the remedy. Release with free(list->item).
 */
int shapes_read(const char *path, const char *const left_open[SHAPE_OPTIONS], shape_list *list, tj_error *err);

/** The same of shapes that are drawn: words is COUNT:SEED. */
int shapes_draw(const char *words, const char *const left_open[SHAPE_OPTIONS], shape_list *list, tj_error *err);

#endif
