/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps: M and N as tensor maps, of which the copy engine brings boxes (templates/parts/tensor.cuh). They are the first two maps of a form.
 */
#ifndef TJ_GENERATOR_MAPS_H
#define TJ_GENERATOR_MAPS_H

#include "family.h"

enum { TJ_MAP_M = 0, TJ_MAP_N = 1 }; /* the text's */

/** Has the map a third dimension, of the products of a batch? */
bool tj_map_has_products(const tj_problem *view, tj_which which);

/** What templates/parts/tensor.cuh wants to know; and what copies name behind a line: the product, where there are several, and the barrier. */
void tj_maps_describe(const tj_problem *view, int32_t splits, const char *barrier, tj_template_params *fill);

/** tj_step_list_args of a kernel that takes the maps of M and N ahead of all else, and P as map number p_map; -1: as a pointer. */
void tj_maps_list_args(const tj_problem *view, bool is_swapped, bool writes, int32_t p_map, tj_launch_step *step);

#endif
