/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printable: text that was not written here, as a terminal may get it. A server, a pack, a file name or a variable may hold what moves the
 * cursor, renames the window or turns the order of letters around. All that is printed goes through here: messages (error.c), lines of the log
 * (log.c), what compilers say, and what the command prints. What programs read, as JSON, does not.
 */
#ifndef TJ_BASE_PRINTABLE_H
#define TJ_BASE_PRINTABLE_H

#include <stddef.h>

/**
 * Copy text as snprintf does: at most size bytes with the NUL, and the answer is the length that all of it takes. Letters of UTF-8 stay, and
 * so do the control characters that are named in kept. Other control characters (C0, DEL, C1), those that govern the direction of text, line
 * separators, and bytes that are no UTF-8 become "\n", "\t", "\r" or "\x1b". Nothing is cut within a letter or an escape.
 */
size_t tj_printable(char *out, size_t size, const char *text, const char *kept);

/** malloc'ed; NULL: out of memory. */
char *tj_printable_copy(const char *text, const char *kept);

#endif
