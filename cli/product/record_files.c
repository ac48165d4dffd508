/* SPDX-License-Identifier: Apache-2.0 */
/* record_files: the tuning records of files. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "product.h"

enum { MOST_RECORD_BYTES = 64 << 20 }; /* some 30 000 records; as JSON in memory twenty times that size */

static tj_status read_one(const char *path, const tj_problem *problem, const tj_device_facts *device, tj_records *records,
                          tj_error *err)
{
    char *text = NULL;
    tj_error why;
    tj_status status = cli_read_text(path, MOST_RECORD_BYTES, &text, err);

    if (status == TJ_OK && tj_records_parse(text, problem, device, records, NULL, &why) != TJ_OK)
        status = tj_fail(err, why.status, "%.120s: %.300s", path, why.message);
    free(text);
    return status;
}

static int is_json(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);

    return length > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 5, ".json") == 0;
}

/* Read all *.json of a folder, sorted by name. */
static tj_status read_folder(const char *path, const tj_problem *problem, const tj_device_facts *device, tj_records *records,
                             tj_error *err)
{
    struct dirent **entry;
    const int count = scandir(path, &entry, is_json, alphasort);
    tj_status status = TJ_OK;

    if (count < 0)
        return tj_fail(err, TJ_ERR_IO, "cannot read the folder %.300s: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];

        if (status == TJ_OK && snprintf(file, sizeof file, "%s/%s", path, entry[i]->d_name) >= (int)sizeof file)
            status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.60s... is longer than a path can be", path);
        if (status == TJ_OK)
            status = read_one(file, problem, device, records, err);
        free(entry[i]);
    }
    free(entry);
    return count == 0 ? tj_fail(err, TJ_ERR_NOT_FOUND, "no *.json lies in %.300s", path) : status;
}

tj_status cli_read_records(const char *list, const tj_problem *problem, const tj_device_facts *device, tj_records *records,
                           tj_error *err)
{
    tj_status status = TJ_OK;
    const char *item;
    size_t length;

    while (status == TJ_OK && (item = cli_next_item(&list, &length))) {
        char path[PATH_MAX];
        struct stat facts;

        if (length >= sizeof path)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.60s... is longer than a path can be", item);
        (void)snprintf(path, sizeof path, "%.*s", (int)length, item);
        status =
            (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode) ? read_folder : read_one)(path, problem, device, records, err);
    }
    return status;
}
