/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html: text from outside in the pages that commands write.
 */
#include <stdio.h>
#include <string.h>

#include "words.h"

void cli_html_text(FILE *out, const char *text)
{
    static const char special[] = "&<>\"";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;"};

    for (; *text; text++) {
        const char *at = strchr(special, *text);

        if (at)
            fputs(entity[at - special], out);
        else
            fputc((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e ? '?' : *text, out);
    }
}
