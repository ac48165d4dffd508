/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scales: what reading the scales of M and N moves, where a thread has one element of P and reads its scales for that. The scales of one
 * product follow those of the one before.
 */
#ifndef TJ_GENERATOR_SCALES_H
#define TJ_GENERATOR_SCALES_H

#include "traffic.h"

/** Square blocks, whose threads stand on P as they do in the block. */
void tj_scales_count_tiles(const tj_problem *view, int32_t tile_width, tj_traffic *traffic);

/** Whole warps, whose threads take the elements of P in turn, line after line. */
void tj_scales_count_in_order(const tj_problem *view, tj_traffic *traffic);

#endif
