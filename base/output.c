/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "fs.h"

enum { MOST_LINKS = 40, PART_BYTES = 96 };

static const char PART_BEGIN[] = "tilejit-", PART_END[] = ".part";

static tj_status cannot_write(const tj_output *out, const char *why, tj_error *err)
{
    return tj_fail(err, TJ_ERR_IO, "cannot write %.300s: %s", out->path, why);
}

/* ---- parts -------------------------------------------------------------------------------------------------------- */

/* "tilejit-<pid>-<16 hex>.part" */
static bool is_part(const char *name)
{
    if (strncmp(name, PART_BEGIN, strlen(PART_BEGIN)) != 0)
        return false;
    name += strlen(PART_BEGIN);
    name += strspn(name, "0123456789");
    return name[0] == '-' && strspn(name + 1, "0123456789abcdef") == 16 && strcmp(name + 17, PART_END) == 0;
}

/*
 * The writer of a part holds its lock until the rename, and the kernel releases the locks of dead processes. So no process id
 * has to be trusted, which would name another process in another container or on another host.
 */
static void remove_if_dead(int folder, const char *name)
{
    const int fd = openat(folder, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    struct stat facts;

    if (fd < 0)
        return;
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        tj_fs_names(folder, name, fd))
        (void)unlinkat(folder, name, 0);
    close(fd);
}

static void sweep(int folder)
{
    const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *file;

    if (!list) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((file = readdir(list)))
        if (is_part(file->d_name))
            remove_if_dead(folder, file->d_name);
    closedir(list);
}

