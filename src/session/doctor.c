/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor: examine everything a request would need, in the order in which it would need it.
 *
 * Reports and changes nothing: no folder is made, no entry is written. Trouble is a finding with a remedy, never a failure.
 */
#include <tilejit/doctor.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chooser.h"
#include "context.h"
#include "error.h"
#include "nearest.h"
#include "nvrtc.h"
#include "nvrtc_builds.h"
#include "packed.h"
#include "tables.h"
#include "targets.h"
#include "text.h"

enum { FINDING_BYTES = 1024, TARGET_BYTES = 16, MOST_TARGETS = 32 };

static const char NVRTC_REMEDY[] = "pip install nvidia-cuda-nvrtc, or set TILEJIT_NVRTC to the path of a libnvrtc.so";
static const char DRIVER_REMEDY[] =
    "install the NVIDIA driver (libcuda.so.1 comes with it), or set TILEJIT_DRIVER=emulator to compute on the CPU; until then "
    "kernels can be generated, compiled and stored, not run";

typedef struct doctor {
    tj_context *context;
    tj_finding_visit visit;
    void *payload;
} doctor;

__attribute__((format(printf, 5, 6))) static void found(const doctor *who, const char *topic, tj_finding_state state,
                                                        const char *remedy, const char *format, ...)
{
    tj_finding finding = {sizeof finding, topic, state, NULL, remedy};
    char text[FINDING_BYTES];
    va_list values;

    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    finding.text = text;
    who->visit(&finding, who->payload);
}

static void look_at_place(const char *place, const char *what_was_found, void *payload)
{
    found(payload, "search", TJ_FINDING_NOTE, "", "%s: %s", place, what_was_found);
}

static void look_at_targets(const doctor *who, const tj_nvrtc *nvrtc)
{
    const char *const *target = tj_nvrtc_targets(nvrtc);
    tj_text list = TJ_TEXT_INIT(FINDING_BYTES - 64);
    char *text = NULL;

    for (size_t i = 0; target && target[i]; i++) {
        tj_text_append(&list, i ? " " : "");
        tj_text_append(&list, target[i]);
    }
    if (tj_text_take(&list, &text, NULL) == TJ_OK && text && *text)
        found(who, "targets", TJ_FINDING_OK, "", "%s", text);
    free(text);
}

/* Does this build generate correct code for kernels that spill registers? */
static void look_at_build(const doctor *who, const char *identity)
{
    const tj_nvrtc_record record = tj_nvrtc_record_of(identity);
    const char *remedy;
    const char *const words = tj_nvrtc_record_words(record, &remedy);

    found(who, "spills", record == TJ_NVRTC_CLEAN ? TJ_FINDING_OK : TJ_FINDING_NOTE, remedy, "NVRTC %s %s", identity, words);
}

static const tj_nvrtc *look_at_nvrtc(doctor *who)
{
    const tj_nvrtc *nvrtc = NULL;
    const char *identity = NULL, *builtins = NULL;
    tj_error err;

    if (tj_host_nvrtc(&who->context->host, &nvrtc, &err) != TJ_OK) {
        found(who, "nvrtc", TJ_FINDING_MISSING, NVRTC_REMEDY, "%s", err.message);
        tj_nvrtc_search(who->context->host.nvrtc_path, look_at_place, who);
        return NULL;
    }
    if (tj_nvrtc_identity(nvrtc, &identity, &err) == TJ_OK) {
        found(who, "nvrtc", TJ_FINDING_OK, "", "%s at %s", identity, tj_nvrtc_path(nvrtc));
        look_at_build(who, identity);
    } else {
        found(who, "nvrtc", TJ_FINDING_MISSING, NVRTC_REMEDY, "%d.%d at %s cannot compile: %s", tj_nvrtc_major(nvrtc),
              tj_nvrtc_minor(nvrtc), tj_nvrtc_path(nvrtc), err.message);
    }
    tj_nvrtc_search(who->context->host.nvrtc_path, look_at_place, who);
    builtins = tj_nvrtc_builtins_path(nvrtc);
    if (builtins)
        found(who, "builtins", TJ_FINDING_OK, "", "%s", builtins);
    else
        found(who, "builtins", TJ_FINDING_NOTE, "install libnvrtc-builtins of the same version into the same folder",
              "no libnvrtc-builtins next to %s", tj_nvrtc_path(nvrtc));
    look_at_targets(who, nvrtc);
    return nvrtc;
}

