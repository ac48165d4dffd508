/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps: M and N as tensor maps, from which the copy engine copies boxes (templates/parts/tensor.cuh). They are the first two
 * maps of a form.
 */
#ifndef TJ_GENERATOR_MAPS_H
#define TJ_GENERATOR_MAPS_H

#include "family.h"

enum { TJ_MAP_M = 0, TJ_MAP_N = 1 }; /* M and N of the source */

/** Does the map have a third dimension for the products of a batch? */
bool tj_map_has_products(const tj_problem *view, tj_which which);

/**
 * Set the parameters of templates/parts/tensor.cuh, and the arguments of a copy after the line: the product, if there are
 * several, and the barrier.
 */
void tj_maps_describe(const tj_problem *view, const tj_launch_step *step, const char *barrier, tj_template_params *fill);

/**
 * tj_step_list_args for a kernel that takes the maps of M and N before all other arguments, and P as map number p_map; -1: P is
 * a pointer. reads: threads read elements of M and N as well, so their pointers and leading dimensions are listed.
 */
void tj_maps_list_args(const tj_problem *view, bool is_swapped, bool reads, bool writes, int32_t p_map, tj_launch_step *step);

#endif
