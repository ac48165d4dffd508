/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: a program with the library preloaded.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "component.h"
#include "programs.h"
#include "text.h"

static const char LIBRARY[] = "libtilejit_blas.so";

/* The file that execvp would run. */
static bool find_file(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");

    if (strchr(name, '/'))
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && access(path, X_OK) == 0;
    for (const char *at = folders ? folders : "/bin:/usr/bin"; at;) {
        const size_t length = strcspn(at, ":");

        if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, at, length ? "/" : "./", name) < PATH_MAX &&
            access(path, X_OK) == 0)
            return true;
        at = at[length] ? at + length + 1 : NULL;
    }
    return false;
}

/* Is it a program of 64 bits that names no loader? A static-pie has a dynamic section too, so that only the loader tells. */
static bool is_static(int fd)
{
    Elf64_Ehdr head;
    Elf64_Phdr part;

    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (int i = 0; i < head.e_phnum; i++)
        if (pread(fd, &part, sizeof part, (off_t)(head.e_phoff + (unsigned)i * head.e_phentsize)) != (ssize_t)sizeof part ||
            part.p_type == PT_INTERP)
            return false;
    return true;
}

/* Where the loader ignores a preload, nothing would happen, and nobody would be told. */
static tj_status examine(const char *name, tj_error *err)
{
    char path[PATH_MAX];
    struct stat facts;
    bool is_alone;
    int fd;

    if (!find_file(name, path))
        return tj_fail(err, TJ_ERR_NOT_FOUND, "cannot run %.300s: no such program, or no right to run it", name);
    if (stat(path, &facts) == 0 && facts.st_mode & (S_ISUID | S_ISGID))
        return tj_fail(
            err, TJ_ERR_UNSUPPORTED,
            "%.300s is set-uid or set-gid, for which the loader ignores what is preloaded: run a copy without that bit", path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    is_alone = fd >= 0 && is_static(fd);
    if (fd >= 0)
        close(fd);
    return is_alone ? tj_fail(err, TJ_ERR_UNSUPPORTED,
                              "%.300s is linked statically: nothing can be preloaded into it, nor its calls of cuBLAS be "
                              "reached. Link it with the shared libcublas",
                              path)
                    : TJ_OK;
}

/* The library, and all that is preloaded already but a library of that name, which is of another build. NULL: no memory. */
static char *join_preloads(const char *path, const char *before)
{
    tj_text text = TJ_TEXT_INIT(1 << 20);
    char *joined;

    tj_text_append(&text, path);
    for (const char *at = before ? before : ""; *at;) {
        const size_t length = strcspn(at, " :");
        const char *slash = memrchr(at, '/', length), *name = slash ? slash + 1 : at;

        if (length > 0 &&
            ((size_t)(at + length - name) != sizeof LIBRARY - 1 || memcmp(name, LIBRARY, sizeof LIBRARY - 1) != 0)) {
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
    const char *(*near)(void) = tj_version; /* next to the library of the command */
    char found[PATH_MAX], path[PATH_MAX], *preload;
    const void *place;

    memcpy(&place, &near, sizeof place);
    if (examine(call->program[0], err) != TJ_OK)
        return err->status;
    if (!tj_component_find(place, LIBRARY, found) || !realpath(found, path))
        return tj_fail(err, TJ_ERR_NOT_FOUND,
                       "there is no %s next to tilejit's library or in its tilejit folder: install TileJIT whole, or build it "
                       "with -DTILEJIT_BUILD_BLAS=ON",
                       LIBRARY);
    if (strpbrk(path, " :"))
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "%.300s has a blank or a colon in its name, which separate the libraries of LD_PRELOAD: move it", path);
    preload = join_preloads(path, getenv("LD_PRELOAD"));
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