static const tj_driver *look_at_driver(doctor *who)
{
    const tj_driver *driver = NULL;
    tj_error err;
    tj_status status = tj_gpu_driver(&who->context->host.gpu, &driver, &err);

    if (status == TJ_OK)
        status = tj_driver_check_alive(driver, &err);
    if (status != TJ_OK) {
        found(who, "driver", TJ_FINDING_MISSING, DRIVER_REMEDY, "%s", err.message);
        return NULL;
    }
    found(who, "driver", TJ_FINDING_OK, "", "CUDA %d.%d at %s", driver->version / 1000, driver->version % 1000 / 10,
          driver->path);
    return driver;
}

/* One line per device, with the target that a kernel for it would be compiled for. The first target is kept. */
static void look_at_devices(doctor *who, bool has_nvrtc, char *first_target)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    char target[TARGET_BYTES];
    tj_error err;
    int count = 0;

    if (tj_device_count(who->context, &count, &err) != TJ_OK) {
        found(who, "device", TJ_FINDING_MISSING, DRIVER_REMEDY, "%s", err.message);
        return;
    }
    if (count == 0)
        found(who, "device", TJ_FINDING_MISSING, "check nvidia-smi, and CUDA_VISIBLE_DEVICES, which hides devices",
              "the driver offers no device");
    for (int i = 0; i < count; i++) {
        if (tj_device_get(who->context, i, &facts, &err) != TJ_OK) {
            found(who, "device", TJ_FINDING_MISSING, "check nvidia-smi", "%d: %s", i, err.message);
            continue;
        }
        if (!has_nvrtc) {
            found(who, "device", TJ_FINDING_OK, "", "%d: %s, compute capability %d.%d, %d multiprocessors", i, facts.name,
                  facts.cc_major, facts.cc_minor, facts.sm_count);
        } else if (tj_target_for(who->context, facts.cc_major, facts.cc_minor, target, &err) == TJ_OK) {
            found(who, "device", TJ_FINDING_OK, "", "%d: %s, compute capability %d.%d, %d multiprocessors, compiled for as %s",
                  i, facts.name, facts.cc_major, facts.cc_minor, facts.sm_count, target);
            if (!*first_target)
                memcpy(first_target, target, sizeof target);
        } else {
            found(who, "device", TJ_FINDING_MISSING, "install an NVRTC that still serves this device", "%d: %s: %s", i,
                  facts.name, err.message);
        }
    }
}

/* A driver runs what compilers of its own and of older major versions made. */
static void look_at_match(const doctor *who, const tj_nvrtc *nvrtc, const tj_driver *driver)
{
    int compiler = tj_nvrtc_major(nvrtc), runs = driver->version / 1000;

    if (compiler <= runs)
        found(who, "match", TJ_FINDING_OK, "", "the driver runs what NVRTC %d makes", compiler);
    else
        found(who, "match", TJ_FINDING_MISSING,
              "update the driver, or set TILEJIT_NVRTC to an NVRTC of the driver's major version",
              "NVRTC %d makes code that a driver for CUDA %d does not load", compiler, runs);
}

/* The whole way from a problem to machine code, once, past every store. */
static void look_at_probe(const doctor *who, const tj_nvrtc *nvrtc, const char *device_target)
{
    tj_problem problem = TJ_PROBLEM_INIT(16, 16, 16, TJ_F32);
    const char *const *known = tj_nvrtc_targets(nvrtc);
    const char *target = "sm_90";
    tj_source *source = NULL;
    tj_image *image = NULL;
    size_t bytes = 0;
    tj_error err;
    tj_status status = tj_generate(&problem, NULL, &source, &err);

    while (known && *known && tj_target_features(*known) == 0) /* older than what kernels are written for */
        known++;
    if (*device_target)
        target = device_target;
    else if (known && *known)
        target = *known;
    if (status == TJ_OK)
        status = tj_compile(who->context, source, target, &image, &err);
    if (status == TJ_OK) {
        tj_resources used = tj_image_resources(image);

        (void)tj_image_ptx(image, &bytes);
        found(who, "probe", TJ_FINDING_OK, "", "a 16 x 16 x 16 product compiles for %s: %zu bytes of PTX, %d registers", target,
              bytes, (int)used.registers);
    } else {
        found(who, "probe", TJ_FINDING_MISSING, NVRTC_REMEDY, "a 16 x 16 x 16 product does not compile for %s: %s", target,
              err.message);
    }
    tj_image_free(image);
    tj_source_free(source);
}

