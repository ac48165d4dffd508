/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_tile: M, N and P as the textbook draws them, with one block's tile and the parts that it reads.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "page.h"

enum { TILE_GAP = 40, TILE_MARGIN = 100, TILE_LONGEST = 245 };

static void put_box(FILE *out, const char *class, double x, double y, double width, double height)
{
    fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", class, x, y, fmax(width, 1),
            fmax(height, 1));
}

/* Below the picture, where every screen has room. */
static void put_traffic(FILE *out, const cli_case *one, const tj_problem *p, size_t index)
{
    const tj_work *c = &one->analysis.work;
    const double batch = (double)(p->batch > 1 ? p->batch : 1), k = (double)p->k.extent;
    const double many_n = p->rows.groups > 0 ? (double)p->rows.groups : batch;

    fprintf(out, "<span class=\"k%zu\"><span class=\"key\">%c</span></span> ", index, (char)('A' + index));
    cli_page_name(out, one);
    fprintf(out, ": each element of M is read %.4g times, each of N %.4g times",
            cli_ratio((double)c->traffic[TJ_LOAD_M].elements, (double)p->j.extent * k * batch),
            cli_ratio((double)c->traffic[TJ_LOAD_N].elements, k * (double)p->l.extent * many_n));
    if (c->phases)
        fprintf(out, "; %" PRId64 " phases of %" PRId64 " loads and %" PRId64 " operations", c->phases, c->phase.loads,
                c->phase.flop);
    fputs(".", out);
}

/* Draw M left, N above, P where they meet; one block's tile, and the tiles along its loop. */
void cli_page_tile(FILE *out, const cli_look *look, size_t index)
{
    const cli_case *one = &look->cases[index];
    const tj_work *c = &one->analysis.work;
    const tj_problem *p = &look->request.known;
    const double j = (double)p->j.extent, k = fmax(1, (double)p->k.extent), l = (double)p->l.extent;
    /* Draw very different extents less different: a strip of one pixel explains nothing. */
    const double longest = fmax(j, fmax(k, l)), power = 0.7, scale = TILE_LONGEST;
    const double J = fmax(40, scale * pow(j / longest, power)), K = fmax(40, scale * pow(k / longest, power)),
                 L = fmax(40, scale * pow(l / longest, power));
    const double rows = fmin(J, fmax(6, J * c->block_rows / j)), cols = fmin(L, fmax(6, L * c->block_cols / l));
    const double depth = fmin(K, fmax(c->phases ? 6 : 2, K * (double)c->phase.depth / k));
    const double left = TILE_MARGIN, top = 30, px = left + K + TILE_GAP, py = top + K + TILE_GAP;
    const double tile_y = fmin(J - rows, floor(J / rows / 2) * rows), tile_x = fmin(L - cols, floor(L / cols / 2) * cols);
    const double at = c->phases > 1 ? floor(K / depth / 2) * depth : 0;
    const double bottom = py + J + 30;

    fputs("<h2>The tile and its traffic</h2>\n", out);
    cli_page_open_figure(out, "tile", CLI_PAGE_WIDTH, (int)bottom,
                         "M on the left, N above, P where they meet: one block's tile of P and what it reads");
    fputs("<desc id=\"tile-desc\">", out);
    cli_page_name(out, one);
    fprintf(out,
            ": a block computes %d by %d elements of P. It reads the rows of M next to its tile and the columns of N above it, "
            "%" PRId64 " element%s of k at a time. %s loads in all, %s stores.</desc>\n",
            (int)c->block_rows, (int)c->block_cols, c->phase.depth, c->phase.depth == 1 ? "" : "s",
            cli_grouped(c->traffic[TJ_LOAD_M].elements + c->traffic[TJ_LOAD_N].elements).text,
            cli_grouped(c->traffic[TJ_STORE_P].elements).text);
    fprintf(out, "<g class=\"k%zu\">\n", index);
    put_box(out, "tint", left, py, K, J);
    put_box(out, "tint", px, top, L, K);
    put_box(out, "tint", px, py, L, J);
    put_box(out, "pale", left, py + tile_y, K, rows);
    put_box(out, "pale", px + tile_x, top, cols, K);
    put_box(out, "wash", left + fmin(at, K - depth), py + tile_y, depth, rows);
    put_box(out, "wash", px + tile_x, top + fmin(at, K - depth), cols, depth);
    put_box(out, "fill", px + tile_x, py + tile_y, cols, rows);
    fputs("</g>\n", out);
    fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1f h%.1f m-7 -4 l7 4 l-7 4\"/>\n", left + K * 0.1, py + fmax(0, tile_y - 9),
            K * 0.8);
    fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1f v%.1f m-4 -7 l4 7 l4 -7\"/>\n", px + fmax(0, tile_x - 9), top + K * 0.1,
            K * 0.8);
    fprintf(out,
            "<text x=\"%.1f\" y=\"%.1f\">M</text><text x=\"%.1f\" y=\"%.1f\">N</text><text x=\"%.1f\" y=\"%.1f\">P</text>\n",
            left + 5, py + 16, px + 5, top + 16, px + 5, py + 16);
    fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">j %" PRId64 "</text>", left - 6, py + J / 2,
            p->j.extent);
    fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">k %" PRId64 "</text>", left + K / 2,
            py + J + 17, p->k.extent);
    fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">l %" PRId64 "</text>", px + L / 2,
            py + J + 17, p->l.extent);
    fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">k %" PRId64 "</text>\n", px - 6, top + K / 2,
            p->k.extent);
    fputs("</svg>\n<figcaption>Full: the tile of P that one block computes. Pale: what it reads of M and N. Darker: one ", out);
    fputs(c->phases ? "phase of it, which lies in shared memory. " : "step of it; nothing is kept for the next thread. ", out);
    put_traffic(out, one, p, index);
    fputs(" Extents are drawn less different than they are.</figcaption>\n</figure>\n", out);
}
