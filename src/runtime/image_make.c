/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_make: one request's key, and its image: from packs, the store, the remote, or the compiler. Does not know which images
 * are in memory (image_table.c), and loads nothing into a device.
 */
#include "image.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "events.h"
#include "canonical.h"
#include "family.h"
#include "nvrtc.h"
#include "packed.h"
#include "settle.h"
#include "shared.h"
#include "sources.h"
#include "store_entry.h"
#include "targets.h"

/* Time to wait for another process that compiles the same key: longer than a compile, shorter than patience. */
enum { STORE_LOCK_WAIT_MS = 2000 };

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* On the emulator, findings and counts name lines of the CUDA source. */
static unsigned wishes_of(const tj_host *host)
{
    return host->has_lines || tj_gpu_is_emulated(&host->gpu) ? TJ_NVRTC_LINES : 0;
}

/* Return the folder of the source that a profiler shows next to the code; "": none. The code names it, so the key does too. */
static const char *folder_of_texts(const tj_host *host)
{
    const char *store = tj_disk_store_path(host->store);

    return store ? store : host->dump_dir ? host->dump_dir : "";
}

/* The file that the code names: that of the entry which it will be stored in, or of a dump. */
static void print_program_name(const tj_host *host, const tj_source *source, const tj_key *key, char name[PATH_MAX])
{
    const char *folder = folder_of_texts(host);

    if (!host->has_lines || !*folder)
        (void)snprintf(name, PATH_MAX, "kernel.cu");
    else if (tj_disk_store_path(host->store))
        (void)snprintf(name, PATH_MAX, "%s/v1/%.2s/%s/kernel.cu", folder, key->hex, key->hex + 2);
    else
        (void)snprintf(name, PATH_MAX, "%s/%s-%.8s.cu", folder, tj_source_kernel(source), key->hex);
}

/* ---- key --------------------------------------------------------------------------------------------------------- */

/* The fields that a source and a target determine. */
static tj_key begin_key(const tj_host *host, const tj_source *source)
{
    tj_key key = {0};

    tj_key_add(&key, "schema", TJ_IMAGE_SCHEMA);
    tj_key_add(&key, "backend", tj_gpu_is_emulated(&host->gpu) ? "emulator" : "cuda");
    tj_key_add(&key, "source", tj_source_text(source));
    if (host->has_lines)
        tj_key_add(&key, "texts", folder_of_texts(host));
    return key;
}

/* Options and compiler as some NVRTC stored them with an image of this very source for this target; false: none did. */
static bool recall_compiler(tj_host *host, const tj_source *source, const char *target, tj_image_key_text *text)
{
    tj_key wanted = begin_key(host, source);
    const char *options, *compiler;
    tj_json *manifest;
    bool is_known;

    tj_key_add(&wanted, "target", target);
    manifest = tj_disk_store_find(host->store, &wanted);
    options = manifest ? tj_entry_key_field(manifest, "options") : NULL;
    compiler = manifest ? tj_entry_key_field(manifest, "compiler") : NULL;
    is_known = options && compiler && strlen(options) < sizeof text->options && strlen(compiler) < sizeof text->compiler;
    if (is_known) {
        (void)strcpy(text->options, options);
        (void)strcpy(text->compiler, compiler);
        tj_log_line(&host->log, TJ_LOG_INFO, "there is no NVRTC: %s is the stored one of NVRTC %s", tj_source_kernel(source),
                    compiler);
    }
    tj_json_free(manifest);
    return is_known;
}

/*
 * Suggest other types, if the target lacks these; else a config of the same family that its features suffice for, if there is
 * one.
 */
static void print_remedy(const tj_source *source, uint32_t features, char *remedy, size_t size)
{
    const tj_family *family = tj_source_config(source)->family;
    char text[TJ_CONFIG_TEXT_BYTES];
    tj_config other = TJ_CONFIG_INIT;
    tj_launch_form form;

    if (tj_source_launch(source)->needs & ~features & TJ_FEATURE_FP8) {
        (void)snprintf(remedy, size, "convert M, N or P to f16 or bf16");
        return;
    }
    other.family = family;
    if (family->for_target)
        family->for_target(features, &other);
    if (family->for_target && tj_request_preview(tj_source_request(source), &other, &form, NULL) == TJ_OK &&
        (form.needs & ~features) == 0) {
        tj_config_print(&other, text);
        (void)snprintf(remedy, size, "use another config, such as %s", text);
    } else if (family->custom) {
        (void)snprintf(remedy, size, "use a device that has it");
    } else {
        (void)snprintf(remedy, size, "use another family, or no config, so that the library chooses");
    }
}