static void look_at_store(const doctor *who)
{
    const char *path = tj_store_path(who->context);
    const char *trouble = tj_store_trouble(who->context);

    if (who->context->is_disk_off)
        found(who, "store", TJ_FINDING_NOTE, "", "%s; kernels and records live in memory only", trouble);
    else if (trouble)
        found(who, "store", TJ_FINDING_NOTE,
              "set TILEJIT_CACHE_DIR to a folder of yours; until then kernels live in memory only", "%s", trouble);
    else
        found(who, "store", TJ_FINDING_OK, "", "%s, limited to %lld bytes", path, (long long)tj_store_max_bytes(who->context));
}

/* Its items of a kind, and where list is not NULL their targets, each once, in the order of their numbers. */
static int count_items(const tj_pack_file *pack, uint32_t kind, tj_text *list)
{
    const char *target[MOST_TARGETS];
    int count = 0, targets = 0;

    for (size_t i = 0; i < pack->count; i++) {
        const char *const name = pack->row[i].target;
        int at = 0;

        if (pack->row[i].kind != kind)
            continue;
        count++;
        while (at < targets && strverscmp(target[at], name) < 0)
            at++;
        if (targets == MOST_TARGETS || (at < targets && strcmp(target[at], name) == 0))
            continue;
        memmove(&target[at + 1], &target[at], (size_t)(targets++ - at) * sizeof *target);
        target[at] = name;
    }
    for (int i = 0; list && i < targets; i++) {
        tj_text_append(list, " ");
        tj_text_append(list, target[i]);
    }
    return count;
}

static void tell_pack(const doctor *who, const char *topic, const char *name, const tj_pack_file *pack)
{
    const int records = count_items(pack, TJ_PACKED_RECORD, NULL);
    tj_text list = TJ_TEXT_INIT(FINDING_BYTES / 2);
    const int images = count_items(pack, TJ_PACKED_IMAGE, &list);
    char *targets = NULL, counted[32] = "";

    if (records)
        (void)snprintf(counted, sizeof counted, ", and %d record%s", records, records == 1 ? "" : "s");
    if (tj_text_take(&list, &targets, NULL) == TJ_OK)
        found(who, topic, TJ_FINDING_OK, "", "%s: %d kernel%s for%s, which need%s no NVRTC%s", name, images,
              images == 1 ? "" : "s", targets && *targets ? targets : " no target", images == 1 ? "s" : "", counted);
    free(targets);
}

/* Kernels in a pack need no NVRTC, so a missing one may not matter. */
static void look_at_packs(const doctor *who)
{
    const tj_packs *packs = who->context->host.packs;
    const tj_pack_file *pack;
    const char *name;

    for (size_t i = 0; (name = tj_packs_name(packs, i)); i++) {
        const char *trouble = tj_packs_trouble(packs, i, &pack);

        if (trouble)
            found(who, "pack", TJ_FINDING_MISSING, "make it again with tilejit pack, or take it out of TILEJIT_PACKS", "%s: %s",
                  name, trouble);
        else
            tell_pack(who, "pack", name, pack);
    }
}

/* Examine the kernels of quick first calls. A context that waits has not opened them. */
static void look_at_textbook(const doctor *who)
{
    static const tj_log silent = {0};
    const tj_packs *textbook = who->context->host.textbook;
    const tj_pack_file *pack;
    tj_packs *opened = NULL;
    const char *trouble;

    if (!textbook && tj_textbook_open(&silent, &opened))
        textbook = opened;
    if (!textbook)
        found(who, "textbook", TJ_FINDING_NOTE,
              "take a TileJIT that was built with TILEJIT_BUILD_TEXTBOOK=ON, as the Python wheel is",
              "no textbook.tjpack lies next to the library: a quick first call (first_call) compiles its kernel, if NVRTC is "
              "there");
    else if ((trouble = tj_packs_trouble(textbook, 0, &pack)))
        found(who, "textbook", TJ_FINDING_NOTE, "install TileJIT again; until then a quick first call compiles its kernel",
              "%s: %s", tj_packs_name(textbook, 0), trouble);
    else
        tell_pack(who, "textbook", tj_packs_name(textbook, 0), pack);
    tj_packs_free(opened);
}

