/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * libFuzzer: any bytes as JSON. If accepted, jansson accepts them as well, and they print, in either style, as JSON that reads
 * as the same.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

/* Read, and print as hashes see it; NULL: refused. */
static char *normal(const char *text, size_t size, tj_json **root)
{
    char *printed;

    if (tj_json_read(text, size, root, NULL) != TJ_OK)
        return NULL;
    printed = tj_json_print(*root);
    if (!printed)
        abort();
    return printed;
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    char *text = malloc(size + 1), *first, *second, *lines;
    tj_json *root, *again;
    json_t *theirs;

    memcpy(text, bytes, size);
    text[size] = '\0';
    first = normal(text, size, &root);
    if (first) {
        theirs = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
        lines = tj_json_print_lines(root, TJ_JSON_EXACT);
        if (!theirs || !lines)
            abort();
        for (int i = 0; i < 2; i++) {
            const char *printed = i == 0 ? first : lines;

            second = normal(printed, strlen(printed), &again);
            if (!second || strcmp(first, second) != 0)
                abort();
            free(second);
            tj_json_free(again);
        }
        free(lines);
        json_decref(theirs);
        tj_json_free(root);
    }
    free(first);
    free(text);
    return 0;
}
