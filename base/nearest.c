/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include <string.h>

enum { LONGEST_WORD = 40 };

/* Count the edits (insert, remove, replace; a swap of neighbours is two) that turn one word into the other. */
static size_t distance(const char *left, const char *right)
{
    size_t row[LONGEST_WORD + 1], width = strlen(right);

    if (width > LONGEST_WORD || strlen(left) > LONGEST_WORD)
        return LONGEST_WORD;
    for (size_t i = 0; i <= width; i++)
        row[i] = i;
    for (; *left; left++) {
        size_t diagonal = row[0];

        row[0]++;
        for (size_t i = 1; i <= width; i++) {
            size_t above = row[i], best = diagonal + (*left != right[i - 1]);

            best = row[i - 1] + 1 < best ? row[i - 1] + 1 : best;
            row[i] = above + 1 < best ? above + 1 : best;
            diagonal = above;
        }
    }
    return row[width];
}

const char *tj_nearest(const char *word, const char *(*next)(size_t index, const void *payload), const void *payload)
{
    size_t least = strlen(word) / 3 + 2;
    const char *near = NULL, *offered;

    for (size_t i = 0; (offered = next(i, payload)); i++) {
        size_t edits = distance(word, offered);

        if (edits < least) {
            least = edits;
            near = offered;
        }
    }
    return near;
}
