/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_nvrtc: a library with NVRTC's names that compiles nothing, at any speed and with any trouble.
 *
 * The environment controls it, so that a test can set it before it opens the library:
 *
 *     FAKE_NVRTC_VERSION=12.4            answer of nvrtcVersion; default 13.0
 *     FAKE_NVRTC_BUILD=12.3.107          the build that its PTX names; default 13.0.1
 *     FAKE_NVRTC_NEWEST=90               knows no target after that
 *     FAKE_NVRTC_UNKNOWN=--no-cache      refused options, separated by spaces
 *     FAKE_NVRTC_SLEEP_MS=200            time that a compile of anything but the empty text takes
 *     FAKE_NVRTC_TIMES=k10               multiply that time by the digit after this word in the source
 *     FAKE_NVRTC_NEEDS_BUILTINS=1        fail as NVRTC does unless libnvrtc-builtins.so.<version> is loaded
 *     FAKE_NVRTC_NO_BUILD=1              PTX without the line that names the build
 *     FAKE_NVRTC_EMPTY_PTX=1             succeed, with PTX of no length
 *     FAKE_NVRTC_NO_ENTRY=1              succeed, with PTX that lacks the kernel
 *     FAKE_NVRTC_SPILLS=skinny_|BLOCKS = 2   report spilled registers for a source that contains one of these words
 *     FAKE_NVRTC_NO_FLOW=1               compiles cannot be cancelled, as before CUDA 13
 *     FAKE_NVRTC_RESULT=11               result of every compile of anything but the empty text
 *
 * Text that contains "#error" does not compile. The exported counters are for the tests.
 */
#include <ctype.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { DONE = 0, OUT_OF_MEMORY = 1, INVALID_INPUT = 3, INVALID_OPTION = 5, COMPILATION = 6, BUILTINS = 7, CANCELLED = 16 };

typedef struct program {
    char *text, name[512], ptx[2048], log[1024], cubin[256];
    size_t cubin_bytes;
    int (*is_cancelled)(void *payload, void *unused);
    void *payload;
} program;

static atomic_int compiles, programs;
static atomic_size_t stack_bytes;

static bool is_set(const char *name)
{
    return getenv(name) != NULL;
}

EXPORT int fake_nvrtc_compiles(void)
{
    return compiles; /* of anything but the empty text */
}

EXPORT int fake_nvrtc_programs(void)
{
    return programs; /* created and not destroyed */
}

static bool spills(const char *text)
{
    const char *words = getenv("FAKE_NVRTC_SPILLS");
    char word[64];

    for (int length; words && sscanf(words, "%63[^|]%n", word, &length) == 1; words += length + (words[length] == '|'))
        if (strstr(text, word))
            return true;
    return false;
}

EXPORT size_t fake_nvrtc_stack_bytes(void)
{
    return stack_bytes; /* of the thread of the last compile */
}

EXPORT int nvrtcVersion(int *major, int *minor)
{
    const char *version = getenv("FAKE_NVRTC_VERSION");

    *major = 13;
    *minor = 0;
    return !version || sscanf(version, "%d.%d", major, minor) == 2 ? DONE : INVALID_INPUT;
}

EXPORT const char *nvrtcGetErrorString(int result)
{
    return result == 11 ? "NVRTC_ERROR_INTERNAL_ERROR" : "NVRTC_ERROR unknown";
}

/* Those that are known, in no order: nobody promised one. Returns their number. */
static int list_targets(int *target)
{
    static const int targets[] = {90, 75, 120, 80, 100};
    const char *newest = getenv("FAKE_NVRTC_NEWEST");
    int count = 0;

    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (!newest || targets[i] <= atoi(newest))
            target[count++] = targets[i];
    return count;
}

EXPORT int nvrtcGetNumSupportedArchs(int *count)
{
    int targets[5];

    *count = list_targets(targets);
    return DONE;
}

EXPORT int nvrtcGetSupportedArchs(int *target)
{
    (void)list_targets(target);
    return DONE;
}

EXPORT int nvrtcCreateProgram(program **out, const char *text, const char *name, int header_count, const char *const *header,
                              const char *const *header_name)
{
    (void)header, (void)header_name;
    if (!text || header_count < 0 || !(*out = calloc(1, sizeof **out)))
        return INVALID_INPUT;
    (*out)->text = strdup(text);
    snprintf((*out)->name, sizeof(*out)->name, "%s", name ? name : "default_program");
    programs++;
    return (*out)->text ? DONE : OUT_OF_MEMORY;
}

EXPORT int nvrtcDestroyProgram(program **out)
{
    free((*out)->text);
    free(*out);
    *out = NULL;
    programs--;
    return DONE;
}

/* The identifier before the first parameter list after __global__, launch bounds left out. */
static void find_kernel(const char *text, char name[128])
{
    const char *at = strstr(text, "__global__"), *open, *first;

    strcpy(name, "k");
    at = at ? at + strlen("__global__") : text;
    while ((open = strchr(at, '(')) != NULL) {
        const char *end = open;
        while (end > at && isspace((unsigned char)end[-1]))
            end--;
        for (first = end; first > at && (isalnum((unsigned char)first[-1]) || first[-1] == '_'); first--)
            ;
        if (strncmp(first, "__launch_bounds__", 17) != 0) {
            snprintf(name, 128, "%.*s", (int)(end - first), first);
            return;
        }
        at = strchr(open, ')');
        if (!at)
            return;
    }
}

static int find_loaded(struct dl_phdr_info *info, size_t size, void *payload)
{
    (void)size;
    return info->dlpi_name && strstr(info->dlpi_name, payload) != NULL;
}

