/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler_log: extract a few facts from output that no standard describes.
 *
 *     kernel.cu(12): error: identifier "x" is undefined
 *     ptxas error   : Entry function 'k' uses too much shared data (0x61a80 bytes, 0x38c00 max)
 *     ptxas application ptx input, line 27; error : Not a name of any known instruction
 *
 *     ptxas info    : Compiling entry function 'k' for 'sm_90'
 *     ptxas info    : Function properties for k
 *     ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 32 registers, used 1 barriers, 512 bytes smem, 400 bytes cmem[0]
 *
 * Wording and order differ between versions: every number is found by the words that follow it.
 */
#include "compiler_log.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Find the first occurrence of what in [from, end). */
static const char *find(const char *from, const char *end, const char *what)
{
    return memmem(from, (size_t)(end - from), what, strlen(what));
}

static const char *line_end(const char *line)
{
    const char *end = strchr(line, '\n');

    return end ? end : line + strlen(line);
}

/* Is there "error:", "error :", "error #20:" or "error #20-D:" as a word of its own? */
static bool reports_error(const char *line, const char *end)
{
    for (const char *at = line; (at = find(at, end, "error")) != NULL; at++) {
        const char *rest = at + strlen("error");
        if (at > line && isalnum((unsigned char)at[-1]))
            continue;
        while (rest < end && strchr(" #0123456789-D", *rest))
            rest++;
        if (rest < end && *rest == ':')
            return true;
    }
    return false;
}

bool tj_log_reports_error(const char *log)
{
    return reports_error(log, log + strlen(log));
}

void tj_log_first_error(const char *log, char *out, size_t size)
{
    const char *chosen = NULL, *end;

    for (const char *line = log; *line; line = *end ? end + 1 : end) {
        end = line_end(line);
        if (reports_error(line, end)) {
            chosen = line;
            break;
        }
        if (!chosen && end > line && strncmp(line, "ptxas info", 10) != 0 && strncmp(line, "ptxas   ", 8) != 0)
            chosen = line;
    }
    if (chosen)
        snprintf(out, size, "%.*s", (int)(line_end(chosen) - chosen), chosen);
    else
        snprintf(out, size, "%s", "");
}

/* Return the number before the words, somewhere in [from, end); -1: none. */
static int32_t number_before(const char *from, const char *end, const char *words)
{
    const char *at = find(from, end, words), *first;
    int64_t value = 0;

    if (!at)
        return -1;
    for (first = at; first > from && isdigit((unsigned char)first[-1]); first--)
        ;
    for (const char *digit = first; digit < at && value <= INT32_MAX; digit++)
        value = 10 * value + (*digit - '0');
    return first == at || value > INT32_MAX ? -1 : (int32_t)value;
}

/* Return the line that begins "... Function properties for <name of the entry function>", or NULL. */
static const char *entry_properties(const char *entry, const char *end)
{
    const char *name = strchr(entry, '\'');
    const char *name_end = name ? strchr(name + 1, '\'') : NULL;
    const char *at = entry;

    if (!name_end || name_end - name > 256)
        return NULL;
    name++;
    while ((at = find(at, end, "Function properties for ")) != NULL) {
        at += strlen("Function properties for ");
        if (strncmp(at, name, (size_t)(name_end - name)) == 0 && !isgraph((unsigned char)at[name_end - name]))
            return at;
    }
    return NULL;
}

/* Read the report on the entry function that begins there. */
static tj_resources entry_resources(const char *entry, const char *end)
{
    tj_resources found = {-1, -1, -1, -1, -1, -1};
    const char *used = find(entry, end, ": Used ");
    const char *frame;

    if (used) {
        const char *used_end = line_end(used);
        found.registers = number_before(used, used_end, " registers");
        found.shared_bytes = number_before(used, used_end, " bytes smem");
        if (found.shared_bytes < 0 && found.registers >= 0)
            found.shared_bytes = 0; /* ptxas reports only what a kernel uses */
        found.constant_bytes = number_before(used, used_end, " bytes cmem[0]");
    }
    frame = entry_properties(entry, end);
    if (frame) {
        /* on the next line, or on the same one */
        const char *frame_end = line_end(frame);
        if (*frame_end)
            frame_end = line_end(frame_end + 1);
        found.stack_bytes = number_before(frame, frame_end, " bytes stack frame");
        found.spill_stores = number_before(frame, frame_end, " bytes spill stores");
        found.spill_loads = number_before(frame, frame_end, " bytes spill loads");
    }
    return found;
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

tj_resources tj_log_resources(const char *log)
{
    static const char words[] = "Compiling entry function '";
    tj_resources most = {-1, -1, -1, -1, -1, -1};
    const char *end = log + strlen(log);

    for (const char *entry = find(log, end, words); entry; entry = find(entry + sizeof words, end, words)) {
        const tj_resources one = entry_resources(entry, end);

        most.registers = larger(most.registers, one.registers);
        most.shared_bytes = larger(most.shared_bytes, one.shared_bytes);
        most.stack_bytes = larger(most.stack_bytes, one.stack_bytes);
        most.spill_stores = larger(most.spill_stores, one.spill_stores);
        most.spill_loads = larger(most.spill_loads, one.spill_loads);
        most.constant_bytes = larger(most.constant_bytes, one.constant_bytes);
    }
    return most;
}
