/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvrtc_search: list the places where libnvrtc may be.
 *
 * Knows the layouts of toolkits, distributions, wheels and conda. Does not know how to open a library, nor which version is
 * wanted.
 */
#include "nvrtc_search.h"

#include <dirent.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "error.h"
#include "hash.h"

#ifdef __aarch64__
#define TOOLKIT_TARGET "targets/sbsa-linux/lib"
#define SYSTEM_FOLDER "/usr/lib/aarch64-linux-gnu"
#else
#define TOOLKIT_TARGET "targets/x86_64-linux/lib"
#define SYSTEM_FOLDER "/usr/lib/x86_64-linux-gnu"
#endif

#define LIBRARY_NAME "libnvrtc.so"

/* 11.2 to 11.8 all have the soname of 11.2. */
static const struct {
    const char *name;
    int major;
} sonames[] = {{LIBRARY_NAME ".13", 13}, {LIBRARY_NAME ".12", 12}, {LIBRARY_NAME ".11.2", 11}};

enum { SONAMES = sizeof sonames / sizeof sonames[0] };

static void add(tj_nvrtc_places *places, const char *where, const char *library, const char *note, int major,
                bool only_if_loaded)
{
    tj_nvrtc_place place = {strdup(where), library ? strdup(library) : NULL, note, major, only_if_loaded};

    if (places->count == places->capacity) {
        size_t capacity = places->capacity ? 2 * places->capacity : 32;
        tj_nvrtc_place *grown = realloc(places->place, capacity * sizeof *grown);
        if (grown) {
            places->place = grown;
            places->capacity = capacity;
        }
    }
    if (places->count == places->capacity || !place.where || (library && !place.library)) {
        free(place.where);
        free(place.library);
        places->is_out_of_memory = true;
        return;
    }
    places->place[places->count++] = place;
}

/* Join folder and name; false: it does not fit, as no folder of an installation. */
static bool join(char path[PATH_MAX], const char *folder, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);

    return length > 0 && length < PATH_MAX;
}

/* ---- one folder -------------------------------------------------------------------------------------------------- */

/* "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.13.0.88"; libnvrtc.alt.so.13 does not match. */
static int is_library(const struct dirent *entry)
{
    const char *rest = entry->d_name + strlen(LIBRARY_NAME);

    if (strncmp(entry->d_name, LIBRARY_NAME, strlen(LIBRARY_NAME)) != 0)
        return 0;
    return *rest == '\0' || (rest[0] == '.' && rest[1] != '\0' && strspn(rest, ".0123456789") == strlen(rest));
}

static int library_major(const char *name)
{
    const char *rest = name + strlen(LIBRARY_NAME);

    return *rest == '.' ? atoi(rest + 1) : 0;
}

/* Newest major first; within a major the shortest name, which is the soname. */
static int by_version(const struct dirent **a, const struct dirent **b)
{
    int major_a = library_major((*a)->d_name), major_b = library_major((*b)->d_name);
    size_t length_a = strlen((*a)->d_name), length_b = strlen((*b)->d_name);

    if (major_a != major_b)
        return major_a > major_b ? -1 : 1;
    if (length_a != length_b)
        return length_a < length_b ? -1 : 1;
    return strcmp((*b)->d_name, (*a)->d_name);
}

/* Add one library per major version in the folder; return their number. */
static size_t add_folder(tj_nvrtc_places *places, const char *where, const char *folder)
{
    char path[PATH_MAX];
    struct dirent **entry = NULL;
    int count = scandir(folder, &entry, is_library, by_version);
    int last_major = -1;
    size_t added = 0;

    for (int i = 0; i < count; i++) {
        int major = library_major(entry[i]->d_name);
        /* The link without a version names one of the others; it counts only if it is alone. */
        if (major != last_major && (major != 0 || added == 0) && join(path, folder, entry[i]->d_name)) {
            add(places, where, path, NULL, major, false);
            last_major = major;
            added++;
        }
        free(entry[i]);
    }
    free(entry);
    return added;
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

static int newest_first(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*b)->d_name, (*a)->d_name);
}

static int is_cuda_wheel(const struct dirent *entry)
{
    return strcmp(entry->d_name, "cuda_nvrtc") == 0 ||
           (strncmp(entry->d_name, "cu", 2) == 0 && entry->d_name[2] >= '0' && entry->d_name[2] <= '9');
}

static int is_python(const struct dirent *entry)
{
    return strncmp(entry->d_name, "python3", 7) == 0;
}

