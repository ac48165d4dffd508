/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printable: make foreign text safe for a terminal. A server, a pack, a file name or a variable may hold sequences that move
 * the cursor, rename the window or reverse the order of characters. All text for people goes through here: messages (error.c),
 * lines of the log (log.c), output of compilers and of the command. Output for programs, such as JSON, does not.
 */
#ifndef TJ_BASE_PRINTABLE_H
#define TJ_BASE_PRINTABLE_H

#include <stddef.h>

/**
 * Copy text as snprintf does: at most size bytes with the NUL; return the length of the whole result. UTF-8 characters stay,
 * and so do the control characters listed in kept. Other control characters (C0, DEL, C1), direction marks, line separators,
 * and bytes that are not UTF-8 become "\n", "\t", "\r" or "\x1b". No character or escape is cut in the middle.
 */
size_t tj_printable(char *out, size_t size, const char *text, const char *kept);

/** malloc'ed; NULL: out of memory. */
char *tj_printable_copy(const char *text, const char *kept);

#endif
