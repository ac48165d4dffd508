/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell: shell lines in a folder of the test's own, for tests of programs. Include it once, after Criterion; the includer sets
 * the environment of its lines.
 */
#ifndef TJ_TESTS_SHELL_H
#define TJ_TESTS_SHELL_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { OUTPUT_BYTES = 1 << 18 };

static char folder[] = "/tmp/tilejit-shell-XXXXXX";
static char out[OUTPUT_BYTES], errors[OUTPUT_BYTES];

/** The includer's: shell assignments in addition to those of every line ($T, the store, the sanitizers' exit codes). */
static void assign_variables(char *assignments, size_t bytes);

/* A file of the folder, up to OUTPUT_BYTES of it; how many bytes. "" if there is none. */
static size_t read_text(const char *name, char *text)
{
    char path[PATH_MAX];
    FILE *file;
    size_t size = 0;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (file) {
        size = fread(text, 1, OUTPUT_BYTES - 1, file);
        fclose(file);
    }
    text[size] = '\0';
    return size;
}

/*
 * Run a shell line in the folder, where $T is the command, with an environment of its own; answers the exit code, or minus the
 * signal. stdout and stderr are in out and errors.
 */
__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char line[4096], assignments[3072], command[10240];
    va_list values;
    int status;

    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    assign_variables(assignments, sizeof assignments);
    snprintf(command, sizeof command,
             "cd %s && unset XDG_CACHE_HOME TILEJIT_LOG TILEJIT_EMULATOR TILEJIT_DRIVER TILEJIT_DEVICE TILEJIT_DUMP "
             "TILEJIT_PACKS TILEJIT_CAPTURE TILEJIT_REMOTE && export "
             "TILEJIT_CACHE_DIR=%s/store TILEJIT_TRIALS=off T='%s' ASAN_OPTIONS=exitcode=99:abort_on_error=0 "
             "UBSAN_OPTIONS=exitcode=99 %s && { %s\n} "
             ">out 2>err",
             folder, folder, TILEJIT_BIN, assignments, line);
    status = system(command);
    read_text("out", out);
    read_text("err", errors);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void make_folder(void)
{
    cr_assert(mkdtemp(folder) != NULL, "%s", strerror(errno));
}

static void remove_folder(void)
{
    char command[sizeof folder + 16];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_expect(system(command) == 0);
}

/* Criterion runs no .fini after a skip. */
#define SKIP_TEST(...)             \
    do {                           \
        remove_folder();           \
        cr_skip_test(__VA_ARGS__); \
    } while (0)

/* Tests that need a compiler say so and are skipped where there is none; generating must work everywhere. */
#define NEEDS_COMPILER()                                  \
    do {                                                  \
        if (shell("$T compile 16x16x16 --no-cache") != 0) \
            SKIP_TEST("no NVRTC here: %s", errors);       \
    } while (0)

#endif
