/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_table: the lists of a launch: numbers that it brings besides its operands, by which rows are found and weighed. A row for
 * each, from which checks, launches, workbenches, proofs and the source of a kernel read.
 */
#ifndef TJ_PROBLEM_LIST_TABLE_H
#define TJ_PROBLEM_LIST_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tilejit/operands.h>
#include <tilejit/reference.h>
#include <tilejit/shape.h>

#include "canonical.h"

/** The kernels of a launch that read a list: bits. */
enum {
    TJ_LIST_WITH_M = 1,
    TJ_LIST_WITH_P = 2,
    TJ_LIST_AFTER = 4
}; /* M is read; the product's P is stored; the kernel after it */

/** One list of a canonical problem. */
typedef struct tj_list_row {
    const char *name;    /* its member in tj_operands and tj_host_operands: "m_index" */
    const char *title;   /* in a message about its memory: "the offsets" */
    const char *word;    /* the source's parameter */
    size_t at, host_at;  /* of its address in tj_operands and tj_host_operands */
    const char *element; /* in the source, the type of an element */
    const char *what;    /* of what there are `each` for each row: "row of M" */
    int32_t bytes;       /* of an element */
    unsigned read;       /* by which kernels; 0: no launch brings it */
    bool on_host;        /* it lies in host memory, and the kernel takes its elements by value */
    bool is_of_p;        /* counted by the rows of P, else by those of the product */
    int64_t count, each; /* elements; count 0: `each` for each row */
} tj_list_row;

/** Return the row of a list. */
tj_list_row tj_list_row_of(const tj_problem *problem, tj_list list);

/** Return the number of its elements, for a launch with j rows of the product and p_rows rows of P. */
static inline int64_t tj_list_count(const tj_list_row *row, int64_t j, int64_t p_rows)
{
    return row->count > 0 ? row->count : (row->is_of_p ? p_rows : j) * row->each;
}

/** Return the bytes of its elements for a problem that leaves no extent open, and whose P has the usual number of rows. */
size_t tj_list_bytes(const tj_problem *problem, const tj_list_row *row);

/** Return the address of a list. */
static inline const void *tj_list_at(const tj_operands *x, const tj_list_row *row)
{
    const void *address;

    memcpy(&address, (const char *)x + row->at, sizeof address);
    return address;
}

/** Set the address of a list. */
static inline void tj_list_set(tj_operands *x, const tj_list_row *row, const void *address)
{
    memcpy((char *)x + row->at, &address, sizeof address);
}

/** As tj_list_set, of a list in host memory. */
static inline void tj_list_set_host(tj_host_operands *x, const tj_list_row *row, const void *address)
{
    memcpy((char *)x + row->host_at, &address, sizeof address);
}

enum { TJ_LIST_TEXT_BYTES = 96 };

/** Print the elements of a list: "5 offsets of 4 groups", "row of M for each of the 24 rows of the product". */
void tj_list_print(const tj_problem *problem, const tj_list_row *row, int64_t j, int64_t p_rows, char text[TJ_LIST_TEXT_BYTES]);

/** Are all lists of a problem in host memory, for the reference? */
tj_status tj_lists_check_host(const tj_problem *problem, const tj_host_operands *x, tj_error *err);

#endif
