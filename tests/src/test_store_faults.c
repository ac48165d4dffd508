/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Every system call of the store fails in turn: no request fails, no wrong kernel comes back, no damaged entry stays.
 *
 * This program is linked with --wrap for each of the calls below.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tilejit/tools.h>

/* ---- faults ------------------------------------------------------------------------------------------------------- */

static atomic_long fail_at; /* the n-th call from now fails; 0: none does */
static atomic_bool fails_onward;
static atomic_int cause;
static atomic_long failed;

static bool fails(void)
{
    const long left = atomic_load(&fail_at);

    if (left == 0)
        return false;
    if (left > 1) {
        atomic_store(&fail_at, left - 1);
        return false;
    }
    if (!atomic_load(&fails_onward))
        atomic_store(&fail_at, 0);
    atomic_fetch_add(&failed, 1);
    errno = atomic_load(&cause);
    return true;
}

/* X(result, name, parameters, arguments, what a failure answers) */
#define CALLS(X)                                                                                             \
    X(ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size), -1)                              \
    X(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size), -1)                       \
    X(int, fsync, (int fd), (fd), -1)                                                                        \
    X(int, renameat, (int from, const char *old, int to, const char *name), (from, old, to, name), -1)       \
    X(int, mkdirat, (int at, const char *name, mode_t mode), (at, name, mode), -1)                           \
    X(int, fchmodat, (int at, const char *name, mode_t mode, int flags), (at, name, mode, flags), -1)        \
    X(int, fchmod, (int fd, mode_t mode), (fd, mode), -1)                                                    \
    X(int, fstat, (int fd, struct stat *facts), (fd, facts), -1)                                             \
    X(int, fstatat, (int at, const char *name, struct stat *facts, int flags), (at, name, facts, flags), -1) \
    X(int, flock, (int fd, int how), (fd, how), -1)                                                          \
    X(int, unlinkat, (int at, const char *name, int flags), (at, name, flags), -1)                           \
    X(int, futimens, (int fd, const struct timespec times[2]), (fd, times), -1)                              \
    X(int, faccessat, (int at, const char *name, int mode, int flags), (at, name, mode, flags), -1)          \
    X(DIR *, fdopendir, (int fd), (fd), NULL)                                                                \
    X(struct dirent *, readdir, (DIR * folder), (folder), NULL)

#define DEFINE(result, name, parameters, arguments, failure) \
    result __real_##name parameters;                         \
    result __wrap_##name parameters;                         \
    result __wrap_##name parameters                          \
    {                                                        \
        return fails() ? failure : __real_##name arguments;  \
    }
CALLS(DEFINE)
#undef DEFINE

int __real_openat(int at, const char *name, int flags, ...);
int __wrap_openat(int at, const char *name, int flags, ...);

int __wrap_openat(int at, const char *name, int flags, ...)
{
    mode_t mode = 0;
    va_list rest;

    if (flags & O_CREAT) {
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    return fails() ? -1 : __real_openat(at, name, flags, mode);
}

/* ---- helpers ------------------------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/tilejit-faults-XXXXXX";
static tj_error err;
static int warnings;

static void count_warning(tj_log_level level, const char *line, void *payload)
{
    (void)line, (void)payload;
    warnings += level == TJ_LOG_WARNING;
}

static tj_context *open_context(void)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;

    options.driver = "/nonexistent/libcuda.so";
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = folder;
    options.log_level = TJ_LOG_WARNING;
    options.log = count_warning;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

/* The image must come, whatever the store does, and be the right one. */
static void obtain(const tj_source *source, const char *right, const char *label, long n)
{
    tj_context *context = open_context();
    tj_image *image = NULL;

    cr_expect(eq(int, tj_image_obtain(context, source, "sm_90", &image, &err), TJ_OK), "%s, call %ld: %s", label, n,
              err.message);
    cr_expect(image && strcmp(tj_image_ptx(image, NULL), right) == 0, "%s, call %ld: another kernel", label, n);
    tj_image_free(image);
    tj_context_free(context);
}

static int damaged, entries;

static int count_entry(const tj_store_entry *entry, void *payload)
{
    (void)payload;
    entries++;
    damaged += entry->damage != NULL;
    return 0;
}

static char *compile_without_a_store(const tj_source *source)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;
    tj_image *image = NULL;
    char *ptx;

    options.driver = "/nonexistent/libcuda.so";
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = "";
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_image_obtain(context, source, "sm_90", &image, &err), TJ_OK), "%s", err.message);
    ptx = strdup(tj_image_ptx(image, NULL));
    tj_image_free(image);
    tj_context_free(context);
    return ptx;
}

