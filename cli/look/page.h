/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page: the parts of the report of tilejit report, each one figure or table of HTML.
 */
#ifndef TJ_CLI_PAGE_H
#define TJ_CLI_PAGE_H

#include "look.h"

/** Write a config's text as code, which a narrow page breaks only after commas. */
void cli_page_config(FILE *out, const char *text);

/** Write the short name of a config, as cli_name_case gives it. */
void cli_page_name(FILE *out, const cli_case *one);

/** Width of a drawing in units: few enough to keep its text legible on a page 400 pixels wide. */
enum { CLI_PAGE_WIDTH = 640 };

/**
 * Open a figure and its SVG, as wide as the page, with a title for readers who do not see it; the caller adds <desc
 * id="{id}-desc"> and closes both.
 */
void cli_page_open_figure(FILE *out, const char *id, int width, int height, const char *title);

void cli_page_roofline(FILE *out, const cli_look *look);
void cli_page_occupancy(FILE *out, const cli_look *look);
void cli_page_time(FILE *out, const cli_look *look);
void cli_page_tile(FILE *out, const cli_look *look, size_t index);
/**
 * Draw the tuning space of a family as a heat map: predicted, or with trials (a file of tilejit tune --trials) measured.
 * Errors: TJ_ERR_IO; TJ_ERR_NOT_FOUND: the file has no timed trial of this problem and family.
 */
tj_status cli_page_heat(FILE *out, const cli_look *look, const tj_family *family, const char *trials, tj_error *err);

/** Write every config as a column; that of winner is highlighted. */
void cli_page_table(FILE *out, const cli_look *look, size_t winner);

#endif