static int is_toolkit(const struct dirent *entry)
{
    return strncmp(entry->d_name, "cuda-", 5) == 0;
}

static size_t add_toolkit(tj_nvrtc_places *places, const char *where, const char *root)
{
    static const char *const folders[] = {"lib64", "lib", TOOLKIT_TARGET};
    char path[PATH_MAX];
    size_t added = 0;

    /* These are usually links to one another: the first that has a library is enough. */
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && added == 0; i++)
        if (join(path, root, folders[i]))
            added = add_folder(places, where, path);
    return added;
}

/* <folder>/nvidia/cu13/lib (wheels from 13 on), <folder>/nvidia/cuda_nvrtc/lib (older) */
static size_t add_wheels(tj_nvrtc_places *places, const char *where, const char *folder)
{
    char root[PATH_MAX], wheel[PATH_MAX], path[PATH_MAX];
    struct dirent **entry = NULL;
    size_t added = 0;
    int count;

    if (!join(root, folder, "nvidia"))
        return 0;
    count = scandir(root, &entry, is_cuda_wheel, newest_first);
    /* strverscmp sorts "cuda_nvrtc" as newest, but it is the oldest layout: put it last. */
    for (int old = 0; old <= 1; old++)
        for (int i = 0; i < count; i++)
            if ((strcmp(entry[i]->d_name, "cuda_nvrtc") == 0) == (old == 1) && join(wheel, root, entry[i]->d_name) &&
                join(path, wheel, "lib"))
                added += add_folder(places, where, path);
    for (int i = 0; i < count; i++)
        free(entry[i]);
    free(entry);
    return added;
}

/* Add an environment's own lib folder (conda) and its site-packages. */
static size_t add_environment(tj_nvrtc_places *places, const char *where, const char *root)
{
    char lib[PATH_MAX], python[PATH_MAX], packages[PATH_MAX];
    struct dirent **entry = NULL;
    size_t added;
    int count;

    if (!join(lib, root, "lib"))
        return 0;
    added = add_folder(places, where, lib);
    count = scandir(lib, &entry, is_python, newest_first);
    for (int i = 0; i < count; i++) {
        if (join(python, lib, entry[i]->d_name) && join(packages, python, "site-packages"))
            added += add_wheels(places, where, packages);
        free(entry[i]);
    }
    free(entry);
    return added;
}

/* Add TileJIT's own folder: python is the environment of scripts/demo.sh; nvrtc is for libraries that a person puts there. */
static size_t add_own_folder(tj_nvrtc_places *places, const char *where, const char *root)
{
    char python[PATH_MAX], nvrtc[PATH_MAX];
    size_t added = 0;

    if (join(nvrtc, root, "nvrtc"))
        added += add_folder(places, where, nvrtc) + add_wheels(places, where, nvrtc) + add_environment(places, where, nvrtc);
    if (join(python, root, "python"))
        added += add_environment(places, where, python);
    return added;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

typedef size_t (*layout)(tj_nvrtc_places *places, const char *where, const char *root);

static void add_root(tj_nvrtc_places *places, const char *where, const char *root, layout add_layout)
{
    if (add_layout(places, where, root) == 0)
        add(places, where, NULL, "no " LIBRARY_NAME " there", 0, false);
}

static void add_variable(tj_nvrtc_places *places, const char *name, layout add_layout)
{
    const char *root = secure_getenv(name);
    char where[PATH_MAX];

    if (!root || !*root) {
        add(places, name, NULL, "not set", 0, false);
        return;
    }
    if (snprintf(where, sizeof where, "%s=%s", name, root) < (int)sizeof where)
        add_root(places, where, root, add_layout);
}

static void add_data_folder(tj_nvrtc_places *places)
{
    const char *data = secure_getenv("XDG_DATA_HOME"), *home = secure_getenv("HOME");
    char folder[PATH_MAX];
    int length = 0;

    if (data && data[0] == '/')
        length = snprintf(folder, sizeof folder, "%s/tilejit", data);
    else if (home && home[0] == '/')
        length = snprintf(folder, sizeof folder, "%s/.local/share/tilejit", home);
    if (length > 0 && length < (int)sizeof folder)
        add_root(places, folder, folder, add_own_folder);
}

static void add_installed_toolkits(tj_nvrtc_places *places)
{
    char path[PATH_MAX];
    struct dirent **entry = NULL;
    int count;

    add_root(places, "/usr/local/cuda", "/usr/local/cuda", add_toolkit);
    count = scandir("/usr/local", &entry, is_toolkit, newest_first);
    for (int i = 0; i < count; i++) {
        if (join(path, "/usr/local", entry[i]->d_name))
            add_root(places, path, path, add_toolkit);
        free(entry[i]);
    }
    free(entry);
    if (count <= 0)
        add(places, "/usr/local/cuda-*", NULL, "no such folder", 0, false);
    add_root(places, SYSTEM_FOLDER, SYSTEM_FOLDER, add_folder);
}

bool tj_nvrtc_is_searched(const char *path)
{
    return !path || strcmp(path, TJ_NVRTC_SYSTEM) == 0;
}

tj_status tj_nvrtc_places_list(const char *path, tj_nvrtc_places *places, tj_error *err)
{
    *places = (tj_nvrtc_places){0};
    if (!tj_nvrtc_is_searched(path)) {
        add(places, "the given path", path, NULL, 0, false);
    } else {
        for (size_t i = 0; i < SONAMES; i++)
            add(places, "already loaded", sonames[i].name, NULL, sonames[i].major, true);
        for (size_t i = 0; i < SONAMES; i++)
            add(places, "the loader's path", sonames[i].name, NULL, sonames[i].major, false);
        if (!path) {
            add_variable(places, "CUDA_HOME", add_toolkit);
            add_variable(places, "CUDA_PATH", add_toolkit);
            add_variable(places, "VIRTUAL_ENV", add_environment);
            add_variable(places, "CONDA_PREFIX", add_environment);
            add_data_folder(places);
        }
        add_installed_toolkits(places);
    }
    if (!places->is_out_of_memory)
        return TJ_OK;
    tj_nvrtc_places_drop(places);
    return tj_fail_memory(err, "the search for NVRTC");
}

void tj_nvrtc_places_drop(tj_nvrtc_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        free(places->place[i].where);
        free(places->place[i].library);
    }
    free(places->place);
    *places = (tj_nvrtc_places){0};
}

