/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: a program with the library preloaded.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "programs.h"
#include "text.h"

/* The library, and all that is preloaded already but a library of that name, which is of another build. NULL: no memory. */
static char *join_preloads(const char *path, const char *before)
{
    tj_text text = TJ_TEXT_INIT(1 << 20);
    char *joined;

    tj_text_append(&text, path);
    for (const char *at = before ? before : ""; *at;) {
        const size_t length = strcspn(at, " :");
        const char *slash = memrchr(at, '/', length), *name = slash ? slash + 1 : at;

        if (length > 0 && ((size_t)(at + length - name) != sizeof programs_library - 1 ||
                           memcmp(name, programs_library, sizeof programs_library - 1) != 0)) {
            tj_text_append(&text, ":");
            tj_text_append_bytes(&text, at, length);
        }
        at += length + (at[length] != '\0');
    }
    return tj_text_take(&text, &joined, NULL) == TJ_OK ? joined : NULL;
}

tj_status programs_prepare(const cli_call *call, const char *task, tj_error *err)
{
    static const char *const levels[] = {
        [TJ_LOG_ERROR] = "error", [TJ_LOG_WARNING] = "warning", [TJ_LOG_INFO] = "info", [TJ_LOG_DEBUG] = "debug"};
    const char *const level = call->log_level > TJ_LOG_OFF && call->log_level <= TJ_LOG_DEBUG ? levels[call->log_level] : NULL;
    char library[PATH_MAX], path[PATH_MAX], *preload;
    bool has_own;

    if (programs_reach(call->program[0], path, &has_own, err) != TJ_OK || programs_find_library(library, err) != TJ_OK)
        return err->status;
    if (has_own)
        cli_print(
            stderr,
            "tilejit: %s has functions of cuBLAS inside, whose calls cannot be reached: link it with the shared libcublas\n",
            path);
    preload = join_preloads(library, getenv("LD_PRELOAD"));
    if (!preload)
        return tj_fail_memory(err, "the environment");
    if (setenv("LD_PRELOAD", preload, 1) != 0 || setenv("TILEJIT_BLAS", task, 1) != 0 ||
        (level && setenv("TILEJIT_LOG", level, 1) != 0))
        (void)tj_fail_memory(err, "the environment");
    free(preload);
    return err->status;
}

cli_exit programs_become(char *const *program, tj_error *err)
{
    cli_stop_listening();
    (void)fflush(NULL);
    (void)execvp(program[0], program);
    (void)tj_fail(err, TJ_ERR_IO, "cannot run %.300s: %s", program[0], strerror(errno));
    return CLI_FAILED;
}

tj_status programs_run(char *const *program, bool quiet, int *code, double *seconds, tj_error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
    struct timespec start, end;
    int status = 0;
    pid_t child;

    cli_stop_listening(); /* a signal of the terminal is for the program, whose end is awaited */
    (void)fflush(NULL);
    (void)sigaction(SIGINT, &ignore, &interrupt);
    (void)sigaction(SIGQUIT, &ignore, &quit);
    clock_gettime(CLOCK_MONOTONIC, &start);
    child = fork();
    if (child == 0) {
        (void)sigaction(SIGINT, &interrupt, NULL);
        (void)sigaction(SIGQUIT, &quit, NULL);
        if (!quiet || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
            (void)execvp(program[0], program);
        (void)dprintf(STDERR_FILENO, "tilejit: cannot run %s: %s\n", program[0], strerror(errno));
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    clock_gettime(CLOCK_MONOTONIC, &end);
    (void)sigaction(SIGINT, &interrupt, NULL);
    (void)sigaction(SIGQUIT, &quit, NULL);
    if (child < 0)
        return tj_fail(err, TJ_ERR_IO, "cannot run %.300s: %s", program[0], strerror(errno));
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : CLI_INTERRUPTED + WTERMSIG(status);
    *seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    return TJ_OK;
}
