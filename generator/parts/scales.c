/* SPDX-License-Identifier: Apache-2.0 */
#include "scales.h"

#include "checked.h"
#include "lanes.h"

enum { SCALE_BYTES = 4 };

/* The scales of one operand. */
typedef struct scales {
    int32_t how;     /* tj_scale */
    int64_t count;   /* of one product */
    bool is_by_rows; /* of P */
} scales;

static scales scales_of(const tj_problem *view, bool is_m)
{
    const int32_t how = is_m ? view->epilogue.scale_m : view->epilogue.scale_n;
    const int64_t extent = is_m ? view->j.extent : view->l.extent;

    return (scales){how, how == TJ_SCALE_EACH ? extent : 1, is_m};
}

void tj_scales_count_tiles(const tj_problem *view, int32_t tile_width, tj_traffic *traffic)
{
    for (int is_m = 0; is_m < 2; is_m++) {
        const scales s = scales_of(view, is_m);
        const int64_t step = s.how == TJ_SCALE_EACH ? SCALE_BYTES : 0;
        tj_access access = tj_tiled_access(tile_width, tile_width, view->l.extent, view->j.extent, s.is_by_rows ? 0 : step,
                                           s.is_by_rows ? step : 0);

        access.element_bytes = SCALE_BYTES;
        access.axis[2] = tj_batch_axis(view->batch, s.count, SCALE_BYTES);
        if (s.how != TJ_SCALE_NONE)
            tj_traffic_add(traffic, &access);
    }
}

/* The warp whose first thread has element number `first` of the `elements` of P. */
static tj_lanes warp_of(const tj_problem *view, const scales *s, int64_t first, int64_t elements)
{
    const bool by_rows = view->p.layout == TJ_ROW_MAJOR;
    const int64_t width = by_rows ? view->l.extent : view->j.extent;
    tj_lanes lanes = {.count = (int)(elements - first < TJ_WARP ? elements - first : TJ_WARP), .element_bytes = SCALE_BYTES};

    for (int i = 0; i < lanes.count; i++) {
        const int64_t element = first + i, place = s->is_by_rows == by_rows ? element / width : element % width;

        lanes.lane[i] = i;
        lanes.address[i] = s->how == TJ_SCALE_EACH ? place * SCALE_BYTES : 0;
    }
    return lanes;
}

void tj_scales_count_in_order(const tj_problem *view, tj_traffic *traffic)
{
    const int64_t elements = view->j.extent * view->l.extent, warps = tj_ceil_div(elements, TJ_WARP);

    for (int is_m = 0; is_m < 2; is_m++) {
        const scales s = scales_of(view, is_m);
        const tj_places products = tj_places_of(0, view->batch, s.count * SCALE_BYTES);

        if (s.how == TJ_SCALE_NONE)
            continue;
        for (int64_t warp = 0; warp < (traffic->is_estimate ? 1 : warps); warp++) {
            const tj_lanes lanes = warp_of(view, &s, warp * TJ_WARP, elements);

            tj_lanes_add_at(traffic, &lanes, &products, traffic->is_estimate ? warps : 1); /* an estimate: the first for all */
        }
    }
}
