/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Words that the command takes and refuses, its help, completions and man page. */
#include "command_test.h"

Test(command, names_what_is_wrong_with_the_words)
{
    static const struct {
        const char *words, *said;
    } rows[] = {
        {"generat", "did you mean generate?"},
        {"cache", "cache needs an action"},
        {"cache lst", "did you mean cache list?"},
        {"xyzzyplugh", "there is no command \"xyzzyplugh\""},
        {"--json", "comes before any command"},
        {"run", "run needs <jxkxl>"},
        {"run 5x3", "write jxkxl"},
        {"run 5x3x2 --batch 3 --stride-p broadcast", "stride_p is broadcast"},
        {"run 5x3x2 --batch 3 --stride-m pointer", "--stride-m is \"pointer\""},
        {"run 5x3x2 --batch 3 --stride-c pointers", "add --beta"},
        {"run 5x3x2x1", "write jxkxl"},
        {"run ''", "write jxkxl"},
        {"run xx", "j is empty"},
        {"run 5xx2", "k is empty"},
        {"run 0x1x1", "j is 0"},
        {"run 1x1x0", "l is 0"},
        {"run -5x3x2", "j is -5"},
        {"run 5x-1x2", "k is -1"},
        {"run 1e9x2x3", "j is \"1e9\""},
        {"run 5x3x+2", "l is \"+2\""},
        {"run ' 5x3x2'", "j is \" 5\""},
        {"run 5.0x3x2", "j is \"5.0\""},
        {"run 0x10x5", "j is 0"},
        {"run 2147483648x1x1", "j is 2147483648: it must be from 1 to 2147483647"},
        {"run 1x4294967296x1", "k is 4294967296"},
        {"run 1x1x9223372036854775808", "l is 9223372036854775808"},
        {"run 12345678901234567890x1x1", "j is 12345678901234567890"},
        {"run 1111111111111111111111111111111111111111111111111111111111111111111111111x1x1", "73 digits"},
        {"run 2147483647x2147483647x2147483647", "does not fit 63 bits"},
        {"run 5x3x2 5x3x2", "one word too many"},
        {"families now", "takes no operand"},
        {"completion tcsh", "not for tcsh"},
        {"run 5x3x2 --tile-widht 8", "did you mean --tile-width?"},
        {"run 5x3x2 --til 8", "has no option --til"},
        {"run 5x3x2 -x", "has no option -x"},
        {"run 5x3x2 --tile-width", "--tile-width needs a value"},
        {"run 5x3x2 --tile-width --json", "--tile-width needs a value"},
        {"run 5x3x2 --tile-width=", "--tile-width is empty"},
        {"run 5x3x2 --json=1", "--json takes no value"},
        {"run 5x3x2 --tile-width 0", "from 4 to 32"},
        {"run 5x3x2 --tile-width -1", "from 4 to 32"},
        {"run 5x3x2 --tile-width 1", "from 4 to 32"},
        {"run 5x3x2 --tile-width 3.5", "from 4 to 32"},
        {"run 5x3x2 --tile-width 33", "from 4 to 32"},
        {"run 5x3x2 --tile-width 16abc", "from 4 to 32"},
        {"run 5x3x2 --tile-width 0x10", "from 4 to 32"},
        {"run 5x3x2 --tile-width 2147483648", "from 4 to 32"},
        {"run 5x3x2 --boundary none", "boundary check of j"},
        {"run 5x3x2 --boundary jq", "boundary"},
        {"run 5x3x2 --shared heap", "shared"},
        {"run 5x3x2 --rows z", "rows"},
        {"run 5x3x2 --family tyled", "tyled"},
        {"run 5x3x2 --config tiled:tile_width", "tile_width"},
        {"run 5x3x2 --config tiled --family naive", "--config names a family"},
        {"run 5x3x2 --dtype f8", "f8"},
        {"run 5x3x2 --dtype F32", "F32"},
        {"run 5x3x2 --dtype f64 --p-dtype f32", "f64"},
        {"run 5x3x2 --layout-m diagonal", "use one of row, col"},
        {"run 5x3x2 --ld-m 2", "2"},
        {"run 5x3x2 --ld-m 0", "--ld-m is 0"},
        {"run 5x3x2 --ld-m -4", "--ld-m is -4"},
        {"run 5x3x2 --ld-c 8", "add --beta"},
        {"run 5x3x2 --batch 0", "--batch is 0"},
        {"run 5x3x2 --batch 2147483648", "--batch is 2147483648"},
        {"run 5x3x2 --batch 4 --stride-p 5", "5"},
        {"run 5x3x2 --alpha 0x10", "--alpha is \"0x10\""},
        {"run 5x3x2 --alpha 1,5", "--alpha is \"1,5\""},
        {"run 5x3x2 --alpha 1e999", "too large"},
        {"run 5x3x2 --alpha ''", "--alpha is \"\""},
        {"run 5x3x2 --alpha e", "--alpha is \"e\""},
        {"run 5x3x2 --dtype c64 --alpha 1-xi", "--alpha is \"-x\": write a decimal number"},
        {"run 5x3x2 --dtype c64 --alpha 1+2", "--alpha is \"1+2\": write a decimal number"},
        {"run 5x3x2 --dtype c64 --alpha 1e999i", "too large"},
        {"run 5x3x2 --alpha 1i", "--alpha has an imaginary part, and the product of f32 is real"},
        {"run 5x3x2 --conj-m", "M is conjugated and holds f32, which are real"},
        {"run 5x3x2 --dtype complex64", "no element type is named \"complex64\": did you mean c64?"},
        {"run 5x3x2 --invariant cols", "--invariant is \"cols\": use one of rows"},
        {"run 5x3x2 --invariant rows --family skinny", "and family skinny adds them in another: use family tiled"},
        {"run 5x3x2 --invariant rows --config simt:splits=2", "family simt with splits=2 adds them in another"},
        {"run 5x3x2 --invariant rows --compute f32_split", "chooses its way by all elements of M and N: use compute f32"},
        {"run 5x3x2 --any q", "--any has \"q\""},
        {"run 5x3x2 --multiple-of j=5", "--multiple-of j promises a multiple of an extent that is fixed: add j to any"},
        {"run 5x3x2 --any j --multiple-of j=4", "breaks"},
        {"run 5x3x2 --any j --multiple-of j", "write j=16"},
        {"run 5x3x2 --repeat 0", "--repeat is 0"},
        {"run 5x3x2 --seed -1", "--seed is -1"},
        {"run 5x3x2 --device -1", "--device is -1"},
        {"run 5x3x2 --log loud", "--log is \"loud\""},
        {"compile 5x3x2 -o kernel.bin", "add --emit"},
        {"compile 5x3x2 --emit sass", "use one of ptx, cubin"},
        {"compile 5x3x2 --emit ptx --json", "stdout takes the JSON"},
        {"matmul M.npy", "needs <M.npy> <N.npy>"},
        {"matmul M.npy N.npy", "add -o P.npy"},
        {"matmul M.npy N.npy -o - --json", "--json and -o -"},
        {"matmul M.npy N.npy -o /dev/stdout --json", "--json and -o /dev/stdout"},
        {"run 8x8x8 --check-budget -1", "--check-budget is -1: it must be at least 1"},
        {"run 8x8x8 --check-budget 0", "--check-budget is 0"},
        {"run 8x8x8 --beta -0.01e-400", "--beta is -0.01e-400: too small for a double"},
        {"run 8x8x8 --check-budget nan", "--check-budget is nan"},
        {"matmul - - -o P.npy", "stdin"},
        {"matmul M.npy N.npy -o P.npy --beta 2", "add --c"},
        {"matmul M.npy N.npy -o P.npy --order K", "use one of C, F"},
        {"run 5x3x2 --arch sm_80", "--arch goes with --compile-only"},
        {"matmul M.npy N.npy -o P.npy --arch sm_80", "--arch goes with --compile-only"},
        {"help nonsense", "no command \"nonsense\"\ntry: tilejit help, which lists the commands\n"},
        {"help complie", "did you mean compile?"},
        {"run 5x3x2 --dtype float16", "no element type is named \"float16\": did you mean f16?"},
    };
    static const char *const locales[] = {"C", "de_DE.UTF-8", "tr_TR.UTF-8"};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t l = 0; l < sizeof locales / sizeof locales[0]; l++) {
            int code = shell("LC_ALL=%s $T %s", locales[l], rows[i].words);

            cr_expect(eq(int, code, 2), "%s: %s", rows[i].words, errors);
            cr_expect(strstr(errors, rows[i].said) != NULL, "%s: %s", rows[i].words, errors);
            cr_expect(strncmp(errors, "tilejit: ", 9) == 0, "%s: %s", rows[i].words, errors);
            cr_expect(strstr(errors, "\ntry: tilejit help") != NULL && strlen(errors) < 700, "%s: %s", rows[i].words, errors);
            cr_expect(strstr(rows[i].words, "--json") || !*out, "%s: %s", rows[i].words, out);
        }
    }
    cr_expect(eq(int, shell("$T"), 2));
    cr_expect(strstr(errors, "usage: tilejit <command>") && strstr(errors, "\n  generate ") && !*out, "%s", errors);
    cr_expect(not(exists("store")), "wrong words leave nothing behind");
    cr_expect(not(exists("P.npy")), "wrong words leave nothing behind");
}