static int count_descriptors(void)
{
    DIR *open_files = opendir("/proc/self/fd");
    int count = 0;

    while (open_files && readdir(open_files))
        count++;
    closedir(open_files);
    return count;
}

/* Check, without faults, the remains of a failure. Returns the number of entries. */
static int look(const char *label, long n)
{
    const long left = atomic_exchange(&fail_at, 0);
    tj_context *judge = open_context();

    entries = damaged = 0;
    cr_expect(eq(int, tj_store_list(judge, 1, count_entry, NULL, &err), TJ_OK), "%s, call %ld: %s", label, n, err.message);
    cr_expect(eq(int, damaged, 0), "%s, call %ld: a damaged entry was published", label, n);
    cr_expect(le(int, entries, 1), "%s, call %ld", label, n);
    tj_context_free(judge);
    fail_at = left;
    return entries;
}

/* One store, written and read with the n-th call failing; then looked at, and used, without faults. */
static void fail_in_turn(const char *label, int error, bool onward)
{
    const tj_problem problem = TJ_PROBLEM_INIT(33, 20, 48, TJ_F32);
    tj_source *source = NULL;
    char *right;
    int descriptors, stored = 0;

    cr_assert(mkdtemp(folder) != NULL);
    cr_assert(eq(int, tj_generate(&problem, NULL, &source, &err), TJ_OK), "%s", err.message);
    right = compile_without_a_store(source);
    descriptors = count_descriptors();
    for (long n = 1;; n++) {
        tj_context *judge;

        cr_assert(lt(long, n, 2000));
        failed = 0;
        warnings = 0;
        cause = error;
        fails_onward = onward;
        fail_at = n;
        obtain(source, right, label, n);
        (void)look(label, n);
        obtain(source, right, label, n);
        fail_at = 0;
        cr_expect(le(int, warnings, 2), "%s, call %ld: a context warns once, and these were two: %d", label, n, warnings);

        stored += look(label, n);
        obtain(source, right, label, n);
        judge = open_context();
        cr_expect(eq(int, tj_store_clear(judge, 0, NULL, &err), TJ_OK), "%s, call %ld: %s", label, n, err.message);
        tj_context_free(judge);
        cr_expect(eq(int, count_descriptors(), descriptors), "%s, call %ld: a descriptor is lost", label, n);
        if (failed == 0)
            break;
    }
    cr_expect(gt(int, stored, 0), "%s: the store was used", label);
    free(right);
    tj_source_free(source);
}

static void remove_folder(void)
{
    char command[PATH_MAX];

    sprintf(command, "rm -rf '%s'", folder);
    cr_expect(eq(int, system(command), 0));
}

TestSuite(store_faults, .fini = remove_folder);

Test(store_faults, survives_one_input_or_output_error_at_each_call)
{
    fail_in_turn("EIO", EIO, false);
}

Test(store_faults, survives_a_disk_that_is_gone_from_each_call_on)
{
    fail_in_turn("EIO onward", EIO, true);
}

Test(store_faults, survives_a_quota_from_each_call_on)
{
    fail_in_turn("EDQUOT onward", EDQUOT, true);
}

Test(store_faults, survives_a_stale_network_file_at_each_call)
{
    fail_in_turn("ESTALE", ESTALE, false);
}

Test(store_faults, survives_a_signal_at_each_call)
{
    fail_in_turn("EINTR", EINTR, false);
}

Test(store_faults, survives_a_file_that_is_gone_at_each_call)
{
    fail_in_turn("ENOENT", ENOENT, false);
}