static void tell_table(void *payload, const char *path, tj_trials *trials, const char *trouble)
{
    const doctor *who = payload;

    if (trouble)
        found(who, "trials", TJ_FINDING_NOTE, "make the table again with tilejit tune --pack-trials, or install TileJIT again",
              "%s: %s", path, trouble);
    else
        found(who, "trials", TJ_FINDING_OK, "", "%s: %zu problems measured on %s", path, tj_trials_count(trials),
              tj_trials_device_name(trials));
    tj_trials_free(trials);
}

static void look_at_remote(const doctor *who)
{
    tj_remote *remote = who->context->host.remote;
    const char *shown = "", *generation;
    tj_error why;

    if (!remote)
        return;
    if (tj_remote_ping(remote, &shown, &why) != TJ_OK) {
        found(who, "remote", TJ_FINDING_NOTE, "until then nothing is shared with other machines, and all else works", "%s",
              why.message);
        return;
    }
    generation = tj_remote_generation(remote);
    found(who, "remote", TJ_FINDING_OK, "", "%s answers; %s%s%s", shown,
          tj_remote_writes(remote) ? "what is made here is sent there" : "it is only read", generation ? "; generation " : "",
          generation ? generation : "");
}

/* docs/environment.md says what they mean. */
static const char *variable_at(size_t index, const void *unused)
{
    static const char *const names[] = {"CACHE_DIR", "PACKS",  "TRIALS",    "CAPTURE", "REMOTE",
                                        "NVRTC",     "DRIVER", "EMULATOR",  "DEVICE",  "BLAS",
                                        "TORCH_DIR", "LOG",    "LINE_INFO", "DUMP",    NULL};

    (void)unused;
    return names[index];
}

/* A variable that nothing reads is one that was spelled wrong. */
static void look_at_environment(const doctor *who)
{
    static const char prefix[] = "TILEJIT_", letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    if (who->context->host.ignores_environment) {
        found(who, "variable", TJ_FINDING_OK, "", "none is read: the option ignore_environment is set");
        return;
    }
    for (char **entry = environ; entry && *entry; entry++) {
        char name[64], remedy[96] = "unset it";
        const char *const own = name + sizeof prefix - 1, *value, *near;
        size_t i = 0;

        (void)snprintf(name, sizeof name, "%.*s", (int)strspn(*entry, letters), *entry);
        value = secure_getenv(name); /* what a set-uid program and an empty variable say is not read */
        if (strncmp(name, prefix, sizeof prefix - 1) != 0 || !value || !*value)
            continue;
        while (variable_at(i, NULL) && strcmp(variable_at(i, NULL), own) != 0)
            i++;
        if (variable_at(i, NULL))
            continue;
        if ((near = tj_nearest(own, variable_at, NULL)))
            (void)snprintf(remedy, sizeof remedy, "did you mean %s%s?", prefix, near);
        found(who, "variable", TJ_FINDING_NOTE, remedy, "%s is set, and nothing reads a variable of that name", name);
    }
}

tj_status tj_doctor(tj_context *context, tj_finding_visit visit, void *payload, tj_error *err)
{
    if (!context)
        return tj_fail_null(err, __func__, "context");
    if (!visit)
        return tj_fail_null(err, __func__, "visit");
    doctor who = {context, visit, payload};
    char target[TARGET_BYTES] = "";
    const tj_nvrtc *nvrtc = NULL;
    const tj_driver *driver = NULL;
    tj_status status = tj_gpu_check_process(&context->host.gpu, err);

    if (status != TJ_OK)
        return status;
    found(&who, "tilejit", TJ_FINDING_OK, "", "%s", tj_version());
    nvrtc = look_at_nvrtc(&who);
    driver = look_at_driver(&who);
    if (driver)
        look_at_devices(&who, nvrtc != NULL, target);
    if (nvrtc && driver)
        look_at_match(&who, nvrtc, driver);
    if (nvrtc)
        look_at_probe(&who, nvrtc, target);
    look_at_packs(&who);
    look_at_textbook(&who);
    tj_tables_each(tj_chooser_tables(context->chooser), tell_table, &who);
    look_at_store(&who);
    look_at_remote(&who);
    look_at_environment(&who);
    return TJ_OK;
}
