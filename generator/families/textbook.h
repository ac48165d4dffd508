/* SPDX-License-Identifier: Apache-2.0 */
/*
 * textbook: what the textbook's families share: square blocks of TILE_WIDTH x TILE_WIDTH threads, one element of P each.
 */
#ifndef TJ_GENERATOR_TEXTBOOK_H
#define TJ_GENERATOR_TEXTBOOK_H

#include "../family.h"

extern const char *const tj_textbook_row_choices[];

/* Two parameters of every such form. A macro, because an initialiser cannot name another constant. */
#define TJ_TEXTBOOK_TILE_WIDTH                                                                     \
    {                                                                                              \
        "tile_width", "edge of the square block of threads, and of its tile of P", 4, 32, 16, NULL \
    }
#define TJ_TEXTBOOK_ROWS                                                                                           \
    {                                                                                                              \
        "rows", "grid axis that counts the rows of blocks: y, or x where P has more than 65 535 of them", 1, 2, 0, \
            tj_textbook_row_choices                                                                                \
    }

enum { TJ_ROWS_ON_Y = 1, TJ_ROWS_ON_X = 2 };

/** Settle rows and checks for a square block tile. */
tj_status tj_textbook_resolve(const tj_problem *text, bool is_swapped, tj_config *config, tj_error *err);

/** Fill in tile, block and axis. */
void tj_textbook_describe(const tj_config *config, tj_template_params *params, tj_launch_form *form);

#endif
