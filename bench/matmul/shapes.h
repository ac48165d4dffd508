/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes: the file of shapes that a run measures.
 *
 *     # category,j,k,l,batch,dtype      the head: which columns there are; words after two spaces are a remark
 *     square,1024,1024,1024,1,bf16
 *
 * Columns, in any order: category, j, k, l (needed); batch, dtype, p_dtype, m_layout, n_layout, p_layout (row or col), epilogue (only
 * "none" so far). Without a head: category,j,k,l,batch. Empty lines and further lines that begin with # are skipped.
 */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include <tilejit/tilejit.h>

enum { SHAPE_NAME_BYTES = 96, SHAPE_CATEGORY_BYTES = 32 };

typedef struct shape {
    char category[SHAPE_CATEGORY_BYTES];
    char name
        [SHAPE_NAME_BYTES]; /* 512x300x700, 16x16x16b10000, 64x64x64-bf16-f32-rcr: batch, types and layouts where not plain */
    tj_problem problem;     /* canonical */
} shape;

typedef struct shape_list {
    shape *item;
    size_t count;
} shape_list;

/** Read a file. On failure the answer is 0 and err names the file, the line, the value and the remedy. Release with free(list->item). */
int shapes_read(const char *path, shape_list *list, tj_error *err);

#endif
