/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "pack.h"

enum { BYTES_A_LINE = 20, TEXT_A_BYTE = 4 }; /* "255," */

bool pack_is_c_name(const char *name)
{
    static const char characters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const size_t length = strlen(name);

    return length > 0 && length < 64 && strspn(name, characters) == length && (name[0] < '0' || name[0] > '9');
}

char *pack_c_array(const char *name, const void *bytes, size_t size, size_t *length)
{
    const unsigned char *byte = bytes;
    const size_t most = 512 + 4 * strlen(name) + size * TEXT_A_BYTE + size / BYTES_A_LINE * 5;
    char *text = malloc(most), *at = text;

    if (!text)
        return NULL;
    at += snprintf(at, most,
                   "/* Made by tilejit pack; do not edit. For tj_context_options.pack_bytes:\n"
                   " *\n"
                   " *     extern const unsigned char %s[];\n"
                   " *     extern const size_t %s_size;\n"
                   " */\n"
                   "#include <stddef.h>\n\n"
                   "const unsigned char %s[] = {",
                   name, name, name);
    for (size_t i = 0; i < size; i++)
        at += sprintf(at, "%s%d,", i % BYTES_A_LINE == 0 ? "\n    " : "", byte[i]);
    at += sprintf(at, "\n};\nconst size_t %s_size = sizeof %s;\n", name, name);
    *length = (size_t)(at - text);
    return text;
}
