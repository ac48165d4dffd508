/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request: words -> problem, config and context. All that can be wrong with the words alone is found here, before a file
 * or a library is opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static const char DEFAULT_TARGET[] = "sm_90";

/* One item of a comma-separated list, cut out of *list; false at its end. */
static bool next_item(const char **list, char item[64])
{
    size_t length = strcspn(*list, ",");

    if (!**list)
        return false;
    (void)snprintf(item, 64, "%.*s", (int)(length < 63 ? length : 63), *list);
    *list += length;
    *list += **list == ',';
    return true;
}

static tj_dim *find_dim(tj_problem *problem, const char *name)
{
    if (strcmp(name, "j") == 0)
        return &problem->j;
    if (strcmp(name, "k") == 0)
        return &problem->k;
    if (strcmp(name, "l") == 0)
        return &problem->l;
    return NULL;
}

tj_status cli_read_dtype(const char *text, int32_t *dtype, tj_error *err)
{
    tj_type type = TJ_TYPE_DEFAULT;
    tj_status status;

    if (!text)
        return TJ_OK;
    status = tj_type_parse(text, &type, err);
    if (status == TJ_OK)
        *dtype = (int32_t)type;
    return status;
}

static void make_ld_any(tj_problem *problem)
{
    problem->m.ld = TJ_ANY;
    problem->n.ld = TJ_ANY;
    problem->p.ld = TJ_ANY;
    if (problem->epilogue.has_beta)
        problem->c.ld = TJ_ANY;
}

/* Broadcast and pointers say something about the storage that no argument can say; they stay. */
static void make_stride_any(tj_problem *problem)
{
    int64_t *strides[] = {&problem->m.stride, &problem->n.stride, &problem->p.stride, &problem->c.stride};

    for (size_t i = 0; i < (problem->epilogue.has_beta ? 4u : 3u); i++)
        if (*strides[i] != TJ_BROADCAST && !tj_stride_is_pointers(*strides[i]))
            *strides[i] = TJ_ANY;
}

static tj_status make_any(tj_problem *problem, const char *item, tj_error *err)
{
    tj_dim *dim = find_dim(problem, item);
    bool is_all = strcmp(item, "all") == 0;

    if (dim) {
        dim->mode = TJ_DIM_ANY;
    } else if (is_all || strcmp(item, "ld") == 0 || strcmp(item, "stride") == 0 || strcmp(item, "batch") == 0) {
        if (is_all)
            problem->j.mode = problem->k.mode = problem->l.mode = TJ_DIM_ANY;
        if (is_all || strcmp(item, "ld") == 0)
            make_ld_any(problem);
        if (is_all || strcmp(item, "stride") == 0)
            make_stride_any(problem);
        if (is_all || strcmp(item, "batch") == 0)
            problem->batch = TJ_ANY;
    } else {
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--any has \"%s\": use j, k, l, ld, batch, stride or all", item);
    }
    return TJ_OK;
}

static tj_status read_promises(const char *list, tj_problem *problem, tj_error *err)
{
    char item[64];

    while (list && next_item(&list, item)) {
        char *equals = strchr(item, '=');
        char what[96];
        int64_t value = 0;
        tj_dim *dim = NULL;
        tj_status status;

        if (equals) {
            *equals = '\0';
            dim = find_dim(problem, item);
        }
        if (!dim)
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--multiple-of has \"%s\": write j=16,k=8 and so on", item);
        (void)snprintf(what, sizeof what, "--multiple-of %s", item);
        status = cli_parse_int(what, equals + 1, 1, INT32_MAX, &value, err);
        if (status != TJ_OK)
            return status;
        if (dim->mode != TJ_DIM_ANY)
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s promises something of a fixed extent: add %s to --any", what,
                            item);
        if (dim->extent % value != 0)
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s=%d is a promise that %s = %lld breaks", what, (int)value, item,
                            (long long)dim->extent);
        dim->multiple_of = (int32_t)value;
    }
    return TJ_OK;
}

tj_status cli_read_any(const cli_words *words, cli_request *request, tj_error *err)
{
    const char *list = words->any;
    tj_status status = TJ_OK;
    char item[64];

    while (status == TJ_OK && list && next_item(&list, item))
        status = make_any(&request->problem, item, err);
    return status == TJ_OK ? read_promises(words->multiple_of, &request->problem, err) : status;
}

tj_status cli_read_config(const cli_words *words, cli_request *request, tj_error *err)
{
    tj_config *config = &request->config;
    const struct {
        const char *name, *value;
    } parameters[] = {
        {"tile_width", words->tile_width}, {"shared", words->shared}, {"rows", words->rows}, {"boundary", words->boundary}};
    tj_status status = TJ_OK;

    *config = (tj_config)TJ_CONFIG_INIT;
    request->has_config =
        words->config || words->family || words->tile_width || words->shared || words->rows || words->boundary;
    if (words->config && words->family)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--config names a family already: leave --family out");
    if (words->config)
        status = tj_config_parse(words->config, config, err);
    else if (request->has_config)
        status = tj_config_parse(words->family ? words->family : "tiled", config, err);
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0] && status == TJ_OK; i++)
        if (parameters[i].value)
            status = tj_config_set(config, parameters[i].name, parameters[i].value, err);
    return status;
}

