/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Errors, bounded text, numbers, hashes, files.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checked.h"
#include "error.h"
#include "fs.h"
#include "hash.h"
#include "log.h"
#include "printable.h"
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
    cr_assert(eq(str, err.message, "file \\x1b[31m\\n\\xff.npy"));
    cr_assert(eq(int, tj_fail(NULL, TJ_ERR_IO, "nobody listens"), TJ_ERR_IO));
}

/* At every place where the message may be cut there is a whole letter. */
Test(error, cuts_no_letter)
{
    for (int pad = 0; pad < 4; pad++) {
        tj_error err;
        char text[TJ_ERROR_MESSAGE_BYTES + 8] = "xxx";

        for (size_t i = (size_t)pad; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 4);
        tj_fail(&err, TJ_ERR_IO, "%s", text);
        cr_expect(strlen(err.message) > TJ_ERROR_MESSAGE_BYTES - 8 && strncmp(err.message, text, strlen(err.message)) == 0 &&
                      (strlen(err.message) - (size_t)pad) % 3 == 0,
                  "%s", err.message);
    }
}

Test(error, puts_the_caret_under_the_fault)
{
    tj_error err;

    tj_fail_with_caret(&err, TJ_ERR_INVALID_ARGUMENT, "\xc3\xa4\x1b+b", 4, "column 5: no name");
    cr_assert(eq(str, err.message, "column 5: no name\n    \xc3\xa4\\x1b+b\n          ^"), "%s", err.message);
}

Test(printable, keeps_letters_and_shows_what_a_terminal_obeys)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"plain ~ text", "plain ~ text"},
        {"\x1b]0;owned\x07\x7f", "\\x1b]0;owned\\x07\\x7f"},
        {"a\nb\tc\rd", "a\\nb\tc\\rd"},
        {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"}, /* C1: CSI */
        {"\xe2\x80\xae"
         "fdp",
         "\\xe2\\x80\\xaefdp"},                                /* from right to left */
        {"\xe2\x81\xa6\xd8\x9c", "\\xe2\\x81\\xa6\\xd8\\x9c"}, /* an isolate, a mark */
        {"\x9b\xff", "\\x9b\\xff"},
        {"\xc0\x9b", "\\xc0\\x9b"},          /* ESC, too long */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* half of a pair */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xe2\x82", "\\xe2\\x82"},
    };
    char shown[64];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t length = tj_printable(shown, sizeof shown, rows[i].text, "\t");
        char *copy = tj_printable_copy(rows[i].text, "\t"), again[64];

        cr_expect(strcmp(shown, rows[i].shown) == 0 && length == strlen(shown), "row %zu: %s", i, shown);
        cr_expect(eq(str, copy, (char *)rows[i].shown), "row %zu", i);
        cr_expect(tj_printable(again, sizeof again, shown, "\t") == length && strcmp(again, shown) == 0, "row %zu", i);
        for (size_t size = 0; size <= length; size++) { /* what is cut is cut between pieces */
            cr_expect(tj_printable(size ? shown : NULL, size, rows[i].text, "\t") == length, "row %zu", i);
            cr_expect(size == 0 || (strlen(shown) < size && strncmp(shown, copy, strlen(shown)) == 0), "row %zu", i);
        }
        free(copy);
    }
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

