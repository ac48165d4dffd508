/* SPDX-License-Identifier: Apache-2.0 */
#include "printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

enum { PIECE_BYTES = 24 }; /* four escapes of four characters */

/*
 * Characters that a terminal obeys instead of showing, or that are invisible: controls, zero-width spaces, line separators,
 * directions.
 */
static bool is_hidden(uint32_t letter)
{
    static const uint32_t range[][2] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200b},
                                        {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x2069}, {0xfeff, 0xfeff}};

    for (size_t i = 0; i < sizeof range / sizeof range[0]; i++)
        if (letter >= range[i][0] && letter <= range[i][1])
            return true;
    return false;
}

/* Take the next character or escape of the rest. */
static size_t next_piece(const char **text, const char *kept, char piece[PIECE_BYTES])
{
    static const char named[] = "\n\t\r", names[] = "ntr";
    const char *at = *text, *name = strchr(named, *at);
    uint32_t letter = 0;
    size_t bytes = tj_utf8_read(at, &letter), length = 0;

    if (bytes > 0 && (!is_hidden(letter) || strchr(kept, *at))) {
        memcpy(piece, at, bytes);
        length = bytes;
    } else if (name) {
        piece[length++] = '\\';
        piece[length++] = names[name - named];
    } else {
        for (size_t i = 0; i < (bytes > 0 ? bytes : 1); i++)
            length += (size_t)snprintf(piece + length, PIECE_BYTES - length, "\\x%02x", (unsigned char)at[i]);
    }
    *text += bytes > 0 ? bytes : 1;
    return length;
}

size_t tj_printable(char *out, size_t size, const char *text, const char *kept)
{
    size_t length = 0, written = 0;
    char piece[PIECE_BYTES];

    while (*text) {
        const size_t bytes = next_piece(&text, kept, piece);

        if (written == length && bytes < size && length < size - bytes) {
            memcpy(out + written, piece, bytes);
            written += bytes;
        }
        length += bytes;
    }
    if (size > 0)
        out[written] = '\0';
    return length;
}

char *tj_printable_copy(const char *text, const char *kept)
{
    const size_t bytes = tj_printable(NULL, 0, text, kept) + 1;
    char *copy = malloc(bytes);

    if (copy)
        (void)tj_printable(copy, bytes, text, kept);
    return copy;
}
