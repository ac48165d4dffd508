/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * NVRTC: found, opened, probed, and called. Most tests use a library that pretends to be NVRTC; those of real_nvrtc use
 * the machine's own, and say so if there is none.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvrtc.h"
#include "nvrtc_search.h"

static const char KERNEL[] =
    "extern \"C\" __global__ void k(float *p) { __shared__ float s[128]; s[threadIdx.x] = p[threadIdx.x]; "
    "__syncthreads(); p[threadIdx.x] = s[127 - threadIdx.x]; }\n";

static const char *const NO_VARIABLES[] = {"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "XDG_DATA_HOME", "HOME"};

/* ---- a machine with nothing on it: the linker takes these before libc's ------------------------------------------ */

static bool is_bare_machine;

void *dlopen(const char *name, int flags)
{
    void *(*real)(const char *, int);
    void *address = dlsym(RTLD_NEXT, "dlopen");

    if (is_bare_machine)
        return NULL;
    memcpy(&real, &address, sizeof real);
    return real(name, flags);
}

int scandir(const char *folder, struct dirent ***entries, int (*filter)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **))
{
    int (*real)(const char *, struct dirent ***, int (*)(const struct dirent *),
                int (*)(const struct dirent **, const struct dirent **));
    void *address = dlsym(RTLD_NEXT, "scandir");

    if (is_bare_machine) {
        *entries = NULL;
        errno = ENOENT;
        return -1;
    }
    memcpy(&real, &address, sizeof real);
    return real(folder, entries, filter, compare);
}

enum { REPORT_BYTES = 65536 };

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static const tj_nvrtc *open_fake(void)
{
    const tj_nvrtc *nvrtc = NULL;
    tj_error err = {0};

    cr_assert(eq(int, tj_nvrtc_open(FAKE_NVRTC_PATH, 0, NULL, &nvrtc, &err), TJ_OK), "%s", err.message);
    return nvrtc;
}

static int fake_count(const char *name)
{
    void *handle = dlopen(FAKE_NVRTC_PATH, RTLD_NOW);
    int (*count)(void);
    void *address = dlsym(handle, name);

    memcpy(&count, &address, sizeof count);
    return count();
}

static const tj_nvrtc *open_real(void)
{
    const tj_nvrtc *nvrtc = NULL;
    tj_error err = {0};

    if (tj_nvrtc_open(NULL, 0, NULL, &nvrtc, &err) == TJ_OK)
        return nvrtc;
    cr_assert(getenv("TILEJIT_REQUIRE_NVRTC") == NULL, "NVRTC is required: %s", err.message);
    printf("SKIPPED, no NVRTC here: %s\n", err.message);
    cr_skip_test("no NVRTC");
    return NULL;
}

static void beside_the_fake(char path[PATH_MAX], const char *name)
{
    const char *slash = strrchr(FAKE_NVRTC_PATH, '/');

    snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - FAKE_NVRTC_PATH), FAKE_NVRTC_PATH, name);
}

static void copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char bytes[65536];
    size_t count;

    cr_assert(in && out, "%s -> %s", from, to);
    while ((count = fread(bytes, 1, sizeof bytes, in)) > 0)
        cr_assert(fwrite(bytes, 1, count, out) == count);
    fclose(in);
    cr_assert(fclose(out) == 0);
}

static void make_folders(char path[PATH_MAX], const char *root, const char *below)
{
    snprintf(path, PATH_MAX, "%s/%s", root, below);
    for (char *at = path + strlen(root) + 1; at; at = strchr(at + 1, '/')) {
        if (*at == '/')
            *at = '\0';
        mkdir(path, 0700);
        if (strlen(path) < strlen(root) + 1 + strlen(below))
            *at = '/';
    }
    mkdir(path, 0700);
}

static void make_empty_file(const char *folder, const char *name)
{
    char path[PATH_MAX];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    cr_assert(file != NULL, "%s", path);
    fclose(file);
}

static void remove_folder(const char *folder)
{
    char command[PATH_MAX + 16];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert(system(command) == 0);
}