/* A row of docs/what-it-does-not-do.md: the request between the first pair of backticks, its answer between the next. */
static bool next_refusal(char **page, char **request, char **answer)
{
    char *const line = strstr(*page, "| `tilejit "), *ends[2];

    if (!line)
        return false;
    *request = line + strlen("| `tilejit ");
    ends[0] = strstr(*request, "` | `");
    ends[1] = ends[0] ? strstr(ends[0] + 5, "` | ") : NULL;
    if (!ends[1])
        return false;
    *answer = ends[0] + 5;
    *ends[0] = *ends[1] = '\0';
    *page = ends[1] + 1;
    return true;
}

Test(command, does_not_do_what_the_page_says_so_of)
{
    static char page[OUTPUT_BYTES];
    char *rest = page, *request, *answer;
    int count = 0;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("cat " TJ_SOURCE_DIR "/docs/what-it-does-not-do.md"), 0));
    strcpy(page, out);
    cr_assert(eq(int,
                 shell("printf '\\223NUMPY\\1\\0\\106\\0%%-69s\\n' \"{'descr': '<f4', 'fortran_order': False, 'shape': "
                       "(1, 1, 1, 1), }\" >R4.npy; printf 0000 >>R4.npy"),
                 0));
    for (; next_refusal(&rest, &request, &answer); count++) {
        cr_expect(ne(int, shell("TILEJIT_DRIVER=emulator $T %s", request), 0), "%s is done after all", request);
        cr_expect(strstr(errors, answer) != NULL, "%s: %s, not %s", request, errors, answer);
    }
    cr_expect(eq(int, count, 13), "rows of the table");
}

