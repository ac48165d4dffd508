/* SPDX-License-Identifier: Apache-2.0 */
#include "nvrtc_card.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hash.h"
#include "nvrtc_search.h"
#include "nvrtc_table.h"
#include "text.h"

enum { MAX_CARD_BYTES = 16 * 1024, MAX_CARD_TARGETS = 64 };

static const char FORMAT[] = "tilejit nvrtc card 1";

/* ---- what the answers depend on ----------------------------------------------------------------------------------- */

void tj_nvrtc_card_name(const char *path, int driver_version, char name[64])
{
    static const char *const variables[] = {"LD_LIBRARY_PATH", "CUDA_HOME",     "CUDA_PATH", "VIRTUAL_ENV",
                                            "CONDA_PREFIX",    "XDG_DATA_HOME", "HOME"};
    tj_text text = TJ_TEXT_INIT(MAX_CARD_BYTES);
    char hex[TJ_HASH_HEX_BYTES];
    struct stat cache = {0};
    char *all = NULL;

    tj_text_append(&text, path ? path : "");
    tj_text_append(&text, "\n");
    tj_text_append_int(&text, driver_version / 1000);
    for (size_t i = 0; !path && i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = secure_getenv(variables[i]);
        tj_text_append(&text, "\n");
        tj_text_append(&text, value ? value : "");
    }
    if (tj_nvrtc_is_searched(path) && stat("/etc/ld.so.cache", &cache) == 0) { /* a newly installed NVRTC changes this file */
        tj_text_append(&text, "\n");
        tj_text_append_int(&text, cache.st_mtim.tv_sec);
    }
    if (tj_text_take(&text, &all, NULL) != TJ_OK)
        all = NULL;
    tj_hash_hex(tj_hash_bytes(all ? all : "", all ? strlen(all) : 0), hex);
    snprintf(name, 64, "nvrtc-%s", hex);
    free(all);
}

/* Print "size time nanoseconds inode"; false if there is no such file. */
static bool describe_file(const char *path, char out[100])
{
    struct stat facts;

    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode))
        return false;
    snprintf(out, 100, "%lld %lld %ld %llu", (long long)facts.st_size, (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec,
             (unsigned long long)facts.st_ino);
    return true;
}

static int is_nvrtc(struct dl_phdr_info *object, size_t size, void *payload)
{
    const char *slash = strrchr(object->dlpi_name, '/');

    (void)size, (void)payload;
    return strncmp(slash ? slash + 1 : object->dlpi_name, "libnvrtc.so", strlen("libnvrtc.so")) == 0;
}

/* Look in the list of loaded libraries: dlopen of a name that is not loaded searches a hundred folders first. */
static bool is_loaded_already(void)
{
    return dl_iterate_phdr(is_nvrtc, NULL) != 0;
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

static void append_line(tj_text *text, const char *value)
{
    tj_text_append(text, value);
    tj_text_append(text, "\n");
}

char *tj_nvrtc_card_write(const tj_nvrtc *nvrtc)
{
    const tj_nvrtc_probe *probe = nvrtc->probe;
    tj_text text = TJ_TEXT_INIT(MAX_CARD_BYTES);
    char library[100], builtins[100], *card = NULL;

    if (!nvrtc->handle || !atomic_load_explicit(&nvrtc->probe->is_done, memory_order_acquire) || !nvrtc->builtins_path ||
        strchr(nvrtc->path, '\n') || !describe_file(nvrtc->path, library) || !describe_file(nvrtc->builtins_path, builtins))
        return NULL;
    append_line(&text, FORMAT);
    append_line(&text, nvrtc->path);
    append_line(&text, library);
    append_line(&text, nvrtc->builtins_path);
    append_line(&text, builtins);
    tj_text_append_int(&text, nvrtc->major);
    append_line(&text, "");
    tj_text_append_int(&text, nvrtc->minor);
    append_line(&text, "");
    append_line(&text, probe->identity);
    append_line(&text, probe->has_minimal ? "minimal" : "no minimal");
    append_line(&text, probe->has_no_cache ? "no-cache" : "no no-cache");
    for (size_t i = 0; nvrtc->target[i]; i++)
        append_line(&text, nvrtc->target[i]);
    append_line(&text, "end");
    return tj_text_take(&text, &card, NULL) == TJ_OK ? card : NULL;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* Return the next line, without its newline; NULL at the end. */
static char *next_line(char **rest)
{
    char *line = *rest, *end = line ? strchr(line, '\n') : NULL;

    if (!end)
        return NULL;
    *end = '\0';
    *rest = end + 1;
    return line;
}

static bool matches_file(const char *path, const char *described)
{
    char now[100];

    return path && described && path[0] == '/' && describe_file(path, now) && strcmp(now, described) == 0;
}

/* Read the targets, up to "end". One block: the pointers, then the names they point to. */
static bool read_targets(char **rest, tj_nvrtc *nvrtc)
{
    size_t count = 0;
    char *line;

    nvrtc->target = calloc(MAX_CARD_TARGETS + 1, sizeof *nvrtc->target + 16);
    if (!nvrtc->target)
        return false;
    while ((line = next_line(rest)) && strcmp(line, "end") != 0) {
        char *copy = (char *)(nvrtc->target + MAX_CARD_TARGETS + 1) + 16 * count;
        if (count == MAX_CARD_TARGETS || strncmp(line, "sm_", 3) != 0 || strlen(line) >= 16)
            return false;
        strcpy(copy, line);
        nvrtc->target[count++] = copy;
    }
    return line && count > 0;
}

static bool read_card(char *rest, tj_nvrtc *nvrtc)
{
    const char *format = next_line(&rest), *path = next_line(&rest), *library = next_line(&rest);
    const char *builtins_path = next_line(&rest), *builtins = next_line(&rest), *major = next_line(&rest),
               *minor = next_line(&rest);
    const char *identity = next_line(&rest), *minimal = next_line(&rest), *no_cache = next_line(&rest);
    int64_t number[2];

    if (!no_cache || strcmp(format, FORMAT) != 0 || !matches_file(path, library) || !matches_file(builtins_path, builtins) ||
        !tj_parse_int(major, &number[0]) || !tj_parse_int(minor, &number[1]) ||
        strlen(identity) >= sizeof nvrtc->probe->identity)
        return false;
    nvrtc->major = (int)number[0];
    nvrtc->minor = (int)number[1];
    nvrtc->path = strdup(path);
    nvrtc->builtins_path = strdup(builtins_path);
    strcpy(nvrtc->probe->identity, identity);
    nvrtc->probe->has_minimal = strcmp(minimal, "minimal") == 0;
    nvrtc->probe->has_no_cache = strcmp(no_cache, "no-cache") == 0;
    atomic_store(&nvrtc->probe->is_done, true);
    return nvrtc->path && nvrtc->builtins_path && read_targets(&rest, nvrtc);
}

const tj_nvrtc *tj_nvrtc_recall(const char *card)
{
    tj_nvrtc *nvrtc = is_loaded_already() ? NULL : tj_nvrtc_new();
    char *copy = nvrtc ? strdup(card) : NULL;

    if (!copy || !read_card(copy, nvrtc)) {
        tj_nvrtc_free(nvrtc);
        nvrtc = NULL;
    }
    free(copy);
    return nvrtc;
}

void tj_nvrtc_forget(const tj_nvrtc *nvrtc)
{
    if (nvrtc && !nvrtc->handle)
        tj_nvrtc_free((tj_nvrtc *)nvrtc);
}
