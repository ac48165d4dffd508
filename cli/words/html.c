/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html: text from outside in the pages that commands write.
 */
#include <stdio.h>
#include <string.h>

#include "utf8.h"
#include "words.h"

void cli_html_text(FILE *out, const char *text)
{
    static const char special[] = "&<>\"";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;"};

    while (*text) {
        const char *const at = strchr(special, *text);
        uint32_t letter = 0;
        const size_t bytes = tj_utf8_read(text, &letter);

        if (at)
            fputs(entity[at - special], out);
        else if (bytes > 0 && letter >= 0x20 && (letter < 0x7f || letter > 0x9f))
            fwrite(text, 1, bytes, out);
        else
            fputc('?', out);
        text += bytes > 0 ? bytes : 1;
    }
}
