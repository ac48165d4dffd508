/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "pack.h"

enum { MOST_NAME = 63, BYTES_A_LINE = 20, TEXT_A_BYTE = 4 }; /* "255," */

/*
 * Reserved names of C up to C23 and C++ up to C++20, which may compile the source too; of <stddef.h>; predefined by compilers;
 * and those that a program has once.
 */
static const char taken[] =
    " auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict "
    "return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "alignas alignof bool constexpr false nullptr static_assert thread_local true typeof typeof_unqual "
    "and and_eq asm bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield compl concept const_cast "
    "consteval constinit decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq "
    "operator "
    "or or_eq private protected public reinterpret_cast requires static_cast template this throw try typeid typename using "
    "virtual wchar_t xor xor_eq "
    "NULL max_align_t nullptr_t offsetof ptrdiff_t size_t unreachable "
    "i386 linux unix main ";

bool pack_is_c_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", others[] = "_0123456789";
    const size_t length = strlen(name);
    char characters[sizeof letters + sizeof others], word[MOST_NAME + 3];

    (void)snprintf(characters, sizeof characters, "%s%s", letters, others);
    (void)snprintf(word, sizeof word, " %.*s ", MOST_NAME, name);
    return length > 0 && length <= MOST_NAME && strchr(letters, name[0]) && strspn(name, characters) == length &&
           !strstr(taken, word);
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
