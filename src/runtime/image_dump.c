/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_dump: write a built image as files for people.
 *
 * Files are renamed into place: a watcher of the folder sees complete ones.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "image.h"
#include "output.h"

static tj_status write_file(const char *path, const void *bytes, size_t size, tj_error *err)
{
    tj_output file;
    tj_status status = tj_output_open(path, &file, err);

    if (status == TJ_OK)
        status = tj_output_write(&file, &(struct iovec){(void *)bytes, size}, 1, err);
    tj_output_close(&file);
    return status;
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
    tj_error err;

    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        snprintf(trouble, size, "cannot create %s: %s", dir, strerror(errno));
        return false;
    }
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        bool is_log = strcmp(file[i].suffix, "log") == 0;
        if (file[i].size == 0 && !is_log)
            continue;
        if (snprintf(path, sizeof path, "%s/%s-%.8s.%s", dir, tj_source_kernel(source), body->key.hex, file[i].suffix) >=
            (int)sizeof path)
            snprintf(trouble, size, "cannot write %s: %s", path, strerror(ENAMETOOLONG));
        else if (write_file(path, file[i].bytes, file[i].size, &err) == TJ_OK)
            continue;
        else
            snprintf(trouble, size, "%s", err.message);
        return false;
    }
    return true;
}