static void read_layout(const cli_words *words, tj_problem *problem)
{
    problem->m.transposed = (int16_t)words->transpose_m;
    problem->n.transposed = (int16_t)words->transpose_n;
    problem->m.layout = (int16_t)words->m_layout;
    problem->n.layout = (int16_t)words->n_layout;
    problem->p.layout = (int16_t)words->p_layout;
    problem->m.ld = words->ld_m;
    problem->n.ld = words->ld_n;
    problem->p.ld = words->ld_p;
    problem->c.ld = words->ld_c;
    problem->batch = words->batch;
    problem->m.stride = words->stride_m;
    problem->n.stride = words->stride_n;
    problem->p.stride = words->stride_p;
    problem->c.stride = words->stride_c;
}

void cli_print_shape(const tj_problem *problem, char text[CLI_SHAPE_BYTES])
{
    const int length = snprintf(text, CLI_SHAPE_BYTES, "%" PRId64 "x%" PRId64 "x%" PRId64, problem->j.extent, problem->k.extent,
                                problem->l.extent);

    if (problem->batch > 1)
        (void)snprintf(text + length, CLI_SHAPE_BYTES - (size_t)length, " b%" PRId64, problem->batch);
}

tj_status cli_read_request(const cli_words *words, const char *shape, cli_request *request, tj_error *err)
{
    int64_t extent[3] = {0, 0, 0};
    tj_config settled;
    tj_status status;

    memset(request, 0, sizeof *request);
    status = cli_parse_shape(shape, extent, err);
    if (status != TJ_OK)
        return status;
    request->known = (tj_problem)TJ_PROBLEM_INIT(extent[0], extent[1], extent[2], TJ_F32);
    read_layout(words, &request->known);
    request->known.epilogue.has_alpha = words->alpha.is_given;
    request->known.epilogue.has_beta = words->beta.is_given;
    request->alpha = words->alpha.is_given ? words->alpha.value : 1.0;
    request->beta = words->beta.is_given ? words->beta.value : 0.0;
    if ((words->ld_c || words->stride_c) && !words->beta.is_given)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--ld-c and --stride-c speak of a C that is not there: add --beta");
    status = cli_read_dtype(words->dtype, &request->known.m.type, err);
    if (status == TJ_OK)
        status = cli_read_dtype(words->p_dtype, &request->known.p.type, err);
    if (status == TJ_OK)
        status = tj_problem_check(&request->known, err);
    request->problem = request->known;
    if (status == TJ_OK)
        status = cli_read_any(words, request, err);
    if (status == TJ_OK)
        status = tj_problem_check(&request->problem, err);
    if (status == TJ_OK)
        status = cli_read_config(words, request, err);
    settled = request->config;
    if (status == TJ_OK)
        status = tj_config_resolve(&request->problem, &settled, err);
    return status;
}

tj_status cli_check_arch(const cli_words *words, tj_error *err)
{
    if (!words->arch || words->compile_only)
        return TJ_OK;
    return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                    "%s compiles for the device that it runs on: --arch goes with --compile-only, or with tilejit compile",
                    words->command->name);
}

/* --device: auto, a number, or the emulator. */
typedef struct device_choice {
    bool is_auto;
    int64_t ordinal;      /* -1: not said */
    const char *emulator; /* NULL: not asked for */
} device_choice;

static tj_status read_device(const cli_words *words, device_choice *choice, tj_error *err)
{
    const char *text = words->device;

    *choice = (device_choice){.ordinal = -1};
    if (!text || strcmp(text, "auto") == 0) {
        choice->is_auto = true;
        return TJ_OK;
    }
    if (strcmp(text, "emulator") == 0 || strncmp(text, "emulator:", 9) == 0) {
        choice->emulator = text;
        if (words->driver)
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--device %s and --driver %s name two drivers: give one", text,
                            words->driver);
        return TJ_OK;
    }
    if (cli_parse_int("--device", text, 0, 1023, &choice->ordinal, err) == TJ_OK)
        return TJ_OK;
    return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                    "--device is %.60s: use auto, a device number from 0, emulator, or emulator:sm_80 and the like", text);
}

tj_status cli_check_device(const cli_words *words, tj_error *err)
{
    device_choice choice;

    return read_device(words, &choice, err);
}

/* The library only warns, since it compiles all the same; a command that was asked for the files fails. */
static tj_status check_dump_dir(const char *dir, tj_error *err)
{
    struct stat facts;

    if (!dir)
        return TJ_OK;
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return cli_fail(err, TJ_ERR_IO, "cannot create %.300s, the folder of --dump-dir: %s", dir, strerror(errno));
    if (stat(dir, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return cli_fail(err, TJ_ERR_IO, "--dump-dir is %.300s, which is no folder: name another", dir);
    if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) != 0)
        return cli_fail(err, TJ_ERR_IO, "cannot write into %.300s, the folder of --dump-dir: %s", dir, strerror(errno));
    return TJ_OK;
}

