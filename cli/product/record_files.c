/* SPDX-License-Identifier: Apache-2.0 */
/* record_files: the tuning records of files. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

enum { MOST_RECORD_BYTES = 64 << 20 }; /* some 30 000 records; as JSON in memory it is twenty times that */

tj_status cli_read_records(const char *list, const tj_problem *problem, const tj_device_facts *device, tj_records *records,
                           tj_error *err)
{
    tj_status status = TJ_OK;

    while (status == TJ_OK && *list) {
        const size_t length = strcspn(list, ",");
        char path[PATH_MAX], *text = NULL;
        tj_error why;

        if (length >= sizeof path)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.60s... is longer than a path can be", list);
        (void)snprintf(path, sizeof path, "%.*s", (int)length, list);
        list += length + (list[length] != '\0');
        status = cli_read_text(path, MOST_RECORD_BYTES, &text, err);
        if (status == TJ_OK && tj_records_parse(text, problem, device, records, NULL, &why) != TJ_OK)
            status = tj_fail(err, why.status, "%.120s: %.300s", path, why.message);
        free(text);
    }
    return status;
}
