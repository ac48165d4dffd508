/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8: decode UTF-8, one character at a time.
 */
#ifndef TJ_BASE_UTF8_H
#define TJ_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/**
 * Decode the first character of text, which ends with a NUL. Return its bytes and set its code point; 0: not UTF-8 (a stray or
 * missing byte, an overlong form, half a surrogate pair, or a number above 10FFFF). A NUL ends every sequence.
 */
static inline size_t tj_utf8_read(const char *text, uint32_t *code_point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *const byte = (const unsigned char *)text;
    const size_t bytes = byte[0] < 0x80   ? 1
                         : byte[0] < 0xc0 ? 0
                         : byte[0] < 0xe0 ? 2
                         : byte[0] < 0xf0 ? 3
                         : byte[0] < 0xf8 ? 4
                                          : 0;
    uint32_t number = bytes < 2 ? byte[0] : byte[0] & (0x7fu >> bytes);

    for (size_t i = 1; i < bytes; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
        number = number << 6 | (byte[i] & 0x3f);
    }
    *code_point = number;
    return number < least[bytes] || number > 0x10ffff || (number >= 0xd800 && number < 0xe000) ? 0 : bytes;
}

#endif
