/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * libFuzzer: any text as an epilogue. An accepted one must print, read back as the same bytes, and generate or be refused with
 * a message; only names of operands may reach the source.
 */
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

static void generate(const tj_epilogue *epilogue, const char *family)
{
    tj_problem problem = TJ_PROBLEM_INIT(32, 20, 48, TJ_F32);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_error err = {TJ_OK, ""};

    problem.epilogue = *epilogue;
    if (tj_config_parse(family, &config, &err) != TJ_OK)
        abort();
    if (tj_generate(&problem, &config, &source, &err) == TJ_OK && !strstr(tj_source_text(source), "__global__"))
        abort();
    if (!source && !err.message[0])
        abort();
    tj_source_free(source);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    tj_epilogue epilogue = {0}, again = {0};
    char text[TJ_EPILOGUE_PARSED_BYTES + 64], printed[TJ_EPILOGUE_TEXT_BYTES];
    tj_error err = {TJ_OK, ""};

    if (size >= sizeof text)
        return 0;
    memcpy(text, bytes, size);
    text[size] = '\0';
    if (tj_epilogue_parse(text, &epilogue, &err) != TJ_OK) {
        if (err.status != TJ_ERR_INVALID_ARGUMENT || !err.message[0])
            abort();
        return 0;
    }
    tj_epilogue_print(&epilogue, printed);
    if (tj_epilogue_parse(printed, &again, &err) != TJ_OK || memcmp(&epilogue, &again, sizeof again) != 0)
        abort();
    generate(&epilogue, "naive");
    generate(&epilogue, "simt");
    return 0;
}
