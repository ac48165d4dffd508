/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvrtc: opens libnvrtc, once per library and process.
 *
 * The lists of opened libraries and of answered requests are the global state here: the dynamic loader is global too. Knows
 * which version fits a driver. Does not know the source.
 */
#include "nvrtc.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ending.h"
#include "error.h"
#include "fs.h"
#include "nvrtc_search.h"
#include "nvrtc_table.h"

enum { OLDEST_MAJOR = 11, OLDEST_MINOR = 2 };

static const char REMEDY[] =
    "install one with \"pip install nvidia-cuda-nvrtc\", or set TILEJIT_NVRTC to the path of libnvrtc.so.NN";

/* An answered request: a path, or a search on behalf of a driver. */
struct request {
    char *path; /* NULL: a search */
    int driver_major;
    const tj_nvrtc *nvrtc;
    struct request *next;
};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static tj_nvrtc *libraries;      /* guarded by opening; never freed */
static struct request *requests; /* guarded by opening; never freed */

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static pthread_once_t watch_forks = PTHREAD_ONCE_INIT;
static atomic_int inside;
static atomic_bool was_forked_inside;

static void in_child(void)
{
    if (atomic_load(&inside) > 0)
        atomic_store(&was_forked_inside, true);
}

static void watch(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

tj_status tj_nvrtc_enter(tj_error *err)
{
    pthread_once(&watch_forks, watch);
    tj_ending_watch_thread();
    if (atomic_load(&was_forked_inside))
        return tj_fail(
            err, TJ_ERR_FORKED,
            "this process was forked while its parent was compiling, which leaves NVRTC locked for ever: "
            "fork before the first compile, or start the child with exec (Python's multiprocessing: the start method "
            "\"spawn\")");
    atomic_fetch_add(&inside, 1);
    return TJ_OK;
}

void tj_nvrtc_leave(void)
{
    atomic_fetch_sub(&inside, 1);
}

/* ---- one library ------------------------------------------------------------------------------------------------- */

static const char *loader_error(void)
{
    const char *text = dlerror();

    return text ? text : "no reason given";
}

/* Return the path where the loader found the library. */
static char *library_path(void *handle, const char *asked)
{
    struct link_map *map = NULL;

    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && map->l_name[0])
        return strdup(map->l_name);
    return strdup(asked);
}

/* Open folder-of(path)/name; return its path, or NULL. */
static char *open_beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    char beside[PATH_MAX];

    if (!slash || snprintf(beside, sizeof beside, "%.*s/%s", (int)(slash - path), path, name) >= (int)sizeof beside)
        return NULL;
    return tj_fs_is_loadable(beside) && dlopen(beside, RTLD_NOW | RTLD_LOCAL) ? strdup(beside) : NULL;
}

/*
 * libnvrtc opens its builtins at the first compile, by their bare name, and has no run path: they are found only if the loader
 * knows their folder or they are loaded already. So load them here.
 */
static void open_builtins(tj_nvrtc *nvrtc)
{
    char name[64], real[PATH_MAX];
    void *handle;

    snprintf(name, sizeof name, "libnvrtc-builtins.so.%d.%d", nvrtc->major, nvrtc->minor);
    nvrtc->builtins_path = open_beside(nvrtc->path, name);
    if (!nvrtc->builtins_path && realpath(nvrtc->path, real))
        nvrtc->builtins_path = open_beside(real, name);
    if (nvrtc->builtins_path)
        return;
    handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle)
        nvrtc->builtins_path = library_path(handle, name);
}

static int ascending(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;

    return (left > right) - (left < right);
}

static tj_status read_targets(tj_nvrtc *nvrtc, tj_error *err)
{
    enum { TEXT_BYTES = 16, MOST = 1000 };
    tj_status status = TJ_OK;
    int count = 0, *number = NULL;
    char *text;

    if (nvrtc->call.target_count(&count) != NVRTC_DONE || count < 1 || count > MOST)
        return tj_fail(err, TJ_ERR_NO_COMPILER, "NVRTC %s does not list its targets: it is damaged: install it again",
                       nvrtc->path);
    number = calloc((size_t)count, sizeof *number);
    /* one block: the pointers, then the names that they point to */
    nvrtc->target = calloc(1, ((size_t)count + 1) * sizeof *nvrtc->target + (size_t)count * TEXT_BYTES);
    if (!number || !nvrtc->target) {
        status = tj_fail_memory(err, "the targets of NVRTC");
        goto done;
    }
    if (nvrtc->call.targets(number) != NVRTC_DONE) {
        status = tj_fail(err, TJ_ERR_NO_COMPILER, "NVRTC %s does not list its targets: it is damaged: install it again",
                         nvrtc->path);
        goto done;
    }
    qsort(number, (size_t)count, sizeof *number, ascending);
    text = (char *)(nvrtc->target + count + 1);
    for (int i = 0; i < count; i++, text += TEXT_BYTES) {
        snprintf(text, TEXT_BYTES, "sm_%d", number[i]);
        nvrtc->target[i] = text;
    }

done:
    free(number);
    return status;
}

