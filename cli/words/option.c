/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option: the options, as tables, and the one parser that reads them.
 *
 * --help and the man page print the same tables. Written out rather than left to getopt_long, because abbreviations would
 * let a new option change what an old script means, POSIXLY_CORRECT would change the order of words, and a wrong word
 * should be answered with the nearest right one.
 */
#include <inttypes.h>
#include <string.h>

#include "cli.h"

#define MAX_LD (INT64_C(1) << 48)
#define AT(field) offsetof(cli_words, field)
#define FLAG(name, field, value, summary)                              \
    {                                                                  \
        0, name, NULL, CLI_FLAG, AT(field), value, 0, 0, NULL, summary \
    }
#define TEXT(name, argument, field, summary)                           \
    {                                                                  \
        0, name, argument, CLI_TEXT, AT(field), 0, 0, 0, NULL, summary \
    }
#define INT(name, argument, field, low, high, summary)                     \
    {                                                                      \
        0, name, argument, CLI_INT, AT(field), low, high, 0, NULL, summary \
    }
#define REAL(name, argument, field, summary)                           \
    {                                                                  \
        0, name, argument, CLI_REAL, AT(field), 0, 0, 0, NULL, summary \
    }
#define END                                             \
    {                                                   \
        0, NULL, NULL, CLI_FLAG, 0, 0, 0, 0, NULL, NULL \
    }

static const char *const layouts[] = {"row", "col", NULL};
static const char *const levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const orders[] = {"C", "F", NULL};
static const char *const strategies[] = {"search", "model", "exhaustive", NULL};
static const char *const images[] = {"ptx", "cubin", NULL};

const cli_option cli_problem_options[] = {
    TEXT("dtype", "type", dtype, "Element type of M and N: f32 (default), f64, f16, bf16."),
    TEXT("p-dtype", "type", p_dtype, "Element type of P and C; default: that of M and N."),
    FLAG("transpose-m", transpose_m, 1, "M is stored k x j."),
    FLAG("transpose-n", transpose_n, 1, "N is stored l x k."),
    TEXT("any", "list", any,
         "What the kernel takes as arguments instead of having it baked in: j, k, l, ld, batch, stride, separated by commas, "
         "or all."),
    TEXT("multiple-of", "list", multiple_of, "Promises for dimensions in --any, such as j=16,k=8."),
    END,
};

#define LAYOUT(name, field, summary)                                       \
    {                                                                      \
        0, name, "order", CLI_CHOICE, AT(field), 0, 0, 0, layouts, summary \
    }
#define STRIDE(name, field, summary)                                            \
    {                                                                           \
        0, name, "elements", CLI_STRIDE, AT(field), 1, MAX_LD, 0, NULL, summary \
    }

const cli_option cli_layout_options[] = {
    LAYOUT("layout-m", m_layout, "How M lies in memory: row (default) or col."),
    LAYOUT("layout-n", n_layout, "The same for N."),
    LAYOUT("layout-p", p_layout, "The same for P and C."),
    INT("ld-m", "elements", ld_m, 1, MAX_LD, "Elements from one stored row (column) of M to the next; default: no padding."),
    INT("ld-n", "elements", ld_n, 1, MAX_LD, "The same for N."),
    INT("ld-p", "elements", ld_p, 1, MAX_LD, "The same for P."),
    INT("ld-c", "elements", ld_c, 1, MAX_LD, "The same for C."),
    INT("batch", "count", batch, 1, INT32_MAX, "How many products of this shape; default 1."),
    STRIDE(
        "stride-m", stride_m,
        "Elements from one M of the batch to the next; broadcast: all use the same one; pointers: they lie anywhere, and the "
        "kernel takes an array of pointers to them; pointers16: the same, each aligned to 16 bytes."),
    STRIDE("stride-n", stride_n, "The same for N."),
    STRIDE("stride-p", stride_p, "The same for P, without broadcast."),
    STRIDE("stride-c", stride_c, "The same for C."),
    END,
};

const cli_option cli_scalar_options[] = {
    REAL("alpha", "number", alpha, "P = alpha * M . N; given, it is an argument of the kernel."),
    REAL("beta", "number", beta, "Adds beta * C; given, it is an argument of the kernel. With 0, C is not read."),
    END,
};

const cli_option cli_config_options[] = {
    TEXT("config", "text", config, "How to compute it, in one line: tiled:tile_width=16,shared=static,boundary=jl."),
    TEXT("family", "name", family,
         "The family alone; see tilejit families. Options below change single parameters of it, of tiled "
         "if none is named."),
    TEXT("tile-width", "w", tile_width, "TILE_WIDTH: 4 to 32."),
    TEXT("shared", "kind", shared, "Shared memory: static or dynamic."),
    TEXT("rows", "axis", rows, "Which block index counts rows of P: y (the textbook's) or x."),
    TEXT("boundary", "checks", boundary,
         "Boundary checks: auto (default: those the shape needs), all, none, or the letters of the checked dimensions: jl."),
    END,
};

