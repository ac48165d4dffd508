/* SPDX-License-Identifier: Apache-2.0 */
#include "fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "input.h"
#include "text.h"

static const uint64_t SPREAD = UINT64_C(0x9e3779b97f4a7c15); /* odd, so that different inputs stay different */

/* Keep descriptors above 2: a program started with closed standard streams must not printf into one of our files. */
static int above_standard_streams(int fd)
{
    int moved;

    if (fd < 0 || fd > 2)
        return fd;
    moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return moved;
}

static int open_file(int at, const char *name, int flags, mode_t mode)
{
    int fd;

    do
        fd = openat(at, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
    while (fd < 0 && errno == EINTR);
    return above_standard_streams(fd);
}

int tj_fs_open_folder(int at, const char *name)
{
    return open_file(at, name, O_RDONLY | O_DIRECTORY, 0);
}

int tj_fs_open_named(const char *path)
{
    int fd;

    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    return above_standard_streams(fd);
}

int tj_fs_open_lock(int at, const char *name)
{
    int fd = open_file(at, name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600);

    if (fd >= 0)
        fchmod(fd, 0600); /* the umask may have removed bits */
    else if (errno == EEXIST)
        fd = open_file(at, name, O_RDWR | O_NONBLOCK, 0);
    return fd;
}

bool tj_fs_names(int at, const char *name, int fd)
{
    struct stat named, opened;

    return fstatat(at, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

int tj_fs_make_folder(int at, const char *name)
{
    if (mkdirat(at, name, 0700) != 0)
        return errno == EEXIST ? 0 : -1;
    return fchmodat(at, name, 0700, 0); /* the umask may have removed bits */
}

int tj_fs_make_path(const char *path)
{
    char part[PATH_MAX];
    const size_t length = strlen(path);

    if (length == 0 || length >= sizeof part) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(part, path, length + 1);
    for (size_t i = 1; i < length; i++) {
        struct stat found;
        if (part[i] != '/')
            continue;
        part[i] = '\0';
        if (stat(part, &found) != 0 && tj_fs_make_folder(AT_FDCWD, part) != 0)
            return -1;
        part[i] = '/';
    }
    return tj_fs_make_folder(AT_FDCWD, part);
}

/* Return why an open file is not trusted; NULL: it is. */
static const char *judge(int fd, bool is_secret, int64_t *size)
{
    struct stat facts;

    if (fstat(fd, &facts) != 0)
        return strerror(errno);
    *size = facts.st_size;
    errno = EINVAL;
    if (!S_ISREG(facts.st_mode))
        return "it is not a regular file";
    if (facts.st_uid != geteuid() && facts.st_uid != 0)
        return "it belongs to another user, who could change it: chown or copy it";
    if (facts.st_mode & (S_IWGRP | S_IWOTH))
        return "others can write to it: chmod go-w";
    if (is_secret && (facts.st_mode & (S_IRGRP | S_IROTH)))
        return "others can read it: chmod 600 it, or make another one";
    return NULL;
}

/* Read and close in. */
static bool read_judged(tj_input *in, size_t max_bytes, char **bytes, size_t *size)
{
    const bool is_read = tj_input_read_rest(in, max_bytes, bytes, size, NULL) == TJ_OK;
    const int cause = errno == EFBIG ? EINVAL : errno;

    close(in->fd);
    errno = cause;
    return is_read;
}

bool tj_fs_read(int at, const char *name, size_t max_bytes, char **bytes, size_t *size)
{
    tj_input in = {.name = name, .fd = open_file(at, name, O_RDONLY | O_NONBLOCK, 0)};

    if (in.fd < 0)
        return false;
    if (judge(in.fd, false, &in.size)) {
        const int cause = errno;

        close(in.fd);
        errno = cause;
        return false;
    }
    return read_judged(&in, max_bytes, bytes, size);
}

int tj_fs_open_believed(const char *path, bool is_secret, int64_t *size, const char **why)
{
    const int fd = tj_fs_open_named(path);

    *why = fd < 0 ? strerror(errno) : judge(fd, is_secret, size);
    if (fd >= 0 && *why)
        close(fd);
    return *why ? -1 : fd;
}

bool tj_fs_read_believed(const char *path, bool is_secret, size_t max_bytes, char **bytes, size_t *size, const char **why)
{
    tj_input in = {.name = path};

    in.fd = tj_fs_open_believed(path, is_secret, &in.size, why);
    if (in.fd < 0)
        return false;
    if (read_judged(&in, max_bytes, bytes, size))
        return true;
    *why = errno == EINVAL ? "it is larger than such a file can be" : strerror(errno);
    return false;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t put = write(fd, bytes, size < 1u << 30 ? size : 1u << 30);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

/* A file-size limit is handled as a full disk: SIGXFSZ must not end the process. */
bool tj_fs_write(int fd, const void *bytes, size_t size)
{
    static const struct timespec no_wait = {0, 0};
    sigset_t file_size, before;
    bool is_written;
    int cause;

    sigemptyset(&file_size);
    sigaddset(&file_size, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &file_size, &before);
    errno = 0;
    is_written = write_all(fd, bytes, size);
    cause = errno;
    if (cause == EFBIG && !sigismember(&before, SIGXFSZ))
        sigtimedwait(&file_size, NULL, &no_wait);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = cause;
    return is_written;
}

bool tj_fs_write_new(int at, const char *name, const void *bytes, size_t size)
{
    bool is_written;
    int fd, cause;

    fd = open_file(at, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return false;
    is_written = fchmod(fd, 0600) == 0 && tj_fs_write(fd, bytes, size) && fsync(fd) == 0;
    cause = errno;
    if (close(fd) != 0 && is_written) { /* network file systems may report a failed write only here */
        cause = errno;
        is_written = false;
    }
    errno = cause;
    return is_written;
}

void tj_fs_append_byte(int at, const char *name)
{
    int fd = open_file(at, name, O_WRONLY | O_APPEND | O_NONBLOCK, 0);
    struct stat facts;

    if (fd < 0)
        return;
    /* Above a megabyte only the modification time matters. */
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && (facts.st_size >= 1 << 20 || !tj_fs_write(fd, ".", 1)))
        futimens(fd, NULL);
    close(fd);
}

static bool remove_level(int at, const char *name, int levels)
{
    int fd, cause;
    DIR *folder;
    const struct dirent *entry;
    bool is_empty = true;

    if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
        return true;
    cause = errno;
    fd = levels > 0 ? tj_fs_open_folder(at, name) : -1;
    if (fd < 0) {
        errno = errno == ENOTDIR || levels == 0 ? cause : errno;
        return false;
    }
    folder = fdopendir(fd);
    if (!folder) {
        cause = errno;
        close(fd);
        errno = cause;
        return false;
    }
    while ((entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !remove_level(fd, entry->d_name, levels - 1)) {
            cause = errno;
            is_empty = false;
        }
    closedir(folder);
    if (is_empty && (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT))
        return true;
    errno = is_empty ? errno : cause;
    return false;
}

bool tj_fs_remove_tree(int at, const char *name)
{
    return remove_level(at, name, 2);
}

bool tj_fs_is_loadable(const char *path)
{
    struct stat facts;

    return !strchr(path, '/') || stat(path, &facts) != 0 || S_ISREG(facts.st_mode);
}

void tj_fs_unique_name(char out[64])
{
    uint64_t random = 0;
    size_t length = tj_format_int(out, getpid());

    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        random = ((uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&random) * SPREAD;
    }
    out[length++] = '-';
    for (int shift = 60; shift >= 0; shift -= 4)
        out[length++] = "0123456789abcdef"[(random >> shift) & 15];
    out[length] = '\0';
}