Test(text, prints_a_format_up_to_its_limit)
{
    tj_text text = TJ_TEXT_INIT(10);
    tj_error err;
    char *out;

    tj_text_append(&text, "ab");
    tj_text_print(&text, "%s[%d]", "cd", -42);
    tj_text_print(&text, "%c", 'e');
    cr_assert(eq(int, tj_text_take(&text, &out, &err), TJ_OK));
    cr_assert(eq(str, out, "abcd[-42]e"));
    free(out);

    tj_text_print(&text, "%s", "0123456789!");
    cr_assert(eq(int, tj_text_take(&text, &out, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_assert(eq(ptr, out, NULL));
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
        cr_expect(eq(int, rmdir(path), 0)); /* a tree of two levels is what can be removed */
        tj_fs_remove_tree(AT_FDCWD, folder);
        cr_expect(eq(int, access(folder, F_OK), -1));
    }
}

/* In a child: a signal would end it. */
static int write_where_no_file_may_grow(const char *folder)
{
    const struct rlimit none = {0, 0};
    const int at = tj_fs_open_folder(AT_FDCWD, folder);
    sigset_t pending;

    if (setrlimit(RLIMIT_FSIZE, &none) != 0)
        return 100;
    tj_fs_append_byte(at, "used");
    if (tj_fs_write_new(at, "new", "x", 1))
        return 1;
    return sigpending(&pending) != 0 || sigismember(&pending, SIGXFSZ);
}

Test(fs, takes_a_file_size_limit_for_a_failure_and_not_for_a_signal)
{
    char folder[] = "/tmp/tilejit-test-XXXXXX";
    int at, status = -1;
    pid_t child;

    cr_assert(ne(ptr, mkdtemp(folder), NULL));
    at = tj_fs_open_folder(AT_FDCWD, folder);
    cr_assert(tj_fs_write_new(at, "used", "", 0));
    child = fork();
    if (child == 0)
        _exit(write_where_no_file_may_grow(folder));
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_assert(eq(int, status, 0));
    close(at);
    tj_fs_remove_tree(AT_FDCWD, folder);
}

Test(fs, knows_whether_a_name_still_means_the_same_file)
{
    char folder[] = "/tmp/tilejit-test-XXXXXX";
    int at, lock, again;

    cr_assert(ne(ptr, mkdtemp(folder), NULL));
    at = tj_fs_open_folder(AT_FDCWD, folder);
    lock = tj_fs_open_lock(at, "lock");
    again = tj_fs_open_lock(at, "lock");
    cr_assert(gt(int, lock, 2));
    cr_expect(tj_fs_names(at, "lock", lock));
    cr_expect(tj_fs_names(at, "lock", again), "opened twice, one file");
    cr_assert(eq(int, renameat(at, "lock", at, "other"), 0));
    cr_expect(not(tj_fs_names(at, "lock", lock)), "no such name");
    cr_assert(tj_fs_write_new(at, "lock", "", 0));
    cr_expect(not(tj_fs_names(at, "lock", lock)), "another file of that name");
    close(again);
    close(lock);
    close(at);
    tj_fs_remove_tree(AT_FDCWD, folder);
}

Test(fs, refuses_what_others_can_write)
{
    char folder[] = "/tmp/tilejit-test-XXXXXX", *bytes;
    size_t size;
    int at;

    cr_assert(ne(ptr, mkdtemp(folder), NULL));
    at = tj_fs_open_folder(AT_FDCWD, folder);
    cr_assert(tj_fs_write_new(at, "file", "hello", 5));
    cr_assert(eq(int, fchmodat(at, "file", 0620, 0), 0));
    cr_expect(not(tj_fs_read(at, "file", 100, &bytes, &size)), "the group");
    cr_assert(eq(int, fchmodat(at, "file", 0602, 0), 0));
    cr_expect(not(tj_fs_read(at, "file", 100, &bytes, &size)), "the world");
    close(at);
    tj_fs_remove_tree(AT_FDCWD, folder);
}

Test(fs, gives_names_that_differ)
{
    char first[64], second[64];

    for (int i = 0; i < 1000; i++) {
        tj_fs_unique_name(first);
        tj_fs_unique_name(second);
        cr_assert(ne(str, first, second));
    }
}

Test(checked, says_what_does_not_fit)
{
    int64_t value = 0;

    cr_expect(tj_mul(INT64_C(3037000499), INT64_C(3037000499), &value));
    cr_expect(eq(i64, value, INT64_C(9223372030926249001)));
    cr_expect(not(tj_mul(INT64_C(3037000500), INT64_C(3037000500), &value)));
    cr_expect(tj_add(INT64_MAX - 1, 1, &value));
    cr_expect(not(tj_add(INT64_MAX, 1, &value)));
    cr_expect(eq(i64, tj_ceil_div(0, 16), 0));
    cr_expect(eq(i64, tj_ceil_div(16, 16), 1));
    cr_expect(eq(i64, tj_ceil_div(17, 16), 2));
    cr_expect(eq(i64, tj_ceil_div(INT64_MAX, 2), INT64_MAX / 2 + 1));
}

static void keep_line(tj_log_level level, const char *line, void *payload)
{
    (void)level;
    strcat(strcat(payload, line), "|");
}

Test(log, passes_on_what_is_asked_for_and_nothing_else)
{
    char lines[2000] = "";
    const tj_log log = {TJ_LOG_WARNING, keep_line, lines}, silent = {TJ_LOG_DEBUG, NULL, NULL};

    tj_log_line(&log, TJ_LOG_ERROR, "an %s", "error");
    tj_log_line(&log, TJ_LOG_WARNING, "%d warning", 1);
    tj_log_line(&log, TJ_LOG_INFO, "not asked for");
    tj_log_line(&silent, TJ_LOG_ERROR, "nobody listens");
    tj_log_line(NULL, TJ_LOG_ERROR, "nobody at all");
    tj_log_line(&log, TJ_LOG_ERROR, "%s", "\x1b[2J\ntilejit error: forged");
    cr_assert(eq(str, lines, "an error|1 warning|\\x1b[2J\\ntilejit error: forged|"));
}