const cli_option cli_machine_options[] = {
    TEXT("arch", "target", arch,
         "Compile for sm_90, sm_80 ...; compute_90 gives PTX alone. Default: the device, or sm_90 without one."),
    TEXT(
        "device", "which", device,
        "auto (default): a GPU if there is one, else the emulator; a CUDA device, counted from 0; emulator, or emulator:sm_80: "
        "compute on the CPU."),
    {0, "cache-dir", "folder", CLI_TEXT, AT(cache_dir), 1, 0, 0, NULL,
     "Where kernels are kept; default: $TILEJIT_CACHE_DIR, then the user's cache folder."},
    FLAG("no-cache", no_cache, 1, "Leave the disk alone: kernels live in memory only."),
    TEXT("nvrtc", "path", nvrtc, "The libnvrtc to use; default: $TILEJIT_NVRTC, then a search."),
    TEXT("driver", "path", driver, "The libcuda to use; default: $TILEJIT_DRIVER, then libcuda.so.1."),
    TEXT("dump-dir", "folder", dump_dir,
         "Write every built kernel's text, PTX, CUBIN and log here too; default: $TILEJIT_DUMP."),
    END,
};

const cli_option cli_common_options[] = {
    FLAG("json", is_json, 1, "Print one JSON object on stdout, also for a failure."),
    {0, "log", "level", CLI_CHOICE, AT(log_level), TJ_LOG_ERROR, 0, 0, levels,
     "Tell on stderr what is going on: error, warning, info, debug."},
    FLAG("verbose", log_level, TJ_LOG_INFO, "The same as --log info."),
    {'h', "help", NULL, CLI_FLAG, AT(is_help), 1, 0, 0, NULL, "Say what the command does, and stop."},
    END,
};

const cli_option cli_output_options[] = {
    {'o', "output", "file", CLI_TEXT, AT(output), 0, 0, 0, NULL,
     "Write here; - is stdout, and the report goes to stderr then. A file is replaced whole or not at all."},
    END,
};

const cli_option cli_check_options[] = {
    FLAG("no-check", no_check, 1, "Do not compare P with the product in float64."),
    FLAG("check", no_check, 0, "Do compare (the default)."),
    {0, "check-budget", "flop", CLI_REAL, AT(check_budget), 1, 0, 0, NULL,
     "How much work the comparison may be; beyond it, whole rows of P are sampled. Default 2e10."},
    END,
};

const cli_option cli_timing_options[] = {
    INT("warmup", "count", warmup, 0, 100000, "Launches before the timed ones; default 2."),
    INT("repeat", "count", repeat, 1, 100000, "Timed launches; default 10."),
    END,
};

const cli_option cli_matmul_options[] = {
    TEXT("c", "C.npy", c, "The matrix that beta multiplies; without --beta, beta is 1."),
    {0, "order", "order", CLI_CHOICE, AT(order), 1, 0, 0, orders,
     "How P is written: C (row by row, the default unless C.npy is F) or F."},
    FLAG("keep", keep, 1, "Write P even if it did not pass its check."),
    FLAG("compile-only", compile_only, 1, "Generate, compile and store the kernel; run nothing, write no P."),
    FLAG("no-run", compile_only, 1, "The same."),
    END,
};

const cli_option cli_run_options[] = {
    INT("seed", "number", seed, 0, INT64_MAX - 2, "Of the random matrices; default 1."),
    FLAG("count", counts, 1, "Count what the kernel does: loads, sectors, bank conflicts, FMAs. On the emulator only."),
    FLAG("count-lines", counts, 2, "The same, line by line of the CUDA text as well."),
    FLAG("compile-only", compile_only, 1, "Generate, compile and store the kernel; run nothing."),
    FLAG("no-run", compile_only, 1, "The same."),
    END,
};

const cli_option cli_compile_options[] = {
    {0, "emit", "kind", CLI_CHOICE, AT(emit), 1, 0, 0, images,
     "Which image to write: ptx or cubin; default: what the file's name ends in."},
    END,
};

const cli_option cli_prove_options[] = {
    TEXT("config", "text", config, "Prove this config, in one line, in place of what the library chooses."),
    TEXT("family", "name", family, "Prove the default config of this family."),
    TEXT("shapes", "file.csv", shapes, "Prove the shapes of a file too: lines of category,j,k,l,batch or j,k,l or jxkxl."),
    TEXT("cases", "folder", cases,
         "Where to write what the makers of the compiler need of a kernel that failed; default: tilejit-cases, here."),
    FLAG("resume", resume, 1, "Pass over kernels that were proven on such a device with its driver."),
    END,
};

