/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * libFuzzer: any text as a config's one-line form; an accepted one must print and read back as itself, and generate or be
 * refused.
 */
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    tj_problem problem = TJ_PROBLEM_INIT(33, 20, 47, TJ_F32);
    tj_config config = TJ_CONFIG_INIT, again = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    char text[1024], printed[TJ_CONFIG_TEXT_BYTES];
    tj_error err;

    if (size >= sizeof text)
        return 0;
    memcpy(text, bytes, size);
    text[size] = '\0';
    if (tj_config_parse(text, &config, &err) != TJ_OK)
        return 0;
    tj_config_print(&config, printed);
    if (tj_config_parse(printed, &again, &err) != TJ_OK)
        abort();
    if (tj_generate(&problem, &config, &source, &err) == TJ_OK && !strstr(tj_source_text(source), "__global__"))
        abort();
    tj_source_free(source);
    return 0;
}
