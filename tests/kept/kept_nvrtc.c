/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_nvrtc: NVRTC that compiles a source with the same options once for all tests of a run, as ccache does.
 *
 * It forwards to the library that KEPT_NVRTC names, and keeps the results in the folder KEPT_NVRTC_FOLDER, which is only for this
 * library. Failures are not kept. KEPT_NVRTC_OFF=1: compile everything, for tests of events during a compilation.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define EXPORT __attribute__((visibility("default")))

enum { DONE = 0, OUT_OF_MEMORY = 1, INTERNAL_ERROR = 11 };
enum { PTX, CUBIN, LOG, PARTS };

typedef struct program {
    void *real; /* NULL: not made yet, or not needed */
    char *text, *name;
    char *part[PARTS];
    size_t bytes[PARTS];
    int (*is_cancelled)(void *payload, void *unused);
    void *payload;
} program;

static void *library;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void)
{
    const char *path = getenv("KEPT_NVRTC");

    library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "kept_nvrtc: KEPT_NVRTC names no NVRTC: %s\n", path ? dlerror() : "it is not set");
        abort();
    }
}

static void *find(const char *name)
{
    pthread_once(&once, open_library);
    return dlsym(library, name);
}

/* NVRTC's own functions that take no program. */
#define FORWARD(result, name, parameters, arguments) \
    EXPORT result name parameters                    \
    {                                                \
        result(*real) parameters = find(#name);      \
        return real arguments;                       \
    }

FORWARD(int, nvrtcVersion, (int *major, int *minor), (major, minor))
FORWARD(const char *, nvrtcGetErrorString, (int result), (result))
FORWARD(int, nvrtcGetNumSupportedArchs, (int *count), (count))
FORWARD(int, nvrtcGetSupportedArchs, (int *target), (target))

EXPORT int nvrtcDestroyProgram(program **place)
{
    int (*destroy)(void **) = find("nvrtcDestroyProgram");
    program *p = *place;

    if (p->real)
        destroy(&p->real);
    for (int i = 0; i < PARTS; i++)
        free(p->part[i]);
    free(p->text);
    free(p->name);
    free(p);
    *place = NULL;
    return DONE;
}

static int create(program *p, int headers, const char *const *header, const char *const *header_name)
{
    int (*real)(void **, const char *, const char *, int, const char *const *, const char *const *) =
        find("nvrtcCreateProgram");

    return real(&p->real, p->text, p->name, headers, header, header_name);
}

/* A source with headers is not kept. */
EXPORT int nvrtcCreateProgram(program **place, const char *text, const char *name, int headers, const char *const *header,
                              const char *const *header_name)
{
    program *p = calloc(1, sizeof *p);
    int result = DONE;

    if (!p)
        return OUT_OF_MEMORY;
    p->text = strdup(text);
    p->name = strdup(name ? name : "default_program");
    if (!p->text || !p->name)
        result = OUT_OF_MEMORY;
    if (result == DONE && headers)
        result = create(p, headers, header, header_name);
    *place = p;
    if (result != DONE)
        nvrtcDestroyProgram(place);
    return result;
}

EXPORT int nvrtcSetFlowCallback(program *p, int (*is_cancelled)(void *payload, void *unused), void *payload)
{
    p->is_cancelled = is_cancelled;
    p->payload = payload;
    return DONE;
}

/* ---- what is kept ----------------------------------------------------------------------------------------------------- */

static bool name_file(const program *p, int options, const char *const *option, char path[4096])
{
    const char *folder = getenv("KEPT_NVRTC_FOLDER");
    XXH3_state_t *state = XXH3_createState();
    XXH128_hash_t hash;

    if (!state || !folder || getenv("KEPT_NVRTC_OFF") || p->real) {
        XXH3_freeState(state);
        return false;
    }
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, p->name, strlen(p->name) + 1);
    XXH3_128bits_update(state, p->text, strlen(p->text) + 1);
    for (int i = 0; i < options; i++)
        XXH3_128bits_update(state, option[i], strlen(option[i]) + 1);
    hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    return snprintf(path, 4096, "%s/%016llx%016llx", folder, (unsigned long long)hash.high64, (unsigned long long)hash.low64) <
           4096;
}