static void note_stack(void)
{
    pthread_attr_t attributes;
    size_t size = 0;
    void *base;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    pthread_attr_getstack(&attributes, &base, &size);
    pthread_attr_destroy(&attributes);
    stack_bytes = size;
}

EXPORT int nvrtcSetFlowCallback(program *program, int (*is_cancelled)(void *payload, void *unused), void *payload)
{
    if (is_set("FAKE_NVRTC_NO_FLOW"))
        return INVALID_INPUT;
    program->is_cancelled = is_cancelled;
    program->payload = payload;
    return DONE;
}

/* False: cancelled. */
static bool take_time(const program *program, long ms)
{
    const char *word = getenv("FAKE_NVRTC_TIMES"), *at = word ? strstr(program->text, word) : NULL;
    const struct timespec moment = {0, 1000000};

    if (at)
        ms *= at[strlen(word)] - '0';
    for (long i = 0; i < ms; i++) {
        if (program->is_cancelled && program->is_cancelled(program->payload, NULL) != 0)
            return false;
        nanosleep(&moment, NULL);
    }
    return true;
}

EXPORT int nvrtcCompileProgram(program *program, int option_count, const char *const *option)
{
    const char *unknown = getenv("FAKE_NVRTC_UNKNOWN"), *sleep_ms = getenv("FAKE_NVRTC_SLEEP_MS");
    const char *result = getenv("FAKE_NVRTC_RESULT"), *build = getenv("FAKE_NVRTC_BUILD"), *target = "compute_75";
    bool is_probe = program->text[0] == '\0';
    char kernel[128], builtins[64], build_line[96] = "", file_line[600] = "";
    unsigned long hash = 5381;
    int major, minor;

    for (int i = 0; i < option_count; i++) {
        if (unknown && strstr(unknown, option[i])) {
            snprintf(program->log, sizeof program->log, "nvrtc: error: unrecognized option %s found\n", option[i]);
            return INVALID_OPTION;
        }
        if (strncmp(option[i], "--gpu-architecture=", 19) == 0)
            target = option[i] + 19;
        if (strcmp(option[i], "--generate-line-info") == 0)
            snprintf(file_line, sizeof file_line, "\t.file\t1 \"%s\"\n", program->name);
    }
    nvrtcVersion(&major, &minor);
    note_stack();
    compiles += !is_probe;
    if (sleep_ms && !is_probe && !take_time(program, atol(sleep_ms)))
        return CANCELLED;
    snprintf(builtins, sizeof builtins, "libnvrtc-builtins.so.%d.%d", major, minor);
    if (is_set("FAKE_NVRTC_NEEDS_BUILTINS") && !dl_iterate_phdr(find_loaded, builtins)) {
        snprintf(program->log, sizeof program->log, "nvrtc: error: failed to open %s.\n", builtins);
        return BUILTINS;
    }
    if (strstr(program->text, "#error")) {
        strcpy(program->log, "kernel.cu(1): warning #177-D: variable \"error\" was declared but never referenced\n"
                             "kernel.cu(3): error: #error directive: \033[31mas asked\n  #error as asked\n   ^\n\n"
                             "1 error detected in the compilation of \"kernel.cu\".\n");
        return COMPILATION;
    }
    if (result && !is_probe)
        return atoi(result);
    if (is_set("FAKE_NVRTC_EMPTY_PTX") && !is_probe)
        return DONE;
    find_kernel(program->text, kernel);
    for (const char *at = program->text; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    if (!is_set("FAKE_NVRTC_NO_BUILD"))
        snprintf(build_line, sizeof build_line, "// Cuda compilation tools, release 13.0, V%s\n", build ? build : "13.0.1");
    snprintf(program->ptx, sizeof program->ptx,
             "//\n// Generated by a fake of text %lx\n%s//\n.version 8.0\n.target %s\n.address_size 64\n"
             ".visible .entry %s(\n)\n{\n\tret;\n}\n%s",
             hash, build_line, target, is_set("FAKE_NVRTC_NO_ENTRY") ? "another" : kernel, file_line);
    if (strncmp(target, "sm_", 3) == 0) {
        program->cubin_bytes = (size_t)snprintf(program->cubin, sizeof program->cubin, "\177ELF fake %lx", hash);
        snprintf(program->log, sizeof program->log,
                 "ptxas info    : Compiling entry function '%s' for '%s'\nptxas info    : Function properties for %s\n"
                 "    %s\n"
                 "ptxas info    : Used 32 registers, used 1 barriers, 512 bytes smem, 400 bytes cmem[0]\n",
                 kernel, target, kernel,
                 spills(program->text) ? "8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads"
                                       : "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads");
    }
    return DONE;
}

EXPORT int nvrtcGetPTXSize(program *program, size_t *bytes)
{
    *bytes = strlen(program->ptx) + 1;
    return DONE;
}

EXPORT int nvrtcGetPTX(program *program, char *ptx)
{
    strcpy(ptx, program->ptx);
    return DONE;
}

EXPORT int nvrtcGetCUBINSize(program *program, size_t *bytes)
{
    *bytes = program->cubin_bytes;
    return DONE;
}

EXPORT int nvrtcGetCUBIN(program *program, char *cubin)
{
    memcpy(cubin, program->cubin, program->cubin_bytes);
    return DONE;
}

EXPORT int nvrtcGetProgramLogSize(program *program, size_t *bytes)
{
    *bytes = strlen(program->log) + 1;
    return DONE;
}

EXPORT int nvrtcGetProgramLog(program *program, char *log)
{
    strcpy(log, program->log);
    return DONE;
}