/* ---- stamps ------------------------------------------------------------------------------------------------------ */

static void add_bytes(uint64_t *stamp, const void *bytes, size_t size)
{
    *stamp = *stamp * UINT64_C(0x9e3779b97f4a7c15) + tj_hash_bytes64(bytes, size);
}

static void add_file(uint64_t *stamp, const char *path)
{
    struct stat facts;
    int64_t seen[5] = {0};

    if (stat(path, &facts) == 0) {
        seen[0] = (int64_t)facts.st_dev;
        seen[1] = (int64_t)facts.st_ino;
        seen[2] = (int64_t)facts.st_size;
        seen[3] = (int64_t)facts.st_mtim.tv_sec;
        seen[4] = (int64_t)facts.st_mtim.tv_nsec;
    }
    add_bytes(stamp, path, strlen(path));
    add_bytes(stamp, seen, sizeof seen);
}

/* Add the places where the loader looks up a bare name; it read its variable when the program began. */
static void add_loader(uint64_t *stamp, bool reads_environment)
{
    const char *folders = reads_environment ? secure_getenv("LD_LIBRARY_PATH") : NULL;
    char folder[PATH_MAX];

    add_file(stamp, "/etc/ld.so.cache");
    for (const char *at = folders; at && *at; at += strspn(at, ":;")) {
        const size_t length = strcspn(at, ":;");

        if (snprintf(folder, sizeof folder, "%.*s", (int)length, at) < (int)sizeof folder)
            add_file(stamp, folder);
        at += length;
    }
}

static int take_loads(struct dl_phdr_info *info, size_t size, void *loads)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds)
        *(uint64_t *)loads = info->dlpi_adds;
    return 1;
}

tj_nvrtc_stamp tj_nvrtc_search_stamp(const char *path)
{
    tj_nvrtc_stamp stamp = {1, 0};
    tj_nvrtc_places places;

    if (tj_nvrtc_places_list(path, &places, NULL) != TJ_OK)
        return (tj_nvrtc_stamp){0};
    for (size_t i = 0; i < places.count; i++) {
        add_bytes(&stamp.files, places.place[i].where, strlen(places.place[i].where));
        if (places.place[i].library && strchr(places.place[i].library, '/'))
            add_file(&stamp.files, places.place[i].library);
    }
    if (!path || !strchr(path, '/'))
        add_loader(&stamp.files, !path || !tj_nvrtc_is_searched(path));
    tj_nvrtc_places_drop(&places);
    dl_iterate_phdr(take_loads, &stamp.loads);
    return stamp;
}