static bool take_kept(program *p, const char *path)
{
    FILE *file = fopen(path, "rb");
    bool is_whole = file && fread(p->bytes, sizeof p->bytes, 1, file) == 1;

    for (int i = 0; is_whole && i < PARTS; i++) {
        p->part[i] = malloc(p->bytes[i] + 1);
        is_whole = p->part[i] && fread(p->part[i], 1, p->bytes[i], file) == p->bytes[i];
    }
    if (file)
        fclose(file);
    return is_whole;
}

/* Whole under its name, or not at all. */
static void keep(const program *p, const char *path)
{
    char beside[4200];
    FILE *file;
    int descriptor;
    bool is_whole;

    snprintf(beside, sizeof beside, "%s.XXXXXX", path);
    descriptor = mkstemp(beside);
    if (descriptor < 0)
        return;
    file = fdopen(descriptor, "wb");
    is_whole = file && fwrite(p->bytes, sizeof p->bytes, 1, file) == 1;
    for (int i = 0; is_whole && i < PARTS; i++)
        is_whole = fwrite(p->part[i], 1, p->bytes[i], file) == p->bytes[i];
    if (file)
        is_whole = fclose(file) == 0 && is_whole;
    if (!is_whole || rename(beside, path) != 0)
        unlink(beside);
}

static bool read_part(program *p, int part, const char *size_name, const char *name)
{
    int (*size)(void *, size_t *) = find(size_name), (*get)(void *, char *) = find(name);

    if (size(p->real, &p->bytes[part]) != DONE)
        p->bytes[part] = 0;
    p->part[part] = calloc(1, p->bytes[part] + 1);
    return p->part[part] && (p->bytes[part] == 0 || get(p->real, p->part[part]) == DONE);
}

EXPORT int nvrtcCompileProgram(program *p, int options, const char *const *option)
{
    int (*compile)(void *, int, const char *const *) = find("nvrtcCompileProgram");
    int (*set_flow)(void *, int (*)(void *, void *), void *) = find("nvrtcSetFlowCallback");
    char path[4096];
    const bool may_be_kept = name_file(p, options, option, path);
    int result = DONE;
    bool is_whole;

    if (may_be_kept && take_kept(p, path))
        return DONE;
    for (int i = 0; i < PARTS; i++) {
        free(p->part[i]);
        p->part[i] = NULL;
    }
    if (!p->real)
        result = create(p, 0, NULL, NULL);
    if (result != DONE)
        return result;
    if (set_flow && p->is_cancelled)
        set_flow(p->real, p->is_cancelled, p->payload);
    result = compile(p->real, options, option);
    is_whole = read_part(p, PTX, "nvrtcGetPTXSize", "nvrtcGetPTX");
    is_whole = read_part(p, CUBIN, "nvrtcGetCUBINSize", "nvrtcGetCUBIN") && is_whole;
    is_whole = read_part(p, LOG, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog") && is_whole;
    if (result == DONE && is_whole && may_be_kept)
        keep(p, path);
    return result == DONE && !is_whole ? INTERNAL_ERROR : result;
}

#define PART(number, size_name, name)                     \
    EXPORT int size_name(const program *p, size_t *bytes) \
    {                                                     \
        *bytes = p->bytes[number];                        \
        return p->part[number] ? DONE : INTERNAL_ERROR;   \
    }                                                     \
    EXPORT int name(const program *p, char *to)           \
    {                                                     \
        memcpy(to, p->part[number], p->bytes[number]);    \
        return DONE;                                      \
    }

PART(PTX, nvrtcGetPTXSize, nvrtcGetPTX)
PART(CUBIN, nvrtcGetCUBINSize, nvrtcGetCUBIN)
PART(LOG, nvrtcGetProgramLogSize, nvrtcGetProgramLog)
