/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_dump: what was built, as files for people.
 *
 * Files are written under a temporary name and renamed: who watches the folder sees whole ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image.h"

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static bool write_file(const char *path, const void *bytes, size_t size)
{
    char temp[PATH_MAX];
    bool is_written;
    int fd, error;

    if (snprintf(temp, sizeof temp, "%s.XXXXXX", path) >= (int)sizeof temp) {
        errno = ENAMETOOLONG;
        return false;
    }
    fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0)
        return false;
    is_written = write_all(fd, bytes, size) && fchmod(fd, 0644) == 0;
    error = errno;
    if (close(fd) != 0 && is_written) {
        is_written = false;
        error = errno;
    }
    if (is_written && rename(temp, path) == 0)
        return true;
    if (is_written)
        error = errno;
    unlink(temp);
    errno = error;
    return false;
}

bool tj_image_dump(const char *dir, const tj_source *source, const tj_image_body *body, char *trouble, size_t size)
{
    const struct {
        const char *suffix;
        const void *bytes;
        size_t size;
    } file[] = {
        {"cu", tj_source_text(source), strlen(tj_source_text(source))},
        {"ptx", body->ptx, body->ptx_bytes},
        {"cubin", body->cubin, body->cubin_bytes},
        {"log", body->log, strlen(body->log)},
    };
    char path[PATH_MAX];

    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        snprintf(trouble, size, "cannot create %s: %s", dir, strerror(errno));
        return false;
    }
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        bool is_log = strcmp(file[i].suffix, "log") == 0;
        if (file[i].size == 0 && !is_log)
            continue;
        if (snprintf(path, sizeof path, "%s/%s-%.8s.%s", dir, tj_source_launch(source)->kernel, body->key.hex,
                     file[i].suffix) >= (int)sizeof path)
            errno = ENAMETOOLONG;
        else if (write_file(path, file[i].bytes, file[i].size))
            continue;
        snprintf(trouble, size, "cannot write %s: %s", path, strerror(errno));
        return false;
    }
    return true;
}
