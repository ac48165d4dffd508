/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine: the options that select device, driver and compiler, and the context made from them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "product.h"

static const char DEFAULT_TARGET[] = "sm_90";

/* ---- options ------------------------------------------------------------------------------------------------------ */

#define AT(field) offsetof(cli_machine_options, field)

static const cli_option own[] = {
    {"arch", CLI_TEXT, AT(arch),
     "Choose and compile for sm_90, sm_80 ...; compute_90 gives PTX alone, for newer devices; pack takes several, separated by "
     "commas. Default: the device, or sm_90 without one.",
     "target"},
    {"target", CLI_TEXT, AT(arch), "The same as --arch.", "target"},
    {"device", CLI_TEXT, AT(device),
     "auto (default): a GPU if there is one, else the emulator; a CUDA device, counted from 0; emulator, or emulator:sm_80: "
     "compute on the CPU.",
     "which"},
    {"cache-dir", CLI_TEXT, AT(cache_dir),
     "The folder of stored kernels; default: $TILEJIT_CACHE_DIR, then the user's cache "
     "folder.",
     "folder", .low = 1},
    {"no-cache", CLI_FLAG, AT(no_cache), "Do not use the disk: keep kernels in memory only.", .low = 1},
    {"nvrtc", CLI_TEXT, AT(nvrtc), "The libnvrtc to use; default: $TILEJIT_NVRTC, then a search.", "path"},
    {"driver", CLI_TEXT, AT(driver), "The libcuda to use; default: $TILEJIT_DRIVER, then libcuda.so.1.", "path"},
    {"remote", CLI_TEXT, AT(remote),
     "A server that shares kernels and records, as redis://host?trust=FILE; empty: none; default: $TILEJIT_REMOTE.", "address",
     .low = 1},
    {"dump-dir", CLI_TEXT, AT(dump_dir),
     "Write every compiled kernel's source, PTX, CUBIN and log here too; default: $TILEJIT_DUMP.", "folder"},
    {NULL},
};

/* --device: auto, a number, or the emulator. */
typedef struct device_choice {
    bool is_auto;
    int64_t ordinal;      /* -1: not given */
    const char *emulator; /* NULL: not asked for */
} device_choice;

static tj_status read_device(const cli_machine_options *machine, device_choice *choice, tj_error *err)
{
    const char *text = machine->device;

    *choice = (device_choice){.ordinal = -1};
    if (!text || strcmp(text, "auto") == 0) {
        choice->is_auto = true;
        return TJ_OK;
    }
    if (strcmp(text, "emulator") == 0 || strncmp(text, "emulator:", 9) == 0) {
        choice->emulator = text;
        if (machine->driver)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--device %s and --driver %s name two drivers: give one", text,
                           machine->driver);
        return TJ_OK;
    }
    if (cli_parse_int("--device", text, 0, 1023, &choice->ordinal, err) == TJ_OK)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "--device is %.60s: use auto, a device number from 0, emulator, or emulator:sm_80 and the like", text);
}

static tj_status check(const void *options, tj_error *err)
{
    device_choice choice;

    return read_device(options, &choice, err);
}

const cli_group cli_machine_group = {"The machine", own, check};

static device_choice chosen_device(const cli_machine_options *machine)
{
    device_choice choice;

    (void)read_device(machine, &choice, NULL); /* the group's check has refused wrong values */
    return choice;
}

/* ---- contexts ------------------------------------------------------------------------------------------------------ */

/* The library only warns, since it can compile all the same; a command that was asked for the files fails. */
static tj_status check_dump_dir(const char *dir, tj_error *err)
{
    struct stat facts;

    if (!dir)
        return TJ_OK;
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return tj_fail(err, TJ_ERR_IO, "cannot create %.300s, the folder of --dump-dir: %s", dir, strerror(errno));
    if (stat(dir, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return tj_fail(err, TJ_ERR_IO, "--dump-dir is %.300s, which is not a folder: name another", dir);
    if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) != 0)
        return tj_fail(err, TJ_ERR_IO, "cannot write into %.300s, the folder of --dump-dir: %s", dir, strerror(errno));
    return TJ_OK;
}

