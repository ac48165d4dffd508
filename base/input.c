/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

enum { WRITER_MS = 1000, FIRST_BYTES = 1 << 16 };

/* errno stays what it is: tj_fs_read passes it on. */
static tj_status cannot_read(const tj_input *in, const char *why, tj_error *err)
{
    const int cause = errno;

    (void)tj_fail(err, TJ_ERR_IO, "cannot read %.300s: %s", in->name, why);
    errno = cause;
    return TJ_ERR_IO;
}

/* Return why it cannot be read; NULL: it can. */
static const char *trouble_with(int fd, mode_t mode)
{
    if (S_ISDIR(mode))
        return "it is a folder";
    if (S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode) || (S_ISCHR(mode) && isatty(fd)))
        return NULL;
    return "it is a device: name a file or a pipe";
}

tj_status tj_input_open(const char *path, tj_input *in, tj_error *err)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    struct stat facts;
    const char *why;

    *in = (tj_input){.name = is_stdin ? "standard input" : path, .fd = STDIN_FILENO, .size = -1};
    if (!is_stdin) /* open without waiting for a writer; reads then wait as long as there is one */
        in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (in->fd < 0 || fstat(in->fd, &facts) != 0)
        return tj_fail(err, errno == ENOENT ? TJ_ERR_NOT_FOUND : TJ_ERR_IO, "cannot open %.300s: %s", in->name,
                       strerror(errno));
    why = trouble_with(in->fd, facts.st_mode);
    if (why)
        return cannot_read(in, why, err);
    in->is_pipe = S_ISFIFO(facts.st_mode);
    if (S_ISREG(facts.st_mode))
        in->size = facts.st_size;
    return TJ_OK;
}

void tj_input_close(tj_input *in)
{
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    in->fd = -1;
}

/* A pipe that ends before its first byte may have a writer that is about to open it. */
static bool has_no_writer(const tj_input *in, void *out, size_t wanted, ssize_t *count)
{
    struct pollfd one = {in->fd, POLLIN, 0};

    (void)poll(&one, 1, WRITER_MS);
    *count = read(in->fd, out, wanted);
    return *count == 0;
}

tj_status tj_input_read(tj_input *in, void *out, size_t wanted, size_t *got, tj_error *err)
{
    *got = 0;
    while (*got < wanted) {
        char *const next = (char *)out + *got;
        const size_t left = wanted - *got, chunk = left < 1u << 30 ? left : 1u << 30;
        ssize_t count = read(in->fd, next, chunk);

        if (count == 0 && in->is_pipe && !in->has_begun && has_no_writer(in, next, chunk, &count))
            return cannot_read(in, "it is a pipe into which no program writes", err);
        if (count == 0)
            break;
        if (count < 0 && errno == EAGAIN) {
            in->has_begun = true; /* a writer has it open */
            (void)poll(&(struct pollfd){in->fd, POLLIN, 0}, 1, -1);
        } else if (count < 0 && errno != EINTR) {
            return cannot_read(in, strerror(errno), err);
        } else if (count > 0) {
            in->has_begun = true;
            *got += (size_t)count;
        }
    }
    return TJ_OK;
}

static tj_status too_large(const tj_input *in, size_t max_bytes, tj_error *err)
{
    (void)tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.300s holds more than the %zu bytes that are read of such a file", in->name,
                  max_bytes);
    errno = EFBIG;
    return TJ_ERR_INVALID_ARGUMENT;
}

tj_status tj_input_read_rest(tj_input *in, size_t max_bytes, char **bytes, size_t *size, tj_error *err)
{
    size_t capacity = in->size >= 0 ? (size_t)in->size + 1 : FIRST_BYTES, length = 0, got;
    char *text = NULL;
    tj_status status = TJ_OK;

    if (in->size > 0 && (uint64_t)in->size > max_bytes)
        return too_large(in, max_bytes, err);
    for (;; capacity *= 2) { /* until the input ends before the buffer does */
        char *larger;

        capacity = capacity <= max_bytes ? capacity : max_bytes + 1;
        larger = realloc(text, capacity + 1);
        if (!larger) {
            (void)tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %.300s", in->name);
            errno = ENOMEM;
            status = TJ_ERR_OUT_OF_MEMORY;
            break;
        }
        text = larger;
        status = tj_input_read(in, text + length, capacity - length, &got, err);
        length += got;
        if (status != TJ_OK || length < capacity)
            break;
        if (length > max_bytes) {
            status = too_large(in, max_bytes, err);
            break;
        }
    }
    if (status != TJ_OK) {
        const int cause = errno;

        free(text);
        errno = cause;
        return status;
    }
    text[length] = '\0';
    *bytes = text;
    *size = length;
    return TJ_OK;
}

tj_status tj_input_read_whole(const char *path, size_t max_bytes, char **bytes, size_t *size, tj_error *err)
{
    tj_input in;
    tj_status status = tj_input_open(path, &in, err);

    if (status == TJ_OK)
        status = tj_input_read_rest(&in, max_bytes, bytes, size, err);
    tj_input_close(&in);
    return status;
}
