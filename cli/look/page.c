/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page: helpers of all parts of the report.
 */
#include <string.h>

#include "page.h"

void cli_page_config(FILE *out, const char *text)
{
    fputs("<code>", out);
    while (*text) {
        const size_t length = strcspn(text, ",") + (strchr(text, ',') != NULL);
        char word[64];

        (void)snprintf(word, sizeof word, "%.*s", (int)length, text);
        cli_html_text(out, word);
        fputs(text[length] ? "<wbr>" : "", out);
        text += length;
    }
    fputs("</code>", out);
}

void cli_page_name(FILE *out, const cli_case *one)
{
    char name[CLI_NAME_BYTES];

    cli_name_case(one, name);
    cli_html_text(out, name);
}

void cli_page_open_figure(FILE *out, const char *id, int width, int height, const char *title)
{
    fprintf(out,
            "<figure>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\" aria-describedby=\"%s-desc\">\n"
            "<title>%s</title>\n",
            width, height, title, id, title);
}