const cli_option cli_tune_options[] = {
    TEXT("family", "name", family, "Look in this family alone; default: in all. See tilejit families."),
    {0, "strategy", "name", CLI_CHOICE, AT(strategy), TJ_SEARCH, 0, 0, strategies,
     "search (default): what promises most; model: only what the model ranks highest; exhaustive: every config."},
    TEXT("budget", "time", budget,
         "Time for all that is done for each shape, such as 30s (the default), 5m, 1h; exhaustive: no limit."),
    INT("evaluations", "count", evaluations, 1, INT64_C(1) << 40,
        "Configs to try for each shape; default: 48 to 240, until none promises more; model: 80; exhaustive: all."),
    TEXT("shapes", "file.csv", shapes,
         "Tune the shapes of a file too (- is stdin), more than the 64 of a command line: lines of category,j,k,l,batch or "
         "j,k,l or "
         "jxkxl."),
    TEXT("devices", "list", devices, "GPUs that share the shapes, at most 16, such as 0,1; default: one, that of --device."),
    FLAG("resume", resume, 1,
         "Pass over shapes that have a record already, of a tuning that was not cancelled or of as many evaluations."),
    INT("threads", "count", threads, 1, 64,
        "Threads that compile, for each device; default: a thread for each processor in all."),
    INT("seed", "number", seed, 0, INT64_MAX - 8, "Of operands and search; default 1."),
    FLAG("warm", is_warm, 1, "Time with the operands left in the L2; default: they rotate beyond it."),
    FLAG("no-record", no_record, 1, "Keep no record of what was found."),
    TEXT("trials", "file", trials, "Write every config that was tried here, one a line: what bench_tuner reads; - is stdout."),
    TEXT("export", "file", export_to, "Write all records of the store to a file; - is stdout. Tunes nothing."),
    TEXT(
        "import", "files", import_from,
        "Keep the records of files, separated by commas, where they are better founded; T4 files of other tools need a shape."),
    TEXT("merge", "files", merge, "Merge the records of files, separated by commas, into the file of -o. Tunes nothing."),
    FLAG("t4", is_t4, 1, "--export and --merge write Kernel Tuner's T4 format."),
    END,
};

const cli_option cli_clear_options[] = {
    FLAG("damaged", only_damaged, 1, "Only the entries that tilejit cache verify would name."),
    END,
};

const cli_option cli_analysis_options[] = {
    TEXT("compare", "name=list", compare,
         "Put configs beside one another: a parameter and its values, such as tile_width=8,16,32, or family=naive,tiled."),
    FLAG("measure", measures, 1, "Run each config on the GPU and give its time beside the predicted one."),
    FLAG("count", counts, 1, "Execute each config on the emulator and give its counters beside the predicted ones."),
    END,
};

const cli_option cli_explain_options[] = {
    FLAG("plot", plots, 1, "Draw the roofline in letters."),
    END,
};

const cli_option cli_report_options[] = {
    TEXT("trials", "file", trials,
         "Colour the map of the tuning space by what tilejit tune --trials measured, not by the model."),
    END,
};

const cli_option cli_devices_options[] = {
    FLAG("measure", measures, 1,
         "Measure the memory bandwidth of the device in use, and remember it for explain and report in the store's folder."),
    END,
};

/* ---- parser ------------------------------------------------------------------------------------------------------- */

/* Option number index over all groups of a command. */
static const cli_option *option_at(const cli_command *command, size_t index)
{
    for (size_t g = 0; command->groups[g]; g++)
        for (const cli_option *option = command->groups[g]; option->name; option++)
            if (index-- == 0)
                return option;
    return NULL;
}

static const char *option_name_at(size_t index, const void *payload)
{
    const cli_option *option = option_at(payload, index);

    return option ? option->name : NULL;
}

static const cli_option *find_long(const cli_command *command, const char *name, size_t length)
{
    const cli_option *option;

    for (size_t i = 0; (option = option_at(command, i)); i++)
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter)
{
    const cli_option *option;

    for (size_t i = 0; (option = option_at(command, i)); i++)
        if (option->letter && option->letter == letter)
            return option;
    return NULL;
}

static tj_status unknown_option(const cli_command *command, const char *word, tj_error *err)
{
    const char *name = word + strspn(word, "-");
    const char *end = strchr(name, '=');
    size_t length = end ? (size_t)(end - name) : strlen(name);
    char plain[64] = "";
    const char *near;

    memcpy(plain, name, length < sizeof plain ? length : sizeof plain - 1);
    near = cli_nearest(plain, option_name_at, command);
    if (near)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s has no option %s: did you mean --%s?", command->name, word, near);
    return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s has no option %s", command->name, word);
}

