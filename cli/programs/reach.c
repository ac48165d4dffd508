/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach: is libtilejit_blas.so there, and would the loader preload it into a program? Where it would not, nothing would happen,
 * and nobody would be told.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "component.h"
#include "executable.h"
#include "input.h"
#include "programs.h"

enum { MOST_INTERPRETERS = 4, MOST_LIBRARY_BYTES = 1 << 30 };

/* ---- the library ------------------------------------------------------------------------------------------------------ */

const char programs_library[] = "libtilejit_blas.so";

tj_status programs_find_library(char path[PATH_MAX], tj_error *err)
{
    const char *(*near)(void) = tj_version; /* next to the library of the command */
    char found[PATH_MAX];
    const void *place;

    memcpy(&place, &near, sizeof place);
    if (!tj_component_find(place, programs_library, found) || !realpath(found, path))
        return tj_fail(err, TJ_ERR_NOT_FOUND,
                       "there is no %s next to tilejit's library or in its tilejit folder: install TileJIT whole, or build it "
                       "with -DTILEJIT_BUILD_BLAS=ON",
                       programs_library);
    if (strpbrk(path, " :"))
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "%.300s has a blank or a colon in its name, which separate the libraries of LD_PRELOAD: move it", path);
    return TJ_OK;
}

/* It says its version in a text, since whoever opens it gets its functions too. */
tj_status programs_check_library(const char *path, tj_error *err)
{
    static const char mark[] = "TILEJIT_BLAS ";
    const char *at = NULL;
    char *bytes;
    size_t size;

    if (tj_input_read_whole(path, MOST_LIBRARY_BYTES, &bytes, &size, err) != TJ_OK)
        return err->status;
    for (const char *from = bytes; (from = memmem(from, size - (size_t)(from - bytes), mark, sizeof mark - 1)); from++)
        at = from + sizeof mark - 1;
    if (!at || strcmp(at, tj_version()) != 0)
        (void)tj_fail(err, TJ_ERR_UNSUPPORTED, "%.300s is of version %.20s, and this is TileJIT %s: install TileJIT whole",
                      path, at ? at : "unknown", tj_version());
    free(bytes);
    return err->status;
}

/* ---- a program -------------------------------------------------------------------------------------------------------- */

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

/* The program that a script names in its first line: itself, or the one that env looks for. */
static bool read_interpreter(const char *path, char name[256])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    char line[256], *word, *rest = NULL;
    const ssize_t size = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;
    const char *slash;

    if (fd >= 0)
        close(fd);
    if (size < 3 || line[0] != '#' || line[1] != '!')
        return false;
    line[size] = '\0';
    line[strcspn(line, "\n")] = '\0';
    word = strtok_r(line + 2, " \t", &rest);
    if (word && (slash = strrchr(word, '/')) && strcmp(slash, "/env") == 0)
        while ((word = strtok_r(NULL, " \t", &rest)) && (*word == '-' || strchr(word, '=')))
            ;
    return word && snprintf(name, 256, "%s", word) > 0;
}

/* The loader is in secure mode where a program gains rights that its caller lacks. */
static bool gains_rights(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 &&
           ((facts.st_mode & S_ISUID && facts.st_uid != geteuid()) ||
            ((facts.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && facts.st_gid != getegid()) ||
            (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0));
}

static tj_status examine(const char *path, tj_error *err)
{
    tj_executable facts;

    if (gains_rights(path))
        return tj_fail(
            err, TJ_ERR_UNSUPPORTED,
            "%.300s is set-uid or set-gid, or has capabilities, for which the loader ignores what is preloaded: run a "
            "copy without them",
            path);
    if (!tj_executable_read(path, &facts))
        return TJ_OK;
    if (facts.is_static)
        return tj_fail(
            err, TJ_ERR_UNSUPPORTED,
            "%.300s is linked statically: nothing can be preloaded into it, nor its calls of cuBLAS be reached. Link "
            "it with the shared libcublas",
            path);
    if (facts.is_foreign)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "%.300s is for another kind of processor than %s: use a build for this one",
                       path, programs_library);
    if (strstr(facts.interpreter, "ld-musl"))
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "%.300s is linked with musl, and %s with glibc, as cuBLAS is: use a build with glibc", path,
                       programs_library);
    return TJ_OK;
}

tj_status programs_reach(const char *name, char path[PATH_MAX], bool *has_own, tj_error *err)
{
    static const char *const functions[] = {"cublasSgemm_v2", "cublasGemmEx", "cublasLtMatmul", NULL};
    char interpreter[256];

    *has_own = false;
    for (int i = 0; i < MOST_INTERPRETERS; i++) {
        if (!find_file(name, path))
            return tj_fail(err, TJ_ERR_NOT_FOUND, "cannot run %.300s: no such program, or no right to run it", name);
        if (examine(path, err) != TJ_OK)
            return err->status;
        if (!read_interpreter(path, interpreter))
            break;
        name = interpreter;
    }
    *has_own = tj_executable_defines(path, functions);
    return TJ_OK;
}
