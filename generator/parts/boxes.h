/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boxes: the traffic of the copy engine, line by line of each box.
 */
#ifndef TJ_GENERATOR_BOXES_H
#define TJ_GENERATOR_BOXES_H

#include "counts.h"

/** All boxes of one matrix, in elements unless stated otherwise. */
typedef struct tj_boxes {
    int64_t element_bytes;
    int64_t width, lines, ld; /* of the matrix, or of its map */
    int64_t products, stride; /* number of products, and their distance; 0: all at one address */
    int64_t repeat;           /* copies of each box */
    int64_t tile;             /* distance from one tile to the next, along a line */
    int64_t boxes, box;       /* boxes of a tile, side by side, and the width of each */
} tj_boxes;

/** Add the traffic of the boxes. Lines and tiles begin at multiples of 16 bytes. */
void tj_boxes_count(const tj_boxes *boxes, tj_traffic *traffic);

#endif