static tj_status read_choice(const cli_option *option, const char *what, const char *value, int32_t *field, tj_error *err)
{
    char offered[128] = "";
    size_t used = 0;

    for (size_t i = 0; option->choice[i]; i++) {
        if (strcmp(option->choice[i], value) == 0) {
            *field = (int32_t)(option->low + (int64_t)i);
            return TJ_OK;
        }
        used += (size_t)snprintf(offered + used, sizeof offered - used, "%s%s", i ? ", " : "", option->choice[i]);
    }
    return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%s\": use one of %s", what, value, offered);
}

static bool read_special_stride(const char *value, int64_t *stride)
{
    static const struct {
        const char *word;
        int64_t stride;
    } special[] = {{"broadcast", TJ_BROADCAST}, {"pointers", TJ_POINTERS}, {"pointers16", TJ_POINTERS_16}};

    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        if (strcmp(value, special[i].word) == 0) {
            *stride = special[i].stride;
            return true;
        }
    return false;
}

static tj_status read_real(const cli_option *option, const char *what, const char *text, cli_real *real, tj_error *err)
{
    const tj_status status = cli_parse_real(what, text, &real->value, err);

    real->is_given = status == TJ_OK;
    if (status == TJ_OK && option->low > 0 && !(real->value >= (double)option->low)) /* nan, too */
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %.40s: it must be at least %" PRId64, what, text, option->low);
    return status;
}

static tj_status apply(const cli_option *option, const char *value, cli_words *words, tj_error *err)
{
    void *field = (char *)words + option->offset;
    tj_status status = TJ_OK;
    char what[64];

    (void)snprintf(what, sizeof what, "--%s", option->name);
    switch (option->kind) {
    case CLI_FLAG:
        *(int32_t *)field = (int32_t)option->low;
        break;
    case CLI_TEXT:
        if (!*value && option->low == 0)
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is empty: give <%s>", what, option->argument);
        *(const char **)field = value;
        break;
    case CLI_STRIDE:
        if (read_special_stride(value, field))
            break;
        __attribute__((fallthrough));
    case CLI_INT:
        status = cli_parse_int(what, value, option->low, option->high, field, err);
        if (status == TJ_OK)
            *(int64_t *)field += option->plus;
        break;
    case CLI_REAL:
        status = read_real(option, what, value, field, err);
        break;
    case CLI_CHOICE:
        status = read_choice(option, what, value, field, err);
        break;
    }
    return status;
}

/* -5x3x2 and - are operands: no option is a digit. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !(word[1] >= '0' && word[1] <= '9');
}

static tj_status add_operand(const cli_command *command, const char *word, cli_words *words, tj_error *err)
{
    if (words->operand_count == command->operand_max) {
        if (command->operand_max == 0)
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s takes no operand, but there is \"%s\"", command->name, word);
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s takes %s; \"%s\" is one word too many", command->name,
                        command->operands, word);
    }
    words->operand[words->operand_count++] = word;
    return TJ_OK;
}

/* One option and its value, which may be in the same word or the next. *used counts the words. */
static tj_status read_option(const cli_command *command, int count, char *const *word, int *used, cli_words *words,
                             tj_error *err)
{
    const char *text = word[0], *value = NULL;
    const cli_option *option;

    *used = 1;
    if (text[1] == '-') {
        const char *equals = strchr(text, '=');
        option = find_long(command, text + 2, equals ? (size_t)(equals - text - 2) : strlen(text + 2));
        value = equals ? equals + 1 : NULL;
    } else {
        option = find_letter(command, text[1]);
        value = text[2] ? text + 2 : NULL;
    }
    if (!option || (text[1] != '-' && option->kind == CLI_FLAG && value))
        return unknown_option(command, text, err);
    if (option->kind == CLI_FLAG) {
        if (value)
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--%s takes no value, but there is \"%s\"", option->name, value);
    } else if (!value) {
        if (count < 2 || (word[1][0] == '-' && word[1][1] == '-'))
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--%s needs a value: <%s>", option->name, option->argument);
        value = word[1];
        *used = 2;
    }
    return apply(option, value, words, err);
}

tj_status cli_parse(const cli_command *command, int count, char *const *word, cli_words *words, tj_error *err)
{
    bool is_after_dashes = false;
    tj_status status = TJ_OK;

    memset(words, 0, sizeof *words);
    words->command = command;
    words->seed = 1;
    words->warmup = -1;
    for (int i = 0; i < count && status == TJ_OK;) {
        int used = 1;

        if (!is_after_dashes && strcmp(word[i], "--") == 0)
            is_after_dashes = true;
        else if (!is_after_dashes && is_option(word[i]))
            status = read_option(command, count - i, word + i, &used, words, err);
        else
            status = add_operand(command, word[i], words, err);
        i += used;
    }
    if (status == TJ_OK && !words->is_help && words->operand_count < command->operand_min)
        status = cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s needs %s", command->name, command->operands);
    return status == TJ_OK ? cli_check_device(words, err) : status;
}