static tj_status create(const cli_words *words, const device_choice *choice, const char *driver, tj_context **context,
                        tj_error *err)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

    options.nvrtc = words->nvrtc;
    options.driver = driver;
    options.cache_dir = words->no_cache ? "" : words->cache_dir;
    options.dump_dir = words->dump_dir;
    options.device = (int32_t)(choice->ordinal + 1);
    options.log_level = words->log_level;
    return tj_context_create(&options, context, err);
}

tj_status cli_context_create(const cli_words *words, tj_context **context, tj_error *err)
{
    device_choice choice;
    tj_status status = read_device(words, &choice, err);

    *context = NULL;
    if (status == TJ_OK)
        status = check_dump_dir(words->dump_dir, err);
    return status == TJ_OK ? create(words, &choice, choice.emulator ? choice.emulator : words->driver, context, err) : status;
}

bool cli_may_emulate(const cli_words *words)
{
    const char *named = secure_getenv("TILEJIT_DRIVER");
    device_choice choice;
    tj_error ignored;

    return !words->driver && (!named || !*named) && read_device(words, &choice, &ignored) == TJ_OK && choice.is_auto;
}

tj_status cli_context_create_to_run(const cli_words *words, tj_context **context, tj_error *err)
{
    tj_status status = cli_context_create(words, context, err);
    tj_context *emulated = NULL;
    const device_choice choice = {.is_auto = true, .ordinal = -1};
    tj_error ignored, why;
    int count = 0;

    if (status != TJ_OK || !cli_may_emulate(words))
        return status;
    if (tj_device_count(*context, &count, &ignored) == TJ_OK && count > 0)
        return TJ_OK;
    if (create(words, &choice, "emulator", &emulated, &ignored) != TJ_OK)
        return TJ_OK; /* whoever needs a device is told that there is none */
    if (tj_device_count(emulated, &count, &why) != TJ_OK) {
        fprintf(stderr, "tilejit: no GPU here, nor the emulator: %s\n", why.message);
        tj_context_free(emulated);
        return TJ_OK; /* so too */
    }
    tj_context_free(*context);
    *context = emulated;
    fputs("tilejit: no GPU here, so the emulator is used (tilejit doctor says why)\n", stderr);
    return TJ_OK;
}

tj_status cli_context_create_to_look(const cli_words *words, tj_context **context, tj_error *err)
{
    return words->arch ? cli_context_create(words, context, err) : cli_context_create_to_run(words, context, err);
}

int cli_device_ordinal(const cli_words *words)
{
    const char *text = secure_getenv("TILEJIT_DEVICE");
    device_choice choice;
    tj_error ignored;

    if (read_device(words, &choice, &ignored) == TJ_OK && choice.ordinal >= 0)
        return (int)choice.ordinal;
    return text && *text ? (int)strtol(text, NULL, 10) : 0; /* tj_context_create has refused anything but a number */
}

tj_status cli_target(tj_context *context, const cli_words *words, char target[16], tj_error *err)
{
    tj_device_facts facts;
    tj_status status;

    if (words->arch) {
        if (strlen(words->arch) > 15)
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--arch is \"%.40s\": write sm_90, sm_80 or the like", words->arch);
        memcpy(target, words->arch, strlen(words->arch) + 1);
        return TJ_OK;
    }
    status = tj_device_get(context, cli_device_ordinal(words), &facts, err);
    if (status == TJ_OK)
        return tj_target_for(context, facts.cc_major, facts.cc_minor, target, err);
    if (status != TJ_ERR_NO_DRIVER)
        return status;
    memcpy(target, DEFAULT_TARGET, sizeof DEFAULT_TARGET);
    return TJ_OK;
}

tj_status cli_adapt(tj_context *context, const cli_words *words, const char *target, cli_request *request, tj_error *err)
{
    char product[16] = "";
    tj_device_facts facts;
    tj_error ignored;
    size_t digits;

    if (words->arch || tj_device_get(context, cli_device_ordinal(words), &facts, &ignored) != TJ_OK) {
        const char *number = strchr(target, '_'); /* sm_90a and compute_90 are an sm_90 here */

        digits = number ? strspn(number + 1, "0123456789") : 0;
        (void)snprintf(product, sizeof product, "sm_%.*s", (int)digits, number ? number + 1 : "");
        if (tj_device_named(product, &facts, &ignored) != TJ_OK)
            return TJ_OK;
    }
    if (!request->has_config)
        return cli_choose(context, &facts, &request->problem, &request->config, &request->chosen_by, err);
    return tj_config_adapt(&facts, &request->problem, &request->config, err);
}