/* Is the compiler older than the first chip among these homes? Then it makes PTX of an older one, whatever the device has. */
static bool precedes(const tj_nvrtc *nvrtc, const char *homes)
{
    const char *const *newest = nvrtc ? tj_nvrtc_targets(nvrtc) : NULL;

    while (newest && newest[0] && newest[1])
        newest++;
    return newest && newest[0] && atoi(newest[0] + strlen("sm_")) < atoi(homes + strlen("sm_"));
}

/*
 * ptxas would refuse too, with a message about PTX. Features of the chip-specific target are not missing. nvrtc may be NULL.
 */
static tj_status check_needs(const tj_source *source, const char *target, const char *own_target, const tj_nvrtc *nvrtc,
                             tj_error *err)
{
    const uint32_t features = tj_target_features(target);
    const uint32_t lacks = tj_source_launch(source)->needs & ~features & ~tj_target_features(own_target);
    char remedy[TJ_CONFIG_TEXT_BYTES + 64], homes[TJ_HOMES_BYTES];

    if (lacks == 0)
        return TJ_OK;
    print_remedy(source, features, remedy, sizeof remedy);
    (void)tj_feature_homes(lacks, homes);
    if (strncmp(target, "compute_", 8) == 0 && precedes(nvrtc, homes))
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "%s needs %s, which %s has and %s does not, and NVRTC %d.%d knows no newer target: use a newer NVRTC if "
                       "the device has it; else %s",
                       tj_source_kernel(source), tj_feature_name(lacks), homes, target, tj_nvrtc_major(nvrtc),
                       tj_nvrtc_minor(nvrtc), remedy);
    return tj_fail(err, TJ_ERR_UNSUPPORTED, "%s needs %s, which %s has and %s does not: %s", tj_source_kernel(source),
                   tj_feature_name(lacks), homes, target, remedy);
}

/* Some instructions are newer than the oldest chip that has them. */
static tj_status check_compiler(const tj_source *source, const char *target, const tj_nvrtc *nvrtc, tj_error *err)
{
    const uint32_t needs = tj_source_launch(source)->needs;
    const int version = 100 * tj_nvrtc_major(nvrtc) + tj_nvrtc_minor(nvrtc), since = tj_features_since(needs, target);
    const uint32_t unknown = needs & TJ_FEATURE_MMA_FP8 ? TJ_FEATURE_MMA_FP8 : TJ_FEATURE_FP8;

    if (version >= since)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_UNSUPPORTED, "%s needs %s, which NVRTC %d.%d does not know for %s: use NVRTC %d.%d or newer%s",
                   tj_source_kernel(source), tj_feature_name(unknown), version / 100, version % 100, target, since / 100,
                   since % 100, unknown == TJ_FEATURE_MMA_FP8 ? ", or the family tiled" : "");
}

/* Choose code for one chip alone only if the source needs its features. */
static const char *choose_target(const tj_source *source, const char *asked, tj_image_key_text *text)
{
    const uint32_t needs = tj_source_launch(source)->needs;

    (void)snprintf(text->own_target, sizeof text->own_target, "%.12sa", asked);
    return (needs & ~tj_target_features(asked)) && !(needs & ~tj_target_features(text->own_target)) ? text->own_target : asked;
}

tj_status tj_image_make_key(tj_host *host, const tj_source *source, const char *asked, tj_image_key_text *text, tj_key *key,
                            tj_error *err)
{
    const char *target = choose_target(source, asked, text);
    const tj_nvrtc *nvrtc;
    const char *identity = text->compiler;
    tj_error why;
    tj_status status;

    if (!host->has_lines && tj_packed_key(host, source, target, text, key)) /* what is packed names no file */
        return TJ_OK;
    status = tj_host_nvrtc(host, &nvrtc, &why);
    if (status == TJ_OK)
        status = tj_nvrtc_options(nvrtc, target, wishes_of(host), text->options, &why);
    if (status == TJ_OK)
        status = tj_nvrtc_identity(nvrtc, &identity, &why);
    if (status == TJ_ERR_NO_COMPILER && recall_compiler(host, source, target, text)) {
        identity = text->compiler;
        nvrtc = NULL;
        status = TJ_OK;
    }
    if (status == TJ_OK)
        status = check_needs(source, target, text->own_target, nvrtc, &why);
    if (status == TJ_OK && nvrtc)
        status = check_compiler(source, target, nvrtc, &why);
    if (status != TJ_OK) {
        if (err)
            *err = why;
        return status;
    }
    *key = begin_key(host, source);
    tj_key_add(key, "options", text->options);
    tj_key_add(key, "target", target);
    tj_key_add(key, "compiler", identity);
    tj_key_seal(key);
    return TJ_OK;
}

