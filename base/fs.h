/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs: files, below a folder that is already open. No call follows a link in the last component (except for paths that a user
 * names), leaks a descriptor into a child, hands out descriptors 0 to 2, or blocks on a FIFO. Failures answer -1 (or false)
 * with errno set.
 */
#ifndef TJ_BASE_FS_H
#define TJ_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** Open a folder below at (AT_FDCWD allowed). */
int tj_fs_open_folder(int at, const char *name);

/** Open a path that a user names, to read. Every link is followed. */
int tj_fs_open_named(const char *path);

/** Open a file to flock. A missing file is created with mode 0600, whatever the umask. */
int tj_fs_open_lock(int at, const char *name);

/** Does name, below at, still name the open folder or file? Another process may have replaced it. */
bool tj_fs_names(int at, const char *name, int fd);

/** Create a folder of mode 0700, whatever the umask, unless it exists. */
int tj_fs_make_folder(int at, const char *name);

/** Create a folder and its missing parents. */
int tj_fs_make_path(const char *path);

/**
 * Read a whole regular file of at most max_bytes; *bytes is malloc'ed with a NUL after its end. A file that others own (root
 * apart) or can write is refused.
 */
bool tj_fs_read(int at, const char *name, size_t max_bytes, char **bytes, size_t *size);

/**
 * Open a trusted file that a user names. Links are followed, as Kubernetes mounts secrets by them; the target is opened once
 * and then judged: a regular file of this user or root that nobody else can write and, if it is_secret, nobody else can read.
 * *size: its bytes. -1: *why is the defect, and the remedy.
 */
int tj_fs_open_believed(const char *path, bool is_secret, int64_t *size, const char **why);

/** Read all of a trusted file, as tj_fs_read does. */
bool tj_fs_read_believed(const char *path, bool is_secret, size_t max_bytes, char **bytes, size_t *size, const char **why);

/** Write all of it, or fail. SIGXFSZ does not reach the process. */
bool tj_fs_write(int fd, const void *bytes, size_t size);

/** Create a new file of mode 0600, write, fsync. SIGXFSZ does not reach the process. */
bool tj_fs_write_new(int at, const char *name, const void *bytes, size_t size);

/** Append one byte to a file and so set its modification time. Nothing is created; SIGXFSZ does not reach the process. */
void tj_fs_append_byte(int at, const char *name);

/** Remove a folder and its contents, two levels at most: an entry has no more. True: it is gone. */
bool tj_fs_remove_tree(int at, const char *name);

/** May path be given to dlopen? A FIFO may not: dlopen would wait for its writer. A bare name or a missing path may. */
bool tj_fs_is_loadable(const char *path);

/** Write a name that no other process or thread uses: "<pid>-<random>". */
void tj_fs_unique_name(char out[64]);

#endif