static bool ended_well(int how)
{
    return WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

#define expect_in(text, part) cr_expect(strstr((text), (part)) != NULL, "no \"%s\" in: %s", (part), (text))
#define expect_not_in(text, part) cr_expect(strstr((text), (part)) == NULL, "\"%s\" in: %s", (part), (text))

/* ---- opening ----------------------------------------------------------------------------------------------------- */

Test(nvrtc_open, names_the_explicit_path_that_is_not_there)
{
    const tj_nvrtc *nvrtc = NULL;
    tj_error err = {0};

    cr_assert(eq(int, tj_nvrtc_open("/no/such/libnvrtc.so.13", 0, NULL, &nvrtc, &err), TJ_ERR_NO_COMPILER));
    cr_expect(nvrtc == NULL);
    expect_in(err.message, "/no/such/libnvrtc.so.13");
    expect_in(err.message, "TILEJIT_NVRTC");
    expect_in(err.message, "pip install nvidia-cuda-nvrtc");
}

Test(nvrtc_open, names_a_path_that_is_empty_too_long_or_a_folder)
{
    char longest[2 * PATH_MAX];
    const tj_nvrtc *nvrtc;
    tj_error err;

    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    const char *const rows[] = {"", "/tmp", longest, "\xff\n"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memset(&err, 0, sizeof err);
        cr_expect(eq(int, tj_nvrtc_open(rows[i], 0, NULL, &nvrtc, &err), TJ_ERR_NO_COMPILER), "row %zu", i);
        cr_expect(err.message[0] != '\0', "row %zu", i);
    }
}

Test(nvrtc_open, names_a_file_that_is_no_library)
{
    char path[] = "/tmp/tilejit-garbage-XXXXXX";
    const tj_nvrtc *nvrtc;
    tj_error err = {0};
    int fd = mkstemp(path);

    cr_assert(write(fd, "this is no library at all, and never was one", 44) == 44);
    close(fd);
    cr_expect(eq(int, tj_nvrtc_open(path, 0, NULL, &nvrtc, &err), TJ_ERR_NO_COMPILER));
    expect_in(err.message, path);
    unlink(path);
}

Test(nvrtc_open, names_the_function_that_a_library_lacks)
{
    char path[PATH_MAX];
    const tj_nvrtc *nvrtc;
    tj_error err = {0};

    beside_the_fake(path, "libfake_nvrtc_incomplete.so");
    cr_expect(eq(int, tj_nvrtc_open(path, 0, NULL, &nvrtc, &err), TJ_ERR_NO_COMPILER));
    expect_in(err.message, "libfake_nvrtc_incomplete.so");
    expect_in(err.message, "nvrtcGetErrorString");

    cr_expect(eq(int, tj_nvrtc_open("libc.so.6", 0, NULL, &nvrtc, &err), TJ_ERR_NO_COMPILER));
    expect_in(err.message, "nvrtcVersion");
}

Test(nvrtc_open, names_a_version_that_is_too_old)
{
    static const char *const rows[] = {"10.2", "11.1", "11.0", "9.0"};
    const tj_nvrtc *nvrtc;
    tj_error err = {0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setenv("FAKE_NVRTC_VERSION", rows[i], 1);
        cr_expect(eq(int, tj_nvrtc_open(FAKE_NVRTC_PATH, 0, NULL, &nvrtc, &err), TJ_ERR_NO_COMPILER), "row %s", rows[i]);
        expect_in(err.message, rows[i]);
        expect_in(err.message, "too old");
    }
    /* A failure is not remembered. */
    setenv("FAKE_NVRTC_VERSION", "11.2", 1);
    cr_expect(eq(int, tj_nvrtc_open(FAKE_NVRTC_PATH, 0, NULL, &nvrtc, &err), TJ_OK), "%s", err.message);
}

Test(nvrtc_open, gives_one_table_for_one_library)
{
    char other[PATH_MAX];
    const tj_nvrtc *again, *first = open_fake();

    beside_the_fake(other, "./libfake_nvrtc.so");
    cr_assert(eq(int, tj_nvrtc_open(FAKE_NVRTC_PATH, 12000, NULL, &again, NULL), TJ_OK));
    cr_expect(again == first);
    cr_assert(eq(int, tj_nvrtc_open(other, 0, NULL, &again, NULL), TJ_OK));
    cr_expect(again == first);
    cr_expect(eq(int, tj_nvrtc_major(first), 13));
    cr_expect(eq(int, tj_nvrtc_minor(first), 0));
    expect_in(tj_nvrtc_path(first), "libfake_nvrtc.so");
}

Test(nvrtc_open, lists_every_place_and_the_remedy_on_a_bare_machine)
{
    const tj_nvrtc *nvrtc;
    tj_error err = {0};

    for (size_t i = 0; i < sizeof NO_VARIABLES / sizeof NO_VARIABLES[0]; i++)
        unsetenv(NO_VARIABLES[i]);
    setenv("CUDA_PATH", "/opt/nothing/here", 1);
    is_bare_machine = true;
    cr_assert(eq(int, tj_nvrtc_open(NULL, 13000, NULL, &nvrtc, &err), TJ_ERR_NO_COMPILER));
    expect_in(err.message, "already loaded");
    expect_in(err.message, "the loader's path");
    expect_in(err.message, "CUDA_HOME (not set)");
    expect_in(err.message, "CUDA_PATH=/opt/nothing/here");
    expect_in(err.message, "/usr/local/cuda");
    expect_in(err.message, "pip install nvidia-cuda-nvrtc");
    expect_in(err.message, "TILEJIT_NVRTC");
}

Test(nvrtc_open, keeps_the_remedy_however_long_the_places_are)
{
    char longest[1500];
    const tj_nvrtc *nvrtc;
    tj_error err = {0};

    memset(longest, 'y', sizeof longest);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    for (size_t i = 0; i < sizeof NO_VARIABLES / sizeof NO_VARIABLES[0]; i++)
        setenv(NO_VARIABLES[i], longest, 1);
    is_bare_machine = true;
    cr_assert(eq(int, tj_nvrtc_open(NULL, 0, NULL, &nvrtc, &err), TJ_ERR_NO_COMPILER));
    expect_in(err.message, "more");
    expect_in(err.message, "pip install nvidia-cuda-nvrtc");
    expect_in(err.message, "libnvrtc.so.NN");
}

/* ---- searching --------------------------------------------------------------------------------------------------- */

Test(nvrtc_search, looks_into_the_layouts_of_toolkits_wheels_and_conda)
{
    static const struct {
        const char *variable, *below;
    } rows[] = {
        {"CUDA_HOME", "lib64"},
        {"CUDA_PATH", "lib"},
        {"CUDA_HOME", "targets/x86_64-linux/lib"},
        {"VIRTUAL_ENV", "lib/python3.11/site-packages/nvidia/cu13/lib"},
        {"VIRTUAL_ENV", "lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib"},
        {"CONDA_PREFIX", "lib"},
        {"CONDA_PREFIX", "lib/python3.12/site-packages/nvidia/cu13/lib"},
        {"XDG_DATA_HOME", "tilejit/nvrtc"},
        {"XDG_DATA_HOME", "tilejit/nvrtc/nvidia/cu13/lib"},
        {"XDG_DATA_HOME", "tilejit/nvrtc/lib/python3.11/site-packages/nvidia/cu13/lib"},
        {"XDG_DATA_HOME", "tilejit/python/lib/python3.11/site-packages/nvidia/cu13/lib"},
        {"HOME", ".local/share/tilejit/python/lib/python3.13/site-packages/nvidia/cu13/lib"},
        {"HOME", ".local/share/tilejit/nvrtc/nvidia/cuda_nvrtc/lib"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char root[] = "/tmp/tilejit-search-XXXXXX", folder[PATH_MAX], expected[PATH_MAX];
        tj_nvrtc_places places;
        int found = 0;
        cr_assert(mkdtemp(root) != NULL);
        for (size_t v = 0; v < sizeof NO_VARIABLES / sizeof NO_VARIABLES[0]; v++)
            unsetenv(NO_VARIABLES[v]);
        setenv(rows[i].variable, root, 1);
        make_folders(folder, root, rows[i].below);
        make_empty_file(folder, "libnvrtc.so.13");
        make_empty_file(folder, "libnvrtc.alt.so.13");
        make_empty_file(folder, "libnvrtc-builtins.so.13.0");
        snprintf(expected, sizeof expected, "%.1000s/libnvrtc.so.13", folder);

        cr_assert(eq(int, tj_nvrtc_places_list(NULL, &places, NULL), TJ_OK));
        for (size_t p = 0; p < places.count; p++) {
            const tj_nvrtc_place *place = &places.place[p];
            if (place->library && strncmp(place->library, root, strlen(root)) == 0) {
                found++;
                cr_expect(eq(str, place->library, expected), "row %zu", i);
                cr_expect(eq(int, place->major, 13), "row %zu", i);
            }
        }
        cr_expect(eq(int, found, 1), "row %zu (%s, %s)", i, rows[i].variable, rows[i].below);
        tj_nvrtc_places_drop(&places);
        cr_assert(eq(int, tj_nvrtc_places_list("system", &places, NULL), TJ_OK));
        cr_expect(places.count > 3, "the loader's path and toolkits");
        for (size_t p = 0; p < places.count; p++)
            cr_expect(places.place[p].library == NULL || strncmp(places.place[p].library, root, strlen(root)) != 0, "row %zu",
                      i);
        tj_nvrtc_places_drop(&places);
        remove_folder(root);
    }
}

Test(nvrtc_search, takes_each_major_version_of_a_folder_once_newest_first)
{
    static const char *const names[] = {"libnvrtc.so",          "libnvrtc.so.11.2",    "libnvrtc.so.11.8.89", "libnvrtc.so.12",
                                        "libnvrtc.so.12.4.127", "libnvrtc.so.13.0.88", "libnvrtc.alt.so.14",  "libnvrtc.so.bak",
                                        "libnvrtc.so.",         "libnvrtc_static.a"};
    static const char *const expected[] = {"libnvrtc.so.13.0.88", "libnvrtc.so.12", "libnvrtc.so.11.2"};
    char root[] = "/tmp/tilejit-search-XXXXXX", folder[PATH_MAX];
    tj_nvrtc_places places;
    size_t found = 0;

    cr_assert(mkdtemp(root) != NULL);
    make_folders(folder, root, "lib64");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        make_empty_file(folder, names[i]);
    setenv("CUDA_HOME", root, 1);
    cr_assert(eq(int, tj_nvrtc_places_list(NULL, &places, NULL), TJ_OK));
    for (size_t i = 0; i < places.count; i++) {
        const char *library = places.place[i].library;
        if (!library || strncmp(library, root, strlen(root)) != 0)
            continue;
        cr_assert(found < 3, "unexpected %s", library);
        cr_expect(eq(str, (char *)strrchr(library, '/') + 1, (char *)expected[found]));
        found++;
    }
    cr_expect(eq(sz, found, 3));
    tj_nvrtc_places_drop(&places);
    remove_folder(root);
}

/* A toolkit of its own in root/lib64: the fake, under the name of a version. */
static void make_toolkit(const char *root, const char *library, const char *builtins)
{
    char folder[PATH_MAX], path[PATH_MAX], empty[PATH_MAX];

    make_folders(folder, root, "lib64");
    snprintf(path, sizeof path, "%.1000s/%s", folder, library);
    copy_file(FAKE_NVRTC_PATH, path);
    if (builtins) {
        beside_the_fake(empty, "libfake_nvrtc_incomplete.so");
        snprintf(path, sizeof path, "%.1000s/%s", folder, builtins);
        copy_file(empty, path);
    }
}

Test(nvrtc_search, prefers_a_version_that_the_driver_knows)
{
    char root[] = "/tmp/tilejit-search-XXXXXX";
    const tj_nvrtc *nvrtc = NULL;
    tj_error err = {0};

    cr_assert(mkdtemp(root) != NULL);
    make_toolkit(root, "libnvrtc.so.11.2", "libnvrtc-builtins.so.11.7");
    setenv("FAKE_NVRTC_VERSION", "11.7", 1);
    setenv("CUDA_HOME", root, 1);
    cr_assert(eq(int, tj_nvrtc_open(NULL, 11070, NULL, &nvrtc, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_nvrtc_major(nvrtc), 11));
    expect_in(tj_nvrtc_path(nvrtc), root);
    remove_folder(root);
}

static char warning[1024];

static void keep_warning(tj_log_level level, const char *line, void *payload)
{
    (void)payload;
    if (level == TJ_LOG_WARNING)
        snprintf(warning, sizeof warning, "%s", line);
}

Test(nvrtc_search, takes_a_newer_version_than_the_driver_only_with_a_warning)
{
    tj_log log = {TJ_LOG_WARNING, keep_warning, NULL};
    char root[] = "/tmp/tilejit-search-XXXXXX";
    const tj_nvrtc *nvrtc = NULL;
    tj_error err = {0};

    /* For a driver of CUDA 10 every usable NVRTC is newer. */
    cr_assert(mkdtemp(root) != NULL);
    make_toolkit(root, "libnvrtc.so.99", "libnvrtc-builtins.so.99.0");
    setenv("FAKE_NVRTC_VERSION", "99.0", 1);
    setenv("CUDA_HOME", root, 1);
    cr_assert(eq(int, tj_nvrtc_open(NULL, 10020, &log, &nvrtc, &err), TJ_OK), "%s", err.message);
    cr_expect(tj_nvrtc_major(nvrtc) > 10);
    expect_in(warning, "newer than the driver");
    expect_in(warning, "CUDA 10");
    remove_folder(root);
}

static void append_line(const char *place, const char *what, void *payload)
{
    char *report = payload;
    size_t length = strlen(report);

    snprintf(report + length, REPORT_BYTES - length, "%s: %s\n", place, what);
}

Test(nvrtc_search, visits_every_place_with_what_is_there)
{
    char root[] = "/tmp/tilejit-search-XXXXXX";
    char report[REPORT_BYTES] = "";

    cr_assert(mkdtemp(root) != NULL);
    make_toolkit(root, "libnvrtc.so.11.2", NULL);
    setenv("CUDA_HOME", root, 1);
    unsetenv("CONDA_PREFIX");
    tj_nvrtc_search(NULL, append_line, report);
    expect_in(report, "CONDA_PREFIX: not set");
    expect_in(report, "lib64/libnvrtc.so.11.2");
    expect_in(report, "already loaded: ");
    report[0] = '\0';
    tj_nvrtc_search("/no/such/file", append_line, report);
    expect_in(report, "the given path: /no/such/file: No such file");
    remove_folder(root);
}

/* ---- builtins ---------------------------------------------------------------------------------------------------- */

Test(nvrtc_builtins, are_opened_from_the_folder_of_the_library)
{
    char root[] = "/tmp/tilejit-search-XXXXXX", path[PATH_MAX];
    const tj_nvrtc *nvrtc;
    const char *identity;
    tj_error err = {0};

    cr_assert(mkdtemp(root) != NULL);
    make_toolkit(root, "libnvrtc.so.99", "libnvrtc-builtins.so.99.1");
    setenv("FAKE_NVRTC_VERSION", "99.1", 1);
    setenv("FAKE_NVRTC_NEEDS_BUILTINS", "1", 1);
    snprintf(path, sizeof path, "%s/lib64/libnvrtc.so.99", root);
    cr_assert(eq(int, tj_nvrtc_open(path, 0, NULL, &nvrtc, &err), TJ_OK), "%s", err.message);
    expect_in(tj_nvrtc_builtins_path(nvrtc), "lib64/libnvrtc-builtins.so.99.1");
    cr_expect(eq(int, tj_nvrtc_identity(nvrtc, &identity, &err), TJ_OK), "%s", err.message);
    remove_folder(root);
}

Test(nvrtc_builtins, are_named_when_they_are_missing)
{
    char root[] = "/tmp/tilejit-search-XXXXXX", path[PATH_MAX];
    tj_log log = {TJ_LOG_WARNING, keep_warning, NULL};
    tj_compiled compiled;
    const tj_nvrtc *nvrtc;
    tj_error err = {0};

    cr_assert(mkdtemp(root) != NULL);
    make_toolkit(root, "libnvrtc.so.99", NULL);
    setenv("FAKE_NVRTC_VERSION", "99.1", 1);
    setenv("FAKE_NVRTC_NEEDS_BUILTINS", "1", 1);
    snprintf(path, sizeof path, "%s/lib64/libnvrtc.so.99", root);
    cr_assert(eq(int, tj_nvrtc_open(path, 0, &log, &nvrtc, &err), TJ_OK), "%s", err.message);
    cr_expect(tj_nvrtc_builtins_path(nvrtc) == NULL);
    expect_in(warning, "libnvrtc-builtins.so.99.1");
    cr_expect(
        eq(int, tj_nvrtc_compile(nvrtc, KERNEL, strlen(KERNEL), "kernel.cu", "sm_90", 0, &compiled, &err), TJ_ERR_NO_COMPILER));
    expect_in(err.message, "libnvrtc-builtins.so.99.1");
    expect_in(err.message, path);
    expect_in(err.message, "pip install");
    tj_compiled_drop(&compiled);

    /* Installed after all, the same table works. */
    make_toolkit(root, "libnvrtc.so.98", "libnvrtc-builtins.so.99.1");
    cr_assert(eq(int, tj_nvrtc_open(path, 0, &log, &nvrtc, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_nvrtc_compile(nvrtc, KERNEL, strlen(KERNEL), "kernel.cu", "sm_90", 0, &compiled, &err), TJ_OK), "%s",
              err.message);
    tj_compiled_drop(&compiled);
    remove_folder(root);
}

/* ---- probing, options, targets ----------------------------------------------------------------------------------- */

Test(nvrtc_options, ask_only_for_what_the_version_knows)
{
    static const struct {
        const char *unknown, *target, *options;
    } rows[] = {
        {"", "sm_90",
         "--gpu-architecture=sm_90\n-std=c++17\n--no-source-include\n--diag-suppress=177\n--minimal\n--no-cache\n-Xptxas=-v\n"},
        {"--no-cache", "sm_90a",
         "--gpu-architecture=sm_90a\n-std=c++17\n--no-source-include\n--diag-suppress=177\n--minimal\n-Xptxas=-v\n"},
        {"--no-cache --minimal", "compute_75",
         "--gpu-architecture=compute_75\n-std=c++17\n--no-source-include\n--diag-suppress=177\n"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char options[512];
        /* One library is probed once: a process for each row. */
        pid_t child = fork();
        if (child == 0) {
            setenv("FAKE_NVRTC_UNKNOWN", rows[i].unknown, 1);
            if (tj_nvrtc_options(open_fake(), rows[i].target, 0, options, NULL) != TJ_OK)
                _exit(2);
            _exit(strcmp(options, rows[i].options) == 0 ? 0 : 1);
        }
        int how = 0;
        cr_assert(eq(int, waitpid(child, &how, 0), child));
        cr_expect(ended_well(how), "row %zu: status 0x%x", i, (unsigned)how);
    }
}

Test(nvrtc_options, accept_listed_targets_and_nothing_else)
{
    static const struct {
        const char *target;
        tj_status want;
    } rows[] = {
        {"sm_75", TJ_OK},
        {"sm_90", TJ_OK},
        {"sm_90a", TJ_OK},
        {"sm_100f", TJ_OK},
        {"sm_120a", TJ_OK},
        {"compute_90", TJ_OK},
        {"sm_90f", TJ_ERR_INVALID_ARGUMENT},
        {"sm_80a", TJ_ERR_INVALID_ARGUMENT},
        {"sm_70", TJ_ERR_INVALID_ARGUMENT},
        {"compute_90a", TJ_OK},
        {"compute_80a", TJ_ERR_INVALID_ARGUMENT},
        {"compute_90f", TJ_ERR_INVALID_ARGUMENT},
        {"sm_090", TJ_ERR_INVALID_ARGUMENT},
        {"sm_9", TJ_ERR_INVALID_ARGUMENT},
        {"sm_", TJ_ERR_INVALID_ARGUMENT},
        {"", TJ_ERR_INVALID_ARGUMENT},
        {"90", TJ_ERR_INVALID_ARGUMENT},
        {"SM_90", TJ_ERR_INVALID_ARGUMENT},
        {" sm_90", TJ_ERR_INVALID_ARGUMENT},
        {"sm_90 ", TJ_ERR_INVALID_ARGUMENT},
        {"sm_90\n-include=/etc/passwd", TJ_ERR_INVALID_ARGUMENT},
        {"sm_90 -G", TJ_ERR_INVALID_ARGUMENT},
        {"sm_90aa", TJ_ERR_INVALID_ARGUMENT},
        {"sm_-75", TJ_ERR_INVALID_ARGUMENT},
        {"sm_99999999999999999999", TJ_ERR_INVALID_ARGUMENT},
        {"native", TJ_ERR_INVALID_ARGUMENT},
        {"lto_90", TJ_ERR_INVALID_ARGUMENT},
    };
    const tj_nvrtc *nvrtc = open_fake();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char options[512];
        tj_error err = {0};
        cr_expect(eq(int, tj_nvrtc_options(nvrtc, rows[i].target, 0, options, &err), rows[i].want), "row %s: %s",
                  rows[i].target, err.message);
        if (rows[i].want != TJ_OK)
            expect_in(err.message, "sm_75 sm_80 sm_90 sm_100 sm_120");
    }
}

Test(nvrtc_identity, is_version_and_build)
{
    const char *identity = NULL;
    tj_error err = {0};

    cr_assert(eq(int, tj_nvrtc_identity(open_fake(), &identity, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)identity, "13.0 V13.0.1"));
    cr_expect(eq(int, fake_count("fake_nvrtc_programs"), 0));
}

Test(nvrtc_identity, falls_back_on_the_file_where_the_build_is_not_told)
{
    const char *identity = NULL;

    setenv("FAKE_NVRTC_NO_BUILD", "1", 1);
    cr_assert(eq(int, tj_nvrtc_identity(open_fake(), &identity, NULL), TJ_OK));
    cr_expect(strncmp(identity, "13.0 file ", 10) == 0 && strlen(identity) > 20, "%s", identity);
}

Test(nvrtc_targets, are_sorted)
{
    static const char *const expected[] = {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"};
    const char *const *target = tj_nvrtc_targets(open_fake());

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        cr_expect(eq(str, (char *)target[i], (char *)expected[i]));
    cr_expect(target[5] == NULL);
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

Test(nvrtc_compile, refuses_bytes_that_nvrtc_takes_for_the_end)
{
    static const struct {
        const char *text;
        size_t bytes;
        const char *named;
    } rows[] = {
        {"int a;\nint \0b;", 14, "0x00 in line 2"},
        {"// \xff\n", 5, "0xff in line 1"},
        {"\n\n// \xc3\xa4\n", 9, "0xc3 in line 3"},
        {"\x80", 1, "0x80 in line 1"},
    };
    const tj_nvrtc *nvrtc = open_fake();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_compiled compiled;
        tj_error err = {0};
        cr_expect(eq(int, tj_nvrtc_compile(nvrtc, rows[i].text, rows[i].bytes, "kernel.cu", "sm_90", 0, &compiled, &err),
                     TJ_ERR_INVALID_ARGUMENT),
                  "row %zu", i);
        expect_in(err.message, rows[i].named);
        tj_compiled_drop(&compiled);
    }
    cr_expect(eq(int, fake_count("fake_nvrtc_compiles"), 0));
}

Test(nvrtc_compile, reports_the_first_error_and_keeps_the_whole_log)
{
    static const char text[] = "extern \"C\" __global__ void k() {}\n#error as asked\n";
    tj_compiled compiled;
    tj_error err = {0};

    cr_assert(
        eq(int, tj_nvrtc_compile(open_fake(), text, strlen(text), "kernel.cu", "sm_90", 0, &compiled, &err), TJ_ERR_COMPILE));
    cr_expect(eq(str, err.message, "kernel.cu(3): error: #error directive: \\x1b[31mas asked"));
    expect_in(compiled.log, "1 error detected");
    expect_in(compiled.log, "warning #177-D");
    cr_expect(compiled.ptx == NULL && compiled.cubin == NULL);
    tj_compiled_drop(&compiled);
    cr_expect(eq(int, fake_count("fake_nvrtc_programs"), 0));
}

Test(nvrtc_compile, names_results_that_come_without_a_log)
{
    tj_compiled compiled;
    tj_error err = {0};

    setenv("FAKE_NVRTC_RESULT", "11", 1);
    cr_expect(eq(int, tj_nvrtc_compile(open_fake(), KERNEL, strlen(KERNEL), "kernel.cu", "sm_90", 0, &compiled, &err),
                 TJ_ERR_COMPILE));
    expect_in(err.message, "NVRTC_ERROR_INTERNAL_ERROR");
    cr_expect(compiled.log != NULL);
    tj_compiled_drop(&compiled);
    setenv("FAKE_NVRTC_RESULT", "1", 1);
    cr_expect(eq(int, tj_nvrtc_compile(open_fake(), KERNEL, strlen(KERNEL), "kernel.cu", "sm_90", 0, &compiled, &err),
                 TJ_ERR_OUT_OF_MEMORY));
    tj_compiled_drop(&compiled);
    cr_expect(eq(int, fake_count("fake_nvrtc_programs"), 0));
}

Test(nvrtc_compile, takes_success_without_a_product_for_a_failure)
{
    tj_compiled compiled;
    tj_error err = {0};

    setenv("FAKE_NVRTC_EMPTY_PTX", "1", 1);
    cr_expect(eq(int, tj_nvrtc_compile(open_fake(), KERNEL, strlen(KERNEL), "kernel.cu", "sm_90", 0, &compiled, &err),
                 TJ_ERR_INTERNAL));
    expect_in(err.message, "no PTX");
    tj_compiled_drop(&compiled);
}

Test(nvrtc_compile, runs_on_a_stack_of_16_mib)
{
    tj_compiled compiled;
    void *handle = dlopen(FAKE_NVRTC_PATH, RTLD_NOW), *address = dlsym(handle, "fake_nvrtc_stack_bytes");
    size_t (*stack_bytes)(void);

    memcpy(&stack_bytes, &address, sizeof stack_bytes);
    cr_assert(eq(int, tj_nvrtc_compile(open_fake(), KERNEL, strlen(KERNEL), "kernel.cu", "sm_90", 0, &compiled, NULL), TJ_OK));
    tj_compiled_drop(&compiled);
    cr_expect(stack_bytes() >= 16 * 1024 * 1024 - 65536, "%zu bytes", stack_bytes());
}

/* Text need not end in a NUL: what follows it is not compiled. */
Test(nvrtc_compile, reads_no_further_than_the_text)
{
    static const char text[] = "extern \"C\" __global__ void k() {}\n#error not part of it";
    tj_compiled compiled;
    tj_error err = {0};

    cr_expect(eq(int, tj_nvrtc_compile(open_fake(), text, 34, "kernel.cu", "sm_90", 0, &compiled, &err), TJ_OK), "%s",
              err.message);
    tj_compiled_drop(&compiled);
}

static void *compile_once(void *payload)
{
    tj_compiled compiled;

    (void)payload;
    if (tj_nvrtc_compile(open_fake(), KERNEL, strlen(KERNEL), "kernel.cu", "sm_90", 0, &compiled, NULL) == TJ_OK)
        tj_compiled_drop(&compiled);
    return NULL;
}

Test(nvrtc_fork, answers_in_a_child_that_was_forked_during_a_compile)
{
    const tj_nvrtc *nvrtc = open_fake();
    const char *identity;
    pthread_t thread;
    int how = 0;

    cr_assert(eq(int, tj_nvrtc_identity(nvrtc, &identity, NULL), TJ_OK));
    setenv("FAKE_NVRTC_SLEEP_MS", "500", 1);
    cr_assert(pthread_create(&thread, NULL, compile_once, NULL) == 0);
    while (fake_count("fake_nvrtc_compiles") == 0)
        usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        tj_compiled compiled;
        tj_error err = {0};
        char options[512];
        const tj_nvrtc *other;
        alarm(20);
        _exit(tj_nvrtc_compile(nvrtc, KERNEL, strlen(KERNEL), "kernel.cu", "sm_90", 0, &compiled, &err) == TJ_ERR_FORKED &&
                      tj_nvrtc_options(nvrtc, "sm_90", 0, options, &err) == TJ_ERR_FORKED &&
                      tj_nvrtc_identity(nvrtc, &identity, &err) == TJ_ERR_FORKED &&
                      tj_nvrtc_open(FAKE_NVRTC_PATH, 0, NULL, &other, &err) == TJ_ERR_FORKED && strstr(err.message, "forked")
                  ? 0
                  : 1);
    }
    cr_assert(eq(int, waitpid(child, &how, 0), child));
    cr_expect(ended_well(how), "status 0x%x", (unsigned)how);
    pthread_join(thread, NULL);

    /* The parent goes on; so does a child forked while nobody compiles. */
    setenv("FAKE_NVRTC_SLEEP_MS", "0", 1);
    child = fork();
    if (child == 0) {
        tj_compiled compiled;
        alarm(20);
        _exit(tj_nvrtc_compile(nvrtc, KERNEL, strlen(KERNEL), "kernel.cu", "sm_90", 0, &compiled, NULL) == TJ_OK ? 0 : 1);
    }
    cr_assert(eq(int, waitpid(child, &how, 0), child));
    cr_expect(ended_well(how), "status 0x%x", (unsigned)how);
}

/* ---- the real one ------------------------------------------------------------------------------------------------ */

Test(real_nvrtc, compiles_ptx_and_cubin_for_every_target_it_lists)
{
    const tj_nvrtc *nvrtc = open_real();
    const char *const *target = tj_nvrtc_targets(nvrtc);
    size_t count = 0;

    for (; target[count]; count++) {
        tj_compiled compiled;
        tj_error err = {0};
        tj_status status = tj_nvrtc_compile(nvrtc, KERNEL, strlen(KERNEL), "kernel.cu", target[count], 0, &compiled, &err);
        cr_expect(eq(int, status, TJ_OK), "%s: %s", target[count], err.message);
        if (status == TJ_OK) {
            expect_in(compiled.ptx, ".entry k(");
            cr_expect(eq(sz, compiled.ptx_bytes, strlen(compiled.ptx)), "%s", target[count]);
            cr_expect(compiled.cubin_bytes > 100 && memcmp(compiled.cubin, "\177ELF", 4) == 0, "%s", target[count]);
            cr_expect(compiled.resources.registers > 0, "%s: %s", target[count], compiled.log);
            cr_expect(eq(int, compiled.resources.shared_bytes, 512), "%s: %s", target[count], compiled.log);
            cr_expect(eq(int, compiled.resources.stack_bytes, 0), "%s", target[count]);
            cr_expect(eq(int, compiled.resources.spill_stores, 0), "%s", target[count]);
            cr_expect(eq(int, compiled.resources.spill_loads, 0), "%s", target[count]);
        }
        tj_compiled_drop(&compiled);
    }
    cr_expect(count > 3);
}

Test(real_nvrtc, gives_ptx_alone_for_a_virtual_target)
{
    const tj_nvrtc *nvrtc = open_real();
    tj_compiled compiled;
    tj_error err = {0};

    cr_assert(eq(int, tj_nvrtc_compile(nvrtc, KERNEL, strlen(KERNEL), "kernel.cu", "compute_90", 0, &compiled, &err), TJ_OK),
              "%s", err.message);
    cr_expect(compiled.cubin == NULL && compiled.cubin_bytes == 0);
    cr_expect(eq(int, compiled.resources.registers, -1));
    expect_in(compiled.ptx, ".target sm_90");
    tj_compiled_drop(&compiled);
}

Test(real_nvrtc, reports_mistakes_of_each_stage)
{
    static const struct {
        const char *text, *named;
    } rows[] = {
        {"extern \"C\" __global__ void k(float *p)\n{\n    p[0] = nothing;\n}\n",
         "kernel.cu(3): error: identifier \"nothing\" is undefined"},
        {"extern \"C\" __global__ void k(float *p) { __shared__ float s[99999]; s[threadIdx.x] = p[0]; __syncthreads(); p[1] = "
         "s[5]; }\n",
         "too much shared data"},
        {"extern \"C\" __global__ void k(float *p) { asm(\"no.such.thing;\"); }\n", "error"},
        {"#include <no_such_header.h>\n", "no_such_header.h"},
        {"#include \"kernel.cu\"\n", "kernel.cu"},
    };
    const tj_nvrtc *nvrtc = open_real();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_compiled compiled;
        tj_error err = {0};
        cr_expect(eq(int, tj_nvrtc_compile(nvrtc, rows[i].text, strlen(rows[i].text), "kernel.cu", "sm_90", 0, &compiled, &err),
                     TJ_ERR_COMPILE),
                  "row %zu", i);
        expect_in(err.message, rows[i].named);
        expect_not_in(err.message, "ptxas info");
        cr_expect(compiled.log && compiled.log[0], "row %zu", i);
        tj_compiled_drop(&compiled);
    }
}

Test(real_nvrtc, tells_its_build)
{
    const tj_nvrtc *nvrtc = open_real();
    const char *identity = "";
    char start[32];

    cr_assert(eq(int, tj_nvrtc_identity(nvrtc, &identity, NULL), TJ_OK));
    snprintf(start, sizeof start, "%d.%d V%d.%d.", tj_nvrtc_major(nvrtc), tj_nvrtc_minor(nvrtc), tj_nvrtc_major(nvrtc),
             tj_nvrtc_minor(nvrtc));
    cr_expect(strncmp(identity, start, strlen(start)) == 0, "%s", identity);
    cr_expect(tj_nvrtc_builtins_path(nvrtc) != NULL);
}

Test(real_nvrtc, is_found_by_the_folder_of_a_toolkit_with_its_builtins)
{
    const tj_nvrtc *nvrtc = open_real(), *linked;
    char root[] = "/tmp/tilejit-search-XXXXXX", folder[PATH_MAX], path[PATH_MAX];
    const char *identity;

    /* A folder of links, as environments make them: the builtins are next to the target of the link. */
    cr_assert(mkdtemp(root) != NULL);
    make_folders(folder, root, "lib64");
    snprintf(path, sizeof path, "%.1000s/libnvrtc.so.%d", folder, tj_nvrtc_major(nvrtc));
    cr_assert(symlink(tj_nvrtc_path(nvrtc), path) == 0);
    cr_assert(eq(int, tj_nvrtc_open(path, 0, NULL, &linked, NULL), TJ_OK));
    cr_expect(linked == nvrtc);
    cr_expect(eq(int, tj_nvrtc_identity(linked, &identity, NULL), TJ_OK));
    remove_folder(root);
}

/* NVRTC overflows the stack of a thread of ordinary size here; ours is larger. */
Test(real_nvrtc, survives_text_that_is_nested_deeply)
{
    enum { DEPTH = 2000 };
    const tj_nvrtc *nvrtc = open_real();
    char *text = calloc(1, 2 * DEPTH + 200);
    tj_compiled compiled;
    tj_error err = {0};
    size_t length = (size_t)sprintf(text, "extern \"C\" __global__ void k(int *p) { p[0] = ");

    memset(text + length, '(', DEPTH);
    length += DEPTH;
    text[length++] = '1';
    memset(text + length, ')', DEPTH);
    strcpy(text + length + DEPTH, "; }\n");
    cr_expect(eq(int, tj_nvrtc_compile(nvrtc, text, strlen(text), "kernel.cu", "sm_90", 0, &compiled, &err), TJ_OK), "%s",
              err.message);
    tj_compiled_drop(&compiled);
    free(text);
}
