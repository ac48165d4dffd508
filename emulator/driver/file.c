/* SPDX-License-Identifier: Apache-2.0 */
/* file: read an image that a program names by its path. */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITER_MS = 1000, PADDING = 8, FIRST_BYTES = 1 << 16, MAX_BYTES = 1 << 30 };

/*
 * Read up to `wanted` bytes, fewer only at the end of the file; -1: errno. is_fresh: nothing was read yet, so a pipe may still
 * lack its writer.
 */
static ssize_t read_some(int fd, char *to, size_t wanted, bool is_fresh)
{
    size_t got = 0;

    while (got < wanted) {
        const ssize_t count = read(fd, to + got, wanted - got);

        if (count > 0)
            got += (size_t)count;
        else if (count == 0 && is_fresh && got == 0)
            (void)poll(&(struct pollfd){fd, POLLIN, 0}, 1, WRITER_MS);
        else if (count == 0)
            break;
        else if (errno == EAGAIN) /* a writer has the pipe open */
            (void)poll(&(struct pollfd){fd, POLLIN, 0}, 1, -1);
        else if (errno != EINTR)
            return -1;
        is_fresh &= count < 0;
    }
    return (ssize_t)got;
}

/* Read the whole content, followed by PADDING zeros; NULL: *why, or out of memory. */
static char *read_all(int fd, const struct stat *facts, size_t *bytes, const char **why)
{
    size_t room = S_ISREG(facts->st_mode) ? (size_t)facts->st_size + 1 : FIRST_BYTES, length = 0;
    char *text = NULL;

    if (facts->st_size > MAX_BYTES) {
        *why = "it has more than 1 GiB";
        return NULL;
    }
    for (;; room = room < MAX_BYTES / 2 ? room * 2 : MAX_BYTES + 1u) { /* read until the file ends */
        char *const larger = realloc(text, room + PADDING);
        ssize_t got;

        if (!larger)
            break;
        text = larger;
        got = read_some(fd, text + length, room - length, S_ISFIFO(facts->st_mode) && length == 0);
        if (got < 0) {
            *why = strerror(errno);
            break;
        }
        length += (size_t)got;
        if (length > MAX_BYTES) {
            *why = "it has more than 1 GiB";
            break;
        }
        if (length < room) {
            memset(text + length, 0, PADDING);
            *bytes = length;
            return text;
        }
    }
    free(text);
    return NULL;
}

void *emu_file_read(const char *path, size_t *bytes, CUresult *result)
{
    struct stat facts = {.st_size = 0};
    const char *why = NULL;
    char *text = NULL;
    int fd;

    *bytes = 0;
    *result = CUDA_ERROR_INVALID_VALUE;
    if (!path)
        return NULL;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &facts) != 0)
        why = strerror(errno);
    else if (S_ISDIR(facts.st_mode))
        why = "it is a folder";
    else if (!S_ISREG(facts.st_mode) && !S_ISFIFO(facts.st_mode))
        why = "it is neither a regular file nor a pipe";
    else
        text = read_all(fd, &facts, bytes, &why);
    if (text && *bytes == 0 && S_ISFIFO(facts.st_mode)) {
        why = "it is a pipe into which no program writes";
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    *result = text ? CUDA_SUCCESS : why ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_OUT_OF_MEMORY;
    if (why)
        emu_driver_log("cannot read %.300s: %s", path, why);
    return text;
}