void tj_image_make_key_without_compiler(const tj_host *host, const tj_source *source, const char *asked,
                                        tj_image_key_text *text, tj_key *key)
{
    static const char unknown[] = "not known without an NVRTC";
    const char *target = choose_target(source, asked, text);

    *key = begin_key(host, source);
    tj_key_add(key, "options", unknown);
    tj_key_add(key, "target", target);
    tj_key_add(key, "compiler", unknown);
    tj_key_seal(key);
}

/* ---- compile ----------------------------------------------------------------------------------------------------- */

static void dump(tj_host *host, const tj_source *source, const tj_image_body *body)
{
    char trouble[512];

    if (host->dump_dir && !tj_image_dump(host->dump_dir, source, body, trouble, sizeof trouble) &&
        !atomic_exchange(&host->has_warned_of_dump, true))
        tj_log_line(&host->log, TJ_LOG_WARNING, "no dump: %s", trouble);
}

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* On TJ_ERR_COMPILE *out holds the log, on any other failure it is NULL. */
static tj_status compile(tj_host *host, const tj_source *source, const tj_key *key, tj_image_body **out, tj_error *err)
{
    const char *text = tj_source_text(source), *kernel = tj_source_kernel(source);
    tj_image_body *body = tj_image_body_create(key);
    tj_compiled compiled = {0};
    const tj_nvrtc *nvrtc;
    const int64_t start_us = now_us();
    const char *target, *identity;
    char name[PATH_MAX];
    tj_status status;
    tj_error why;

    *out = NULL;
    if (!body)
        return tj_fail_memory(err, "an image");
    target = body->target;
    status = tj_host_nvrtc(host, &nvrtc, err);
    if (status == TJ_OK)
        status = tj_nvrtc_identity(nvrtc, &identity, err);
    if (status == TJ_OK && strcmp(identity, body->compiler) != 0)
        status = tj_fail(err, TJ_ERR_IO, "the image of %s by NVRTC %s changed while it was read: call again", kernel,
                         body->compiler);
    if (status != TJ_OK)
        goto done;
    tj_log_line(&host->log, TJ_LOG_INFO, "compiling %s for %s (first use)", kernel, target);
    atomic_fetch_add_explicit(&host->stats.compiles, 1, memory_order_relaxed);
    tj_range_open(host, "compile", kernel);
    print_program_name(host, source, key, name);
    status = tj_nvrtc_compile(nvrtc, text, strlen(text), name, target, wishes_of(host), &compiled, &why);
    tj_range_close(host);
    if (status == TJ_OK && !tj_image_has_entry(compiled.ptx, kernel))
        status = tj_fail(&why, TJ_ERR_INTERNAL, "NVRTC %s compiled %s for %s, but its PTX has no such entry function",
                         body->compiler, kernel, target);
    if (status != TJ_OK)
        atomic_fetch_add_explicit(&host->stats.failures, 1, memory_order_relaxed);
    tj_host_tell(host, TJ_EVENT_COMPILED, source,
                 (tj_outcome){status == TJ_OK ? NULL : why.message, (double)(now_us() - start_us) / 1e3, status != TJ_OK});
    if (status != TJ_OK && err)
        *err = why;
    if (status != TJ_OK && status != TJ_ERR_COMPILE)
        goto done;

    body->ptx = compiled.ptx ? compiled.ptx : strdup("");
    body->ptx_bytes = compiled.ptx_bytes;
    body->cubin = compiled.cubin;
    body->cubin_bytes = compiled.cubin_bytes;
    body->log = compiled.log ? compiled.log : strdup("");
    body->resources = compiled.resources;
    compiled = (tj_compiled){0};
    if (!body->ptx || !body->log) {
        status = tj_fail_memory(err, "an image");
        goto done;
    }
    tj_log_line(&host->log, TJ_LOG_DEBUG, "%s %s for %s in %d ms: %d registers, %d bytes spilled, key %s",
                status == TJ_OK ? "compiled" : "could not compile", kernel, target, (int)((now_us() - start_us) / 1000),
                body->resources.registers, body->resources.spill_stores, body->key.hex);
    dump(host, source, body);
    *out = body;
    body = NULL;

done:
    tj_compiled_drop(&compiled);
    tj_image_body_release(body);
    return status;
}