Test(command, reports_a_failure_as_json_too)
{
    static const char *const rows[] = {"run 0x1x1 --json", "run --json", "compile 5x3x2 --arch sm_12 --no-cache --json",
                                       "devices --driver /nonexistent/libcuda.so --json"};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_error_t where;
        json_t *answer, *error;
        int code = shell("$T %s", rows[i]);

        cr_expect(code == 1 || code == 2, "%s", rows[i]);
        answer = json_loads(out, 0, &where);
        cr_assert(answer != NULL, "%s: %s: %s", rows[i], where.text, out);
        error = json_object_get(answer, "error");
        cr_expect(json_string_value(json_object_get(error, "status")) != NULL, "%s: %s", rows[i], out);
        cr_expect(json_string_value(json_object_get(error, "message")) != NULL, "%s: %s", rows[i], out);
        cr_expect(strncmp(errors, "tilejit: ", 9) == 0, "%s", errors);
        json_decref(answer);
    }
}

Test(command, takes_the_last_of_a_repeated_option)
{
    cr_assert(eq(int, shell("$T generate 64x64x64 --tile-width 8 --tile-width 32"), 0), "%s", errors);
    cr_expect(strstr(out, "TILE_WIDTH = 32;") != NULL, "%s", out);
}

Test(command, treats_words_after_two_dashes_as_operands)
{
    cr_expect(eq(int, shell("$T generate --tile-width=8 -- 64x64x64"), 0), "%s", errors);
    cr_expect(eq(int, shell("$T generate -- --json"), 2));
    cr_expect(strstr(errors, "shape \"--json\"") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T matmul -- -M.npy -N.npy -o"), 2));
}

Test(command, answers_help_for_every_command)
{
    static const char *const commands[] = {
        "matmul",    "repack",     "run",         "bench",        "generate",    "compile",    "families",      "devices",
        "doctor",    "cache list", "cache stats", "cache verify", "cache clear", "cache path", "cache explain", "pack",
        "pack list", "warm-up",    "pack verify", "pack diff",    "pack unpack", "completion", "trace",         "with"};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        static char asked[OUTPUT_BYTES];

        cr_expect(eq(int, shell("COLUMNS=garbage TERM=$(printf '\\033[31m') $T help %s", commands[i]), 0), "%s", errors);
        cr_expect(strstr(out, "options:") != NULL, "%s: %s", commands[i], out);
        strcpy(asked, out);
        cr_expect(eq(int, shell("$T %s --help", commands[i]), 0), "%s", errors);
        cr_expect(eq(str, out, asked), "%s", commands[i]);
    }
    cr_expect(eq(int, shell("$T help run"), 0));
    cr_expect(strstr(out, "M and N: f32 (default), f64, f16") != NULL, "what the table offers: %s", out);
    cr_expect(eq(int, shell("$T help"), 0));
    cr_expect(eq(int, shell("$T --version"), 0));
    cr_expect(strncmp(out, "tilejit ", 8) == 0, "%s", out);
}