static tj_status find_function(void *handle, const char *path, const char *symbol, void *function, tj_error *err)
{
    void *address = dlsym(handle, symbol);

    if (!address)
        return tj_fail(err, TJ_ERR_NO_COMPILER, "%.200s is not a usable NVRTC: it has no function %s; %s", path, symbol,
                       REMEDY);
    memcpy(function, &address, sizeof address);
    return TJ_OK;
}

static tj_status find_functions(tj_nvrtc *nvrtc, tj_error *err)
{
    tj_status status = find_function(nvrtc->handle, nvrtc->path, "nvrtcVersion", &nvrtc->call.version, err);

    /* version first: an old library is better reported as old than as lacking a function */
    if (status != TJ_OK)
        return status;
    if (nvrtc->call.version(&nvrtc->major, &nvrtc->minor) != NVRTC_DONE)
        return tj_fail(err, TJ_ERR_NO_COMPILER, "%s does not report its version: it is damaged: install it again", nvrtc->path);
    if (nvrtc->major < OLDEST_MAJOR || (nvrtc->major == OLDEST_MAJOR && nvrtc->minor < OLDEST_MINOR))
        return tj_fail(err, TJ_ERR_NO_COMPILER, "NVRTC %d.%d at %s is too old: 11.2 is the oldest that works; %s", nvrtc->major,
                       nvrtc->minor, nvrtc->path, REMEDY);
#define TJ_NVRTC_FIND(member, symbol, result, arguments) \
    if (status == TJ_OK)                                 \
        status = find_function(nvrtc->handle, nvrtc->path, #symbol, &nvrtc->call.member, err);
    TJ_NVRTC_FUNCTIONS(TJ_NVRTC_FIND)
#undef TJ_NVRTC_FIND
    if (status == TJ_OK) {
        void *address = dlsym(nvrtc->handle, "nvrtcSetFlowCallback");
        memcpy(&nvrtc->call.set_flow_callback, &address, sizeof address);
    }
    return status;
}

tj_nvrtc *tj_nvrtc_new(void)
{
    tj_nvrtc *nvrtc = calloc(1, sizeof *nvrtc);
    tj_nvrtc_probe *probe = calloc(1, sizeof *probe);

    if (!nvrtc || !probe) {
        free(nvrtc);
        free(probe);
        return NULL;
    }
    pthread_mutex_init(&probe->lock, NULL);
    nvrtc->probe = probe;
    return nvrtc;
}

void tj_nvrtc_free(tj_nvrtc *nvrtc)
{
    if (!nvrtc)
        return;
    pthread_mutex_destroy(&nvrtc->probe->lock);
    free(nvrtc->probe);
    free(nvrtc->target);
    free(nvrtc->builtins_path);
    free(nvrtc->path);
    free(nvrtc);
}

/* Return the table of an opened library: the existing one, or a new one. */
static tj_status adopt(void *handle, const char *asked, const tj_nvrtc **out, tj_error *err)
{
    tj_nvrtc *nvrtc = libraries;
    tj_status status;

    while (nvrtc && nvrtc->handle != handle)
        nvrtc = nvrtc->next;
    if (nvrtc) {
        if (!nvrtc->builtins_path)
            open_builtins(nvrtc);
        *out = nvrtc;
        return TJ_OK;
    }
    nvrtc = tj_nvrtc_new();
    if (!nvrtc)
        return tj_fail_memory(err, "NVRTC's table");
    nvrtc->handle = handle;
    nvrtc->path = library_path(handle, asked);
    status = nvrtc->path ? find_functions(nvrtc, err) : tj_fail_memory(err, "NVRTC's table");
    if (status == TJ_OK)
        status = read_targets(nvrtc, err);
    if (status != TJ_OK) {
        tj_nvrtc_free(nvrtc);
        return status;
    }
    open_builtins(nvrtc);
    nvrtc->next = libraries;
    libraries = nvrtc;
    *out = nvrtc;
    return TJ_OK;
}

/* A library is never closed, even if it turns out to be unusable: others may hold it. */
static tj_status open_library(const char *library, bool only_if_loaded, const tj_nvrtc **nvrtc, tj_error *err)
{
    tj_status status;
    void *handle;

    if (!tj_fs_is_loadable(library))
        return tj_fail(err, TJ_ERR_NO_COMPILER, "cannot open NVRTC %.150s: it is not a regular file; %s", library, REMEDY);
    status = tj_ending_enter(true, err);
    if (status != TJ_OK)
        return status;
    handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | (only_if_loaded ? RTLD_NOLOAD : 0));
    if (handle)
        status = adopt(handle, library, nvrtc, err);
    else
        status = tj_fail(err, TJ_ERR_NO_COMPILER, "cannot open NVRTC %.150s: %.150s; %s", library, loader_error(), REMEDY);
    tj_ending_leave(true);
    return status;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* Append to a buffer of fixed size, whole or not at all. */
static bool append(char *text, size_t size, const char *what)
{
    size_t length = strlen(text), more = strlen(what);

    if (length + more >= size)
        return false;
    memcpy(text + length, what, more + 1);
    return true;
}

/* Report the unusable libraries; else every place searched, as far as it fits next to the count and the remedy. */
static tj_status report_places(const tj_nvrtc_places *places, const char *unusable, tj_error *err)
{
    char list[TJ_ERROR_MESSAGE_BYTES - 200] = "", tail[32] = "";
    int count = 0, left_out = 0;
    const char *last = "";

    if (unusable[0])
        return tj_fail(err, TJ_ERR_NO_COMPILER, "%s", unusable);
    for (size_t i = 0; i < places->count; i++) {
        char item[160];
        const tj_nvrtc_place *place = &places->place[i];
        bool is_unset = place->note && strcmp(place->note, "not set") == 0;
        if (strcmp(place->where, last) == 0)
            continue;
        last = place->where;
        count++;
        snprintf(item, sizeof item, "%s%.110s%s", list[0] ? ", " : "", place->where, is_unset ? " (not set)" : "");
        if (left_out > 0 || !append(list, sizeof list, item))
            left_out++;
    }
    if (left_out > 0)
        snprintf(tail, sizeof tail, " and %d more", left_out);
    return tj_fail(err, TJ_ERR_NO_COMPILER, "no NVRTC found in %d places: %s%s; %s", count, list, tail, REMEDY);
}

static tj_status search_and_open(const char *path, int driver_major, const tj_log *log, const tj_nvrtc **out, tj_error *err)
{
    tj_nvrtc_places places;
    const tj_nvrtc *newer = NULL, *without_builtins = NULL;
    char unusable[TJ_ERROR_MESSAGE_BYTES] = "";
    tj_status status = tj_nvrtc_places_list(path, &places, err);

    if (status != TJ_OK)
        return status;
    *out = NULL;
    /* First those whose major version the driver supports; a newer one only if there is no other. */
    for (int round = 0; round < 2 && !*out; round++) {
        for (size_t i = 0; i < places.count && !*out; i++) {
            const tj_nvrtc_place *place = &places.place[i];
            bool looks_newer = driver_major > 0 && place->major > driver_major;
            const tj_nvrtc *found = NULL;
            tj_error why;
            if (!place->library || looks_newer != (round == 1))
                continue;
            if (open_library(place->library, place->only_if_loaded, &found, &why) != TJ_OK) {
                /* A bare name that the loader does not know is not worth a report; a file that exists and fails is. */
                if (place->library[0] == '/') {
                    tj_log_line(log, TJ_LOG_DEBUG, "%s: %s", place->where, why.message);
                    if (!unusable[0])
                        snprintf(unusable, sizeof unusable, "%s", why.message);
                }
                continue;
            }
            if (!found->builtins_path)
                without_builtins = without_builtins ? without_builtins : found;
            else if (round == 0 && driver_major > 0 && found->major > driver_major)
                newer = newer ? newer : found; /* its file name did not tell the version */
            else
                *out = found;
        }
        if (round == 0 && !*out && newer)
            *out = newer;
    }
    if (!*out)
        *out = without_builtins;
    if (!*out)
        status = report_places(&places, unusable, err);
    tj_nvrtc_places_drop(&places);
    return status;
}

static void report_choice(const tj_nvrtc *nvrtc, int driver_major, const tj_log *log)
{
    tj_log_line(log, TJ_LOG_DEBUG, "NVRTC %d.%d: %s, builtins %s", nvrtc->major, nvrtc->minor, nvrtc->path,
                nvrtc->builtins_path ? nvrtc->builtins_path : "not found");
    if (!nvrtc->builtins_path)
        tj_log_line(log, TJ_LOG_WARNING,
                    "libnvrtc-builtins.so.%d.%d is neither next to %s nor on the loader's path: compiling will fail",
                    nvrtc->major, nvrtc->minor, nvrtc->path);
    if (driver_major > 0 && nvrtc->major > driver_major)
        tj_log_line(log, TJ_LOG_WARNING,
                    "NVRTC %d.%d (%s) is newer than the driver, which serves CUDA %d: the driver may refuse what it makes; "
                    "update the driver or install an NVRTC of CUDA %d",
                    nvrtc->major, nvrtc->minor, nvrtc->path, driver_major, driver_major);
}

static bool is_same_request(const struct request *request, const char *path, int driver_major)
{
    if (!path || !request->path)
        return !path && !request->path && request->driver_major == driver_major;
    return strcmp(request->path, path) == 0 && (!tj_nvrtc_is_searched(path) || request->driver_major == driver_major);
}

static tj_status answer(const char *path, int driver_major, const tj_log *log, const tj_nvrtc **nvrtc, tj_error *err)
{
    struct request *request = requests;
    tj_status status;

    while (request && !is_same_request(request, path, driver_major))
        request = request->next;
    if (request) {
        *nvrtc = request->nvrtc;
        return TJ_OK;
    }
    request = calloc(1, sizeof *request);
    if (!request || (path && !(request->path = strdup(path)))) {
        free(request);
        return tj_fail_memory(err, "NVRTC's path");
    }
    status = tj_nvrtc_is_searched(path) ? search_and_open(path, driver_major, log, nvrtc, err)
                                        : open_library(path, false, nvrtc, err);
    if (status == TJ_OK)
        report_choice(*nvrtc, driver_major, log);
    /* Without builtins it cannot compile; do not remember that: they may be installed before the next call. */
    if (status != TJ_OK || !(*nvrtc)->builtins_path) {
        free(request->path);
        free(request);
        return status;
    }
    request->driver_major = driver_major;
    request->nvrtc = *nvrtc;
    request->next = requests;
    requests = request;
    return TJ_OK;
}

tj_status tj_nvrtc_open(const char *path, int driver_version, const tj_log *log, const tj_nvrtc **nvrtc, tj_error *err)
{
    tj_status status;

    *nvrtc = NULL;
    if (path && !*path)
        return tj_fail(err, TJ_ERR_NO_COMPILER, "the path of NVRTC is empty: give a path, or NULL to search for NVRTC");
    status = tj_nvrtc_enter(err);
    if (status != TJ_OK)
        return status;
    pthread_mutex_lock(&opening);
    status = answer(path, driver_version / 1000, log, nvrtc, err);
    pthread_mutex_unlock(&opening);
    tj_nvrtc_leave();
    return status;
}

static void visit_place(const tj_nvrtc_place *place, tj_nvrtc_visit visit, void *payload)
{
    bool is_bare = place->library && !strchr(place->library, '/');
    char text[PATH_MAX + 64];
    void *handle;
    char *path;

    if (!place->library) {
        visit(place->where, place->note, payload);
        return;
    }
    if (!is_bare) {
        if (access(place->library, R_OK) == 0)
            visit(place->where, place->library, payload);
        else {
            snprintf(text, sizeof text, "%s: %s", place->library, strerror(errno));
            visit(place->where, text, payload);
        }
        return;
    }
    handle = dlopen(place->library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle) {
        path = library_path(handle, place->library);
        visit(place->where, path ? path : place->library, payload);
        free(path);
        dlclose(handle); /* release the reference of the dlopen */
    } else {
        snprintf(text, sizeof text, "%s is not loaded%s", place->library,
                 place->only_if_loaded ? "" : ": only opening tells whether the loader knows it");
        visit(place->where, text, payload);
    }
}

void tj_nvrtc_search(const char *path, tj_nvrtc_visit visit, void *payload)
{
    tj_nvrtc_places places;

    if (tj_nvrtc_places_list(path, &places, NULL) != TJ_OK)
        return;
    for (size_t i = 0; i < places.count; i++)
        visit_place(&places.place[i], visit, payload);
    tj_nvrtc_places_drop(&places);
}

int tj_nvrtc_major(const tj_nvrtc *nvrtc)
{
    return nvrtc->major;
}

int tj_nvrtc_minor(const tj_nvrtc *nvrtc)
{
    return nvrtc->minor;
}

const char *tj_nvrtc_path(const tj_nvrtc *nvrtc)
{
    return nvrtc->path;
}

const char *tj_nvrtc_builtins_path(const tj_nvrtc *nvrtc)
{
    return nvrtc->builtins_path;
}

const char *const *tj_nvrtc_targets(const tj_nvrtc *nvrtc)
{
    return nvrtc->target;
}