/* NULL: a miss, for whatever reason. */
static tj_image_body *fetch(tj_host *host, const tj_source *source, const tj_key *key)
{
    tj_image_body *body;
    const char *trouble;
    tj_stored stored;

    if (!tj_disk_store_fetch(host->store, key, &stored))
        return NULL;
    body = tj_image_body_of(&stored, source, key, false, &trouble);
    tj_stored_drop(&stored);
    if (trouble)
        tj_disk_store_reject(host->store, key, trouble);
    if (body) {
        atomic_fetch_add_explicit(&host->stats.store_hits, 1, memory_order_relaxed);
        tj_log_line(&host->log, TJ_LOG_DEBUG, "%s for %s from the store, key %s", tj_source_kernel(source), body->target,
                    key->hex);
    }
    return body;
}

tj_status tj_image_produce(tj_host *host, const tj_source *source, const tj_key *key, bool may_compile, tj_image_body **body,
                           tj_origin *origin, tj_error *err)
{
    tj_status status = TJ_OK;
    bool leads = false;
    int lock;

    *origin = TJ_FROM_PACK;
    *body = host->has_lines ? NULL : tj_packed_fetch(host, source, key);
    if (*body)
        return TJ_OK;
    *origin = TJ_FROM_STORE;
    *body = fetch(host, source, key);
    if (*body) {
        tj_host_remember_nvrtc(host);
        return TJ_OK;
    }
    if (!may_compile)
        return TJ_OK;
    /* Another process may be compiling this very key: then its result comes sooner than ours. */
    lock = tj_disk_store_lock(host->store, key, STORE_LOCK_WAIT_MS);
    *body = fetch(host, source, key);
    if (!*body) {
        *origin = TJ_FROM_REMOTE;
        *body = tj_shared_fetch(host, source, key);
        if (!*body)
            *body = tj_shared_await(host, source, key, &leads);
    }
    if (!*body) {
        *origin = TJ_FROM_COMPILER;
        status = compile(host, source, key, body, err);
        if (status == TJ_OK) {
            tj_image_publish(host, source, *body);
            tj_host_remember_nvrtc(host);
            tj_shared_offer(host, source, *body, leads);
        } else if (leads) {
            tj_shared_give_up(host, key);
        }
    }
    tj_disk_store_unlock(lock);
    return status;
}

bool tj_image_is_suspect(const tj_image *image, tj_status of_load)
{
    return (image->origin == TJ_FROM_STORE || image->origin == TJ_FROM_PACK || image->origin == TJ_FROM_REMOTE) &&
           (of_load == TJ_ERR_DRIVER || of_load == TJ_ERR_UNSUPPORTED || of_load == TJ_ERR_INTERNAL);
}

void tj_image_reject(tj_host *host, const tj_image *image, const char *reason)
{
    /* If the driver refused one image to several threads, only the first one acts: the stored entry may be a new one by now. */
    if (atomic_exchange(&image->body->is_rejected, true))
        return;
    tj_packed_reject(host, &image->body->key, reason);
    if (image->origin == TJ_FROM_PACK)
        return;
    if (image->origin == TJ_FROM_REMOTE && !atomic_exchange(&host->is_remote_refused, true))
        tj_log_line(&host->log, TJ_LOG_WARNING, "the remote store is disabled: the driver rejected an image from it: %s",
                    reason);
    tj_disk_store_reject(host->store, &image->body->key, reason);
}

tj_status tj_image_build(tj_host *host, const tj_source *source, const char *target, bool past_stores, tj_image **image,
                         tj_error *err)
{
    tj_origin origin = TJ_FROM_COMPILER;
    tj_image_key_text text;
    tj_image_body *body;
    tj_status status, wrapped;
    tj_key key;

    *image = NULL;
    status = tj_image_make_key(host, source, target, &text, &key, err);
    if (status != TJ_OK)
        return status;
    status =
        past_stores ? compile(host, source, &key, &body, err) : tj_image_produce(host, source, &key, true, &body, &origin, err);
    wrapped = tj_image_wrap(body, origin, image, status == TJ_OK ? err : NULL);
    return status == TJ_OK ? wrapped : status;
}
