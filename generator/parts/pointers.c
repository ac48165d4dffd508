/* SPDX-License-Identifier: Apache-2.0 */
#include "pointers.h"

enum { POINTER_BYTES = 8 };

static tj_access all_threads(int64_t blocks, int32_t threads)
{
    return (tj_access){.threads_x = threads, .threads_y = 1, .axis = {{blocks, 0, threads, threads}, {1, 0, 1, 1}}};
}

static void count_array(int64_t stride, const tj_access *threads, tj_traffic *traffic)
{
    tj_access access = *threads;

    access.element_bytes = POINTER_BYTES;
    access.repeat = 1;
    if (tj_stride_is_pointers(stride))
        tj_traffic_add(traffic, &access);
}

void tj_pointers_count(const tj_problem *view, const tj_access *first, tj_counts *counts)
{
    const tj_access all = all_threads(counts->blocks, counts->threads_per_block),
                    second = all_threads(counts->reduce.blocks, counts->reduce.threads_per_block);
    const tj_access *const last = counts->splits > 1 ? &second : first ? first : &all;
    tj_traffic *const outputs = counts->splits > 1 ? &counts->reduce.load_pointers : &counts->load_pointers;

    if (view->k.extent > 0) {
        count_array(view->m.stride, first ? first : &all, &counts->load_pointers);
        count_array(view->n.stride, first ? first : &all, &counts->load_pointers);
        counts->waits += tj_stride_is_pointers(view->m.stride) || tj_stride_is_pointers(view->n.stride);
    }
    count_array(view->p.stride, last, outputs);
    if (view->epilogue.has_beta)
        count_array(view->c.stride, last, outputs);
}
