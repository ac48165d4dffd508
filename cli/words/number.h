/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number: numbers in, the same in every locale, and out, for people.
 */
#ifndef TJ_CLI_NUMBER_H
#define TJ_CLI_NUMBER_H

#include <stdint.h>

#include <tilejit/status.h>

/** Whole decimal numbers, nothing else: no sign but '-', no blank, no 1e9, no 0x10. what names it in messages. */
tj_status cli_parse_int(const char *what, const char *text, int64_t low, int64_t high, int64_t *value, tj_error *err);

/** A decimal number, "nan", "inf" or "-inf". */
tj_status cli_parse_real(const char *what, const char *text, double *value, tj_error *err);

/** "512x300x700". */
tj_status cli_parse_shape(const char *text, int64_t extent[3], tj_error *err);

/* To at least 32 bytes: */
void cli_format_bytes(char *out, int64_t bytes);                 /* "12.3 KiB" */
void cli_format_age(char *out, int64_t seconds);                 /* "4 min" */
void cli_format_rate(char *out, double per_s, const char *unit); /* "6.22 TFLOP/s", "1.56 TB/s" */
void cli_format_time(char *out, double us);                      /* "33.3 us" */
void cli_format_count(char *out, int64_t count);                 /* "1 234 567" */

/** part / whole; 0 if there is no whole. */
double cli_ratio(double part, double whole);

#endif
