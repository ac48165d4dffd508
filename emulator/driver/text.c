/* SPDX-License-Identifier: Apache-2.0 */
/* text: read the header of a PTX text, and rank how well it fits a device. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at)
{
    for (;;) {
        const char *end = NULL;
        at += strspn(at, " \t\r\n\v\f");
        if (at[0] == '/' && at[1] == '/')
            end = strchr(at, '\n');
        else if (at[0] == '/' && at[1] == '*')
            end = strstr(at + 2, "*/");
        else
            return at;
        at = end ? end + (*end == '*' ? 2 : 1) : at + strlen(at);
    }
}

emu_header emu_read_header(const char *text)
{
    emu_header found = {0, 0, 0};
    int major = 0, minor = 0;

    for (const char *at = skip_blanks(text); *at == '.'; at = skip_blanks(at)) {
        const size_t line = strcspn(at, "\n");
        if (strncmp(at, ".version", 8) == 0 && sscanf(at + 8, " %4d.%4d", &major, &minor) == 2) {
            found.version = major * 10 + minor;
        } else if (strncmp(at, ".target", 7) == 0) {
            const char *name = strstr(at, "sm_");
            char *end;
            if (name && name < at + line) {
                found.target = (int)strtol(name + 3, &end, 10);
                found.suffix = *end == 'a' || *end == 'f' ? *end : 0;
            }
            return found;
        } else if (strncmp(at, ".address_size", 13) != 0) {
            return found;
        }
        at += line;
    }
    return found;
}

bool emu_is_runnable(const emu_header *head, const emu_device *device)
{
    if (head->suffix == 'a')
        return head->target == device->capability;
    if (head->suffix == 'f')
        return head->target / 10 == device->capability / 10 && head->target <= device->capability;
    return head->target <= device->capability;
}

int emu_image_rank(const emu_device *device, const char *text)
{
    const emu_header head = emu_read_header(text);

    if (!head.target || !emu_is_runnable(&head, device))
        return -1;
    return head.target * 4 + (head.suffix == 'a' ? 2 : head.suffix == 'f' ? 1 : 0); /* suffixed targets rank highest */
}