/* Create a part and lock it; -1 with errno. If a sweep removed it before it was locked, create another. */
static int create_part(const tj_output *out, char name[PART_BYTES])
{
    for (;;) {
        char unique[64];
        int fd;

        tj_fs_unique_name(unique);
        (void)snprintf(name, PART_BYTES, "%s%s%s", PART_BEGIN, unique, PART_END);
        fd = openat(out->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, out->is_new ? 0666 : 0600);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            return -1;
        if ((flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && tj_fs_names(out->folder, name, fd))
            return fd;
        (void)unlinkat(out->folder, name, 0);
        close(fd);
    }
}

/* Copy mode and owner of the replaced file. If we cannot keep the old group, drop group permissions to those of others. */
static bool take_over(const tj_output *out, int fd)
{
    mode_t mode = out->mode & 0777;
    struct stat now;

    if (out->is_new)
        return true;
    if (fstat(fd, &now) != 0)
        return false;
    if ((now.st_uid != out->uid || now.st_gid != out->gid) && fchown(fd, out->uid, out->gid) != 0 &&
        fchown(fd, (uid_t)-1, out->gid) != 0)
        mode &= 0707 | (mode & 0007) << 3;
    return fchmod(fd, mode) == 0;
}

/* ---- where it goes ------------------------------------------------------------------------------------------------ */

/* Is this the file of the open standard output? /dev/null never counts: outputs to it cannot collide. */
static bool is_standard_output(const struct stat *facts)
{
    struct stat open_one, null;

    if (fstat(STDOUT_FILENO, &open_one) != 0 || open_one.st_dev != facts->st_dev || open_one.st_ino != facts->st_ino)
        return false;
    return !S_ISCHR(facts->st_mode) || stat("/dev/null", &null) != 0 || null.st_rdev != facts->st_rdev;
}

bool tj_output_is_stdout(const char *path)
{
    struct stat facts;

    return strcmp(path, "-") == 0 || (stat(path, &facts) == 0 && is_standard_output(&facts));
}

/*
 * Follow path through its links to a folder, which is opened, and a name in it. *is_magic: the path passes a link of /proc, as
 * /dev/fd does.
 */
static const char *find_place(tj_output *out, bool *is_magic)
{
    char path[PATH_MAX], real[PATH_MAX], link[PATH_MAX];

    *is_magic = false;
    if (strlen(out->path) >= sizeof path)
        return strerror(ENAMETOOLONG);
    strcpy(path, out->path);
    for (int i = 0; i < MOST_LINKS; i++) {
        char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        ssize_t length;

        if (strlen(name) > NAME_MAX)
            return strerror(ENAMETOOLONG);
        strcpy(out->name, name);
        if (slash)
            slash[slash == path] = '\0';
        if (!realpath(slash ? path : ".", real))
            return errno == ENOENT ? "its folder does not exist" : strerror(errno);
        *is_magic = strncmp(real, "/proc/", 6) == 0;
        if (*is_magic)
            return NULL;
        out->folder = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (out->folder < 0)
            return strerror(errno);
        length = readlinkat(out->folder, out->name, link, sizeof link);
        if (length < 0)
            return errno == EINVAL || errno == ENOENT ? NULL : strerror(errno);
        close(out->folder);
        out->folder = -1;
        if ((size_t)length + strlen(real) + 2 > sizeof path)
            return strerror(ENAMETOOLONG);
        link[length] = '\0';
        *path = '\0';
        if (link[0] != '/')
            strcat(strcpy(path, real), "/");
        strcat(path, link);
    }
    return strerror(ELOOP);
}

/* Return why the file cannot be replaced; NULL: it can. */
static const char *find_trouble(tj_output *out)
{
    struct stat facts;

    if (fstatat(out->folder, out->name, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT)
            return strerror(errno);
        out->is_new = true;
    } else if ((facts.st_mode & 0222) == 0) { /* also for root */
        return "it is read-only: chmod u+w, or name another file";
    } else if (faccessat(out->folder, out->name, W_OK, AT_EACCESS) != 0) {
        return strerror(errno);
    } else {
        out->mode = facts.st_mode;
        out->uid = facts.st_uid;
        out->gid = facts.st_gid;
    }
    if (out->name[0] == '\0')
        return "it names a folder";
    if (faccessat(out->folder, ".", W_OK | X_OK, AT_EACCESS) != 0)
        return errno == EACCES ? "its folder takes no new file: Permission denied" : strerror(errno);
    return NULL;
}

static const char *open_output(tj_output *out)
{
    const char *trouble;
    struct stat facts;
    bool is_magic, is_there;

    if (tj_output_is_stdout(out->path)) {
        out->is_stdout = true;
        out->stream = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return out->stream >= 0 ? NULL : strerror(errno);
    }
    is_there = stat(out->path, &facts) == 0;
    if (is_there && S_ISDIR(facts.st_mode))
        return "it is a folder";
    if (is_there && !S_ISREG(facts.st_mode))
        return access(out->path, W_OK) == 0 ? NULL : strerror(errno);
    trouble = find_place(out, &is_magic);
    if (trouble || is_magic)
        return trouble;
    trouble = find_trouble(out);
    if (!trouble)
        sweep(out->folder);
    return trouble;
}

tj_status tj_output_open(const char *path, tj_output *out, tj_error *err)
{
    const char *trouble;

    memset(out, 0, sizeof *out);
    out->path = path;
    out->folder = out->stream = -1;
    trouble = open_output(out);
    return trouble ? cannot_write(out, trouble, err) : TJ_OK;
}

void tj_output_close(tj_output *out)
{
    if (out->folder >= 0)
        close(out->folder);
    if (out->stream >= 0)
        close(out->stream);
    out->folder = out->stream = -1;
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

static bool write_pieces(int fd, const struct iovec *piece, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!tj_fs_write(fd, piece[i].iov_base, piece[i].iov_len))
            return false;
    return true;
}

tj_status tj_output_stream(const tj_output *out, int *fd, tj_error *err)
{
    if (out->is_stdout)
        *fd = fcntl(out->stream, F_DUPFD_CLOEXEC, 3);
    else
        *fd = out->folder >= 0 ? openat(out->folder, out->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666)
                               : open(out->path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    return *fd >= 0 ? TJ_OK : cannot_write(out, strerror(errno), err);
}

static tj_status write_as_it_is(const tj_output *out, const struct iovec *piece, size_t count, tj_error *err)
{
    int fd;
    tj_status status = tj_output_stream(out, &fd, err);

    if (status == TJ_OK && !write_pieces(fd, piece, count))
        status = cannot_write(out, strerror(errno), err);
    if (fd >= 0 && close(fd) != 0 && status == TJ_OK)
        status = cannot_write(out, strerror(errno), err);
    return status;
}

tj_status tj_output_write(const tj_output *out, const struct iovec *piece, size_t count, tj_error *err)
{
    char part[PART_BYTES];
    tj_status status = TJ_OK;
    int fd;

    if (out->folder < 0)
        return write_as_it_is(out, piece, count, err);
    fd = create_part(out, part);
    if (fd < 0)
        return cannot_write(out, strerror(errno), err);
    if (!write_pieces(fd, piece, count) || !take_over(out, fd) || fsync(fd) != 0 ||
        renameat(out->folder, part, out->folder, out->name) != 0) {
        status = cannot_write(out, strerror(errno), err);
        (void)unlinkat(out->folder, part, 0);
    }
    /* Network file systems may report a failed write only here, or in fsync. */
    if (close(fd) != 0 && status == TJ_OK)
        status = cannot_write(out, strerror(errno), err);
    return status;
}
