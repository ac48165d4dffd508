/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boxes: what the copy engine moves of a matrix, line by line of each box.
 */
#ifndef TJ_GENERATOR_BOXES_H
#define TJ_GENERATOR_BOXES_H

#include <tilejit/analysis.h>

/** All boxes of one matrix. Elements, if nothing else is said. */
typedef struct tj_boxes {
    int64_t element_bytes;
    int64_t width, lines, ld; /* of the matrix, or of the map of it */
    int64_t products, stride; /* how many lie so far apart; 0: at the same place */
    int64_t repeat;           /* each box is copied so often */
    int64_t tile;             /* from one tile to the next, along a line */
    int64_t boxes, box;       /* each has so many boxes of that width, side by side */
} tj_boxes;

/** Add what they move. Lines and tiles begin at multiples of 16 bytes. */
void tj_boxes_count(const tj_boxes *boxes, tj_traffic *traffic);

#endif
