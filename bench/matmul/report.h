/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: results as a table, as CSV, and as a page with two plots.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "race.h"

/** What a device can do at most. 0: not known. */
typedef struct ceilings {
    double bytes_per_us; /* of device memory, as a kernel sees it */
    double flop_per_us;  /* f32 on the CUDA cores */
} ceilings;

/** The time of a / the time of b: how many times as fast as a is b? 0: one of them has no time. */
double report_ratio(const result *r, contender a, contender b);

/** TileJIT's faster contender; CONTENDERS if neither ran. */
contender report_ours(const result *r);

/** What share of the bandwidth floor is reached: the time that moving M, N and P once would take, by the measured one. */
double report_floor_share(const result *r, const ceilings *most);

/** A ratio's geometric mean over the shapes of a category (NULL: all); 0 if none has it. count and least may be NULL. */
double report_geomean(const result *r, size_t n, const char *category, contender a, contender b, size_t *count,
                      const result **least);

/** Is result number i the first of its category? */
bool report_is_first(const result *r, size_t i);

void report_head(FILE *out);
void report_row(FILE *out, const result *r, const ceilings *most);
void report_summary(FILE *out, const result *r, size_t n, const ceilings *most);

void report_csv_head(FILE *out);
void report_csv_row(FILE *out, const result *r, const ceilings *most);

/** A page that needs nothing else. title: the device and the versions. */
void report_html(FILE *out, const char *title, const result *r, size_t n, const ceilings *most);

#endif
