/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error: recording a failure is one statement, and the return stays visible:
 *
 *     return tj_fail(err, TJ_ERR_IO, "cannot open %s: %s", path, strerror(errno));
 *
 * The lowest layer writes the message, with the value and the remedy; the layers above pass it on untouched.
 */
#ifndef TJ_BASE_ERROR_H
#define TJ_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include <tilejit/status.h>

/**
 * Fill *err (NULL accepted) and return status. The message is made printable (printable.h) and cut at its size. Formats:
 * integers and strings only; floating point depends on the locale.
 *
 * Failures are cold: the compiler moves the code that reports them away from the path that succeeds.
 */
__attribute__((cold, format(printf, 3, 4))) tj_status tj_fail(tj_error *err, tj_status status, const char *format, ...);

/**
 * Fail with TJ_ERR_INVALID_ARGUMENT, naming a public function and its argument that is NULL: if (!x) return tj_fail_null(err,
 * __func__, "x"); If the public header gives the argument another name than the function does, pass the header's name.
 */
tj_status tj_fail_null(tj_error *err, const char *function, const char *argument);

/**
 * Is one of these arguments of a public function NULL? Then *err names the first, as with tj_fail_null: the caller returns
 * TJ_ERR_INVALID_ARGUMENT.
 */
#define TJ_HAS_NULL(err, ...)                                                    \
    tj_has_null(err, __func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__}, \
                sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))

/** Report the NULL that tj_has_null found. names: the arguments' names, as "context, plan". Always returns true. */
__attribute__((cold)) bool tj_name_null(tj_error *err, const char *function, const char *names, const void *const *argument);

/** Implement TJ_HAS_NULL. Launches call it too, so it costs one comparison per argument; names are read only if one is NULL. */
static inline bool tj_has_null(tj_error *err, const char *function, const char *names, const void *const *argument,
                               size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (__builtin_expect(!argument[i], 0))
            return tj_name_null(err, function, names, argument);
    return false;
}

/** Call tj_fail for an error in a line of text: two more lines show the text around byte offset `at` and a caret under it. */
__attribute__((format(printf, 5, 6))) tj_status tj_fail_with_caret(tj_error *err, tj_status status, const char *line, size_t at,
                                                                   const char *format, ...);

/** Fail with TJ_ERR_OUT_OF_MEMORY, naming the object that could not be allocated. */
tj_status tj_fail_memory(tj_error *err, const char *what);

#endif
