/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors, bounded text, numbers, hashes, files.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "fs.h"
#include "hash.h"
#include "log.h"
#include "text.h"

Test(error, keeps_one_printable_line_within_its_size)
{
    tj_error err;
    char longer[2 * TJ_ERROR_MESSAGE_BYTES];

    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    cr_assert(eq(int, tj_fail(&err, TJ_ERR_IO, "a%sb", longer), TJ_ERR_IO));
    cr_assert(eq(sz, strlen(err.message), TJ_ERROR_MESSAGE_BYTES - 1));

    tj_fail(&err, TJ_ERR_IO, "file \x1b[31m\n\xff.npy");
    cr_assert(eq(str, err.message, "file ?[31m??.npy"));
    cr_assert(eq(int, tj_fail(NULL, TJ_ERR_IO, "nobody listens"), TJ_ERR_IO));
}

Test(error, knows_a_name_and_a_sentence_for_each_status)
{
    for (int status = TJ_OK; status <= TJ_ERR_INTERNAL; status++) {
        cr_expect(ne(str, (char *)tj_status_name((tj_status)status), "TJ_ERR_UNKNOWN"), "status %d", status);
        cr_expect(gt(sz, strlen(tj_status_text((tj_status)status)), 3), "status %d", status);
    }
    cr_assert(eq(str, (char *)tj_status_name((tj_status)999), "TJ_ERR_UNKNOWN"));
}

Test(text, reports_its_limit_once_and_stays_usable)
{
    tj_text text = TJ_TEXT_INIT(10);
    tj_error err;
    char *out;

    tj_text_append(&text, "0123456789");
    tj_text_append(&text, "!");
    tj_text_append(&text, "lost");
    cr_assert(eq(int, tj_text_take(&text, &out, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_assert(eq(ptr, out, NULL));
    cr_assert(ne(ptr, strstr(err.message, "10"), NULL));

    tj_text_append_int(&text, -42);
    cr_assert(eq(int, tj_text_take(&text, &out, &err), TJ_OK));
    cr_assert(eq(str, out, "-42"));
    free(out);
    cr_assert(eq(int, tj_text_take(&text, &out, &err), TJ_OK));
    cr_assert(eq(str, out, ""));
    free(out);
}

Test(text, parses_whole_numbers_and_nothing_else)
{
    static const struct {
        const char *text;
        bool is_number;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"16", true, 16},
        {"-1", true, -1},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"3.5", false, 0},
        {"0x10", false, 0},
        {"1e9", false, 0},
        {"16abc", false, 0},
        {"--1", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t value = 12345;
        cr_expect(eq(int, tj_parse_int(rows[i].text, &value), rows[i].is_number), "\"%s\"", rows[i].text);
        cr_expect(eq(i64, value, rows[i].is_number ? rows[i].value : 12345), "\"%s\"", rows[i].text);
    }
}

Test(text, writes_the_extreme_numbers)
{
    char out[24];

    tj_format_int(out, INT64_MIN);
    cr_assert(eq(str, out, "-9223372036854775808"));
    tj_format_int(out, INT64_MAX);
    cr_assert(eq(str, out, "9223372036854775807"));
}

Test(hash, is_xxh3_in_hexadecimal)
{
    char hex[TJ_HASH_HEX_BYTES];

    tj_hash_hex(tj_hash_bytes("", 0), hex);
    cr_assert(eq(str, hex, "99aa06d3014798d86001c324468d497f")); /* XXH3_128bits of nothing, from its specification */
}

Test(fs, never_hands_out_a_standard_stream)
{
    char *bytes;
    size_t size;
    int folder;

    close(0);
    folder = tj_fs_open_folder(AT_FDCWD, "/tmp");
    cr_assert(gt(int, folder, 2));
    cr_assert(eq(int, tj_fs_read(AT_FDCWD, "/proc/self/nothing", 10, &bytes, &size), false));
    close(folder);
}

Test(fs, refuses_links_fifos_and_files_that_are_too_large)
{
    char folder[] = "/tmp/tilejit-test-XXXXXX", *bytes;
    size_t size;
    int at;

    cr_assert(ne(ptr, mkdtemp(folder), NULL));
    at = tj_fs_open_folder(AT_FDCWD, folder);
    cr_assert(tj_fs_write_new(at, "file", "hello", 5));
    cr_assert(not(tj_fs_write_new(at, "file", "again", 5)), "an existing file is not written again");
    cr_assert(eq(int, symlinkat("file", at, "link"), 0));
    cr_assert(eq(int, mkfifoat(at, "fifo", 0600), 0));

    cr_expect(not(tj_fs_read(at, "link", 100, &bytes, &size)), "a link");
    cr_expect(not(tj_fs_read(at, "fifo", 100, &bytes, &size)), "a FIFO, which must not block");
    cr_expect(not(tj_fs_read(at, "file", 4, &bytes, &size)), "more than the limit");
    cr_assert(tj_fs_read(at, "file", 5, &bytes, &size));
    cr_assert(eq(str, bytes, "hello"));
    free(bytes);
    close(at);
    tj_fs_remove_tree(AT_FDCWD, folder);
    cr_assert(eq(int, access(folder, F_OK), -1));
}

Test(fs, makes_private_folders_under_any_umask)
{
    static const mode_t masks[] = {0, 0777, 0022};

    for (size_t i = 0; i < 3; i++) {
        char folder[] = "/tmp/tilejit-test-XXXXXX", path[100];
        struct stat facts;
        cr_assert(ne(ptr, mkdtemp(folder), NULL));
        strcat(strcpy(path, folder), "/a/b");
        umask(masks[i]);
        cr_expect(eq(int, tj_fs_make_path(path), 0), "umask %o", (unsigned)masks[i]);
        cr_expect(eq(int, stat(path, &facts), 0));
        cr_expect(eq(int, (int)(facts.st_mode & 0777), 0700), "umask %o", (unsigned)masks[i]);
        tj_fs_remove_tree(AT_FDCWD, folder);
    }
}