Test(command, completes_words_from_its_tables)
{
    static const struct {
        const char *words, *answer; /* the candidates, without their summaries */
    } rows[] = {
        {"cache ''", "list stats verify clear path explain "},
        {"help cache ''", "list stats verify clear path explain "},
        {"pack ''", "list verify diff unpack "},
        {"pack --target ''", ""},
        {"pack list ''", ":files "},
        {"pack --records ''", ":files "},
        {"help run ''", ""},
        {"completion ''", "bash zsh fish "},
        {"run 8x8x8 --layout-m ''", "row col "},
        {"run --stride-p ''", "pointers pointers16 "},
        {"run --dtype ''", "f32 f64 f16 bf16 e4m3 e5m2 s8 u8 s4 e2m1 u4 c64 c128 "},
        {"run --p-dtype ''", "f32 f64 f16 bf16 e4m3 e5m2 s8 u8 s32 c64 c128 "},
        {"run --compute ''", "f32 f64 tf32 s32 f32_split f32_fp8 "},
        {"run --scale-n ''", "one each along-k "},
        {"matmul ''", ":files "},
        {"matmul -o ''", ":files "},
        {"run --cache-dir ''", ":files "},
        {"run --alpha ''", ""},
        {"run ''", ""},
        {"nonsense ''", ""},
        {"cache nonsense ''", ""},
        {"run '' ''", ""},
        {"$(printf '%%0200d' 0) $(printf '%%0200d' 0) ''", ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(eq(int, shell("$T completion words -- %s | cut -f 1 | tr '\\n' ' '", rows[i].words), 0), "%s", errors);
        cr_expect(eq(str, out, (char *)rows[i].answer), "%s", rows[i].words);
        cr_expect(eq(str, errors, ""), "%s", rows[i].words);
    }
    /* All commands and all options, as --help has them; man is hidden there. */
    cr_expect(eq(int,
                 shell("for first in '' help; do $T help | awk '/^  [a-z]/ { print $1 }' | uniq > wanted; "
                       "$T completion words -- $first '' | cut -f 1 | grep -vx man | diff wanted - || exit 1; done"),
                 0),
              "%s", out);
    cr_expect(eq(int,
                 shell("$T help run | grep -oE '^  (-., )?--[a-z0-9-]+' | sed 's/.*--/--/' > wanted; test -s wanted && "
                       "$T completion words -- run -- | cut -f 1 | diff wanted -"),
                 0),
              "%s", out);
    cr_expect(eq(int, shell("$T completion words -- run --layout-m"), 0));
    cr_expect(strstr(out, "--layout-m\tThe layout of M in memory\n") != NULL, "%s", out);
    cr_expect(strstr(out, "--alpha\tP = alpha * M . N\n") != NULL, "%s", out);
}

Test(command, man_page_has_every_option_and_troff_accepts_it)
{
    cr_assert(
        eq(int,
           shell("$T man > tilejit.1 && $T help matmul | grep -o -- '^  --[a-z-]*' | sed 's/-/\\\\\\\\-/g' | while read o; "
                 "do grep -qF -- \"$o\" tilejit.1 || echo \"$o\"; done"),
           0),
        "%s", errors);
    cr_expect(eq(str, out, ""), "options missing from the man page: %s", out);
    cr_expect(eq(int, shell("command -v groff >/dev/null || exit 0; groff -man -Tascii -ww -z tilejit.1"), 0), "%s", errors);
    cr_expect(eq(str, errors, ""), "%s", errors);
}