tj_status cli_context_create(const cli_call *call, const cli_machine_options *machine, tj_context **context, tj_error *err)
{
    const device_choice choice = chosen_device(machine);
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    const tj_status status = check_dump_dir(machine->dump_dir, err);

    options.nvrtc = machine->nvrtc;
    options.driver = choice.emulator ? choice.emulator : machine->driver;
    options.cache_dir = machine->no_cache ? "" : machine->cache_dir;
    options.dump_dir = machine->dump_dir;
    options.remote = machine->remote;
    options.device = (int32_t)(choice.ordinal + 1);
    options.log_level = call->log_level;
    return status == TJ_OK ? tj_context_create(&options, context, err) : status;
}

bool cli_may_emulate(const cli_machine_options *machine)
{
    const char *named = secure_getenv("TILEJIT_DRIVER");

    return !machine->driver && (!named || !*named) && chosen_device(machine).is_auto;
}

tj_status cli_open(cli_call *call, const cli_machine_options *machine, bool to_run, tj_error *err)
{
    const tj_status status = cli_context_create(call, machine, &call->context, err);
    cli_machine_options other = *machine;
    tj_context *emulated;
    tj_error why;
    int count = 0;

    if (status != TJ_OK || !to_run || !cli_may_emulate(machine))
        return status;
    if (tj_device_count(call->context, &count, NULL) == TJ_OK && count > 0)
        return TJ_OK;
    other.device = "emulator";
    if (cli_context_create(call, &other, &emulated, NULL) != TJ_OK)
        return TJ_OK; /* commands that need a device report that there is none */
    if (tj_device_count(emulated, &count, &why) != TJ_OK) {
        cli_print(stderr, "tilejit: no GPU here, nor the emulator: %s\n", why.message);
        tj_context_free(emulated);
        return TJ_OK; /* likewise */
    }
    tj_context_free(call->context);
    call->context = emulated;
    fputs("tilejit: no GPU here, so the emulator is used (tilejit doctor says why)\n", stderr);
    return TJ_OK;
}

int cli_device_ordinal(const cli_machine_options *machine)
{
    const char *text = secure_getenv("TILEJIT_DEVICE");
    const int64_t named = chosen_device(machine).ordinal;

    if (named >= 0)
        return (int)named;
    return text && *text ? (int)strtol(text, NULL, 10) : 0; /* tj_context_create has refused anything but a number */
}

tj_status cli_target(const cli_call *call, const cli_machine_options *machine, char target[16], tj_error *err)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_status status;

    if (machine->arch) {
        if (strlen(machine->arch) > 15)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--arch is \"%.40s\": write sm_90, sm_80 or the like", machine->arch);
        memcpy(target, machine->arch, strlen(machine->arch) + 1);
        return TJ_OK;
    }
    status = tj_device_get(call->context, cli_device_ordinal(machine), &facts, err);
    if (status == TJ_OK)
        return tj_target_for(call->context, facts.cc_major, facts.cc_minor, target, err);
    if (status != TJ_ERR_NO_DRIVER)
        return status;
    memcpy(target, DEFAULT_TARGET, sizeof DEFAULT_TARGET);
    return TJ_OK;
}

tj_status cli_device_of_target(const char *target, tj_device_facts *facts, tj_error *err)
{
    const char *number = strchr(target, '_');
    char product[24];

    (void)snprintf(product, sizeof product, "sm_%.*s", number ? (int)strspn(number + 1, "0123456789") : 0,
                   number ? number + 1 : "");
    *facts = (tj_device_facts)TJ_DEVICE_FACTS_INIT;
    return tj_device_named(product, facts, err);
}

tj_status cli_refuse_arch(const cli_call *call, const cli_machine_options *machine, tj_error *err)
{
    if (!machine->arch)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%s compiles for the device that it runs on: --arch goes with --compile-only, or with tilejit compile",
                   call->command->name);
}
