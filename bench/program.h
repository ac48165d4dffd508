/* SPDX-License-Identifier: Apache-2.0 */
/* program.h: helpers that the programs here share: the host's clock, sorted numbers, error messages. */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include <tilejit/tools.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/** The name of the program in messages; the program defines it. */
extern const char program[];

static inline double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/** Return the median; value is sorted. */
static inline double median(double *value, size_t count)
{
    qsort(value, count, sizeof *value, by_value);
    return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

/** Set an error message; returns 0. */
__attribute__((format(printf, 2, 3))) static inline int fail(tj_error *err, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    (void)vsnprintf(err->message, sizeof err->message, format, values);
    va_end(values);
    return 0;
}

/** Print a message to stderr, and end the program. */
__attribute__((format(printf, 2, 3), noreturn)) static inline void die(int code, const char *format, ...)
{
    va_list values;

    fprintf(stderr, "%s: ", program);
    va_start(values, format);
    (void)vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(code);
}

/** End the program unless the call succeeded. */
static inline void must(tj_status status, const tj_error *err)
{
    if (status != TJ_OK)
        die(status == TJ_ERR_NO_DRIVER ? 77 : 1, "%s", err->message);
}

/** Return the number of the device that contexts use when none is current. */
static inline int device_number(void)
{
    const char *named = getenv("TILEJIT_DEVICE");

    return named ? atoi(named) : 0;
}

#endif
