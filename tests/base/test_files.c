/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Files that a user names: input and output. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "input.h"
#include "output.h"

static char folder[] = "/tmp/tilejit-files-XXXXXX";
static tj_error err;

/* Everything happens there, by relative names. */
static void enter_folder(void)
{
    cr_assert(mkdtemp(folder) != NULL);
    cr_assert(eq(int, chdir(folder), 0));
    umask(022);
}

static void remove_folder(void)
{
    char command[100];

    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_expect(system(command) == 0);
}

static void put(const char *name, const char *text, mode_t mode)
{
    const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    cr_assert(eq(int, fchmod(fd, mode), 0));
    close(fd);
}

/* "" if it cannot be read. */
static const char *content(const char *name)
{
    static char text[256];
    const int fd = open(name, O_RDONLY);
    const ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;

    text[size > 0 ? size : 0] = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

static int mode_of(const char *name)
{
    struct stat facts = {0};

    cr_assert(eq(int, lstat(name, &facts), 0), "%s", name);
    return (int)(facts.st_mode & 07777);
}

static int count_files(void)
{
    DIR *list = opendir(".");
    int count = -2;

    while (readdir(list))
        count++;
    closedir(list);
    return count;
}

/* ---- input -------------------------------------------------------------------------------------------------------- */

TestSuite(input, .init = enter_folder, .fini = remove_folder, .timeout = 60);

/* Return the content of path; NULL: err says why not. Owned: the caller; free(). */
static char *text_of(const char *path, size_t max_bytes)
{
    char *text = NULL;
    size_t size = 0;

    if (tj_input_read_whole(path, max_bytes, &text, &size, &err) != TJ_OK)
        return NULL;
    cr_expect(eq(sz, strlen(text), size));
    return text;
}

static void expect_refused(const char *path, size_t max_bytes, tj_status status, const char *words)
{
    char *text = text_of(path, max_bytes);

    cr_expect(text == NULL, "%s", path);
    cr_expect(eq(int, err.status, status), "%s: %s", path, err.message);
    cr_expect(strstr(err.message, words) && strstr(err.message, path), "%s: %s", path, err.message);
    free(text);
}

/* A child that opens path for writing after some ms and writes each piece after some more. */
static pid_t begin_writer(const char *path, int ms, const char *const *piece)
{
    const pid_t child = fork();

    if (child != 0)
        return child;
    usleep((useconds_t)ms * 1000);
    const int fd = open(path, O_WRONLY);
    for (; *piece; piece++) {
        usleep((useconds_t)ms * 1000);
        if (write(fd, *piece, strlen(*piece)) < 0)
            _exit(1);
    }
    _exit(0);
}

Test(input, is_bounded_be_it_a_file_or_a_pipe)
{
    static const char *const pieces[] = {"hello", NULL};
    char *text;

    put("file", "hello", 0600);
    put("empty", "", 0600);
    cr_assert(eq(int, mkfifo("pipe", 0600), 0));
    for (size_t most = 4; most < 7; most++)
        for (int i = 0; i < 2; i++) {
            const char *path = i == 0 ? "file" : "pipe";
            const pid_t child = i == 0 ? 0 : begin_writer(path, 1, pieces);

            if (most < 5) {
                expect_refused(path, most, TJ_ERR_INVALID_ARGUMENT, "holds more than the 4 bytes");
            } else {
                text = text_of(path, most);
                cr_expect(text && strcmp(text, "hello") == 0, "%s of %zu: %s", path, most, err.message);
                free(text);
            }
            if (child)
                waitpid(child, NULL, 0);
        }
    text = text_of("empty", 0);
    cr_expect(text && !*text, "%s", err.message);
    free(text);
    text = text_of("/proc/self/comm", 100); /* whose size is said to be 0 */
    cr_expect(text && strchr(text, '\n'), "%s", err.message);
    free(text);
}

Test(input, larger_than_a_buffer_comes_whole)
{
    enum { BYTES = 300000 };
    const pid_t child = (mkfifo("pipe", 0600), fork());
    size_t size = 0;
    char *text = NULL;

    if (child == 0) {
        const int fd = open("pipe", O_WRONLY);
        char line[100];

        memset(line, 'x', sizeof line);
        for (int i = 0; i < BYTES / 100; i++)
            if (write(fd, line, sizeof line) != sizeof line)
                _exit(1);
        _exit(0);
    }
    cr_expect(eq(int, tj_input_read_whole("pipe", BYTES, &text, &size, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(sz, size, BYTES));
    cr_expect(text && strspn(text, "x") == BYTES);
    free(text);
    waitpid(child, NULL, 0);
}

Test(input, is_a_file_or_a_pipe_that_somebody_writes)
{
    static const char *const pieces[] = {"slowly ", "written", NULL};
    pid_t child;
    char *text;

    cr_assert(eq(int, mkfifo("pipe", 0600), 0));
    cr_assert(eq(int, mkdir("sub", 0700), 0));
    expect_refused("pipe", 100, TJ_ERR_IO, "no program writes");
    expect_refused("sub", 100, TJ_ERR_IO, "it is a folder");
    expect_refused("absent", 100, TJ_ERR_NOT_FOUND, "No such file");
    expect_refused("/dev/zero", 100, TJ_ERR_IO, "it is a device");
    expect_refused("/dev/null", 100, TJ_ERR_IO, "it is a device");
    child = begin_writer("pipe", 300, pieces);
    text = text_of("pipe", 100);
    cr_expect(text && strcmp(text, "slowly written") == 0, "%s", err.message);
    free(text);
    waitpid(child, NULL, 0);
}

Test(input, waits_for_a_writer_that_is_there_as_long_as_it_takes)
{
    static const char *const pieces[] = {"late", NULL};
    const int keeper = (mkfifo("pipe", 0600), open("pipe", O_RDWR));
    const pid_t child = begin_writer("pipe", 1300, pieces);
    char got[5] = "";
    size_t count = 0;
    tj_input in;

    cr_assert(eq(int, tj_input_open("pipe", &in, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_input_read(&in, got, 4, &count, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(str, got, "late"));
    tj_input_close(&in);
    waitpid(child, NULL, 0);
    close(keeper);
}

/* ---- output ------------------------------------------------------------------------------------------------------- */

TestSuite(output, .init = enter_folder, .fini = remove_folder, .timeout = 60);

static tj_status write_text(const char *path, const char *text)
{
    const size_t half = strlen(text) / 2;
    const struct iovec pieces[] = {{(void *)text, half}, {(void *)(text + half), strlen(text) - half}};
    tj_output out;
    tj_status status = tj_output_open(path, &out, &err);

    if (status == TJ_OK)
        status = tj_output_write(&out, pieces, 2, &err);
    tj_output_close(&out);
    return status;
}

Test(output, keeps_the_mode_of_a_file_and_gives_a_new_one_the_usual_one)
{
    static const mode_t modes[] = {0600, 0640, 0666, 0200, 0755};

    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        put("old", "before", modes[i]);
        cr_expect(eq(int, write_text("old", "after"), TJ_OK), "%s", err.message);
        cr_expect(eq(int, mode_of("old"), (int)modes[i]));
        cr_assert(eq(int, chmod("old", 0600), 0));
        cr_expect(eq(str, (char *)content("old"), (char *)"after"));
    }
    umask(027);
    cr_expect(eq(int, write_text("new", "whole"), TJ_OK), "%s", err.message);
    cr_expect(eq(int, mode_of("new"), 0640));
    cr_expect(eq(int, count_files(), 2), "and no part is left");
}

Test(output, refuses_a_read_only_file_before_anything_is_written)
{
    tj_output out;

    put("kept", "before", 0444);
    cr_expect(eq(int, tj_output_open("kept", &out, &err), TJ_ERR_IO));
    cr_expect(strstr(err.message, "cannot write kept: it is read-only: chmod u+w") != NULL, "%s", err.message);
    tj_output_close(&out);
    cr_expect(eq(str, (char *)content("kept"), (char *)"before"));
    cr_expect(eq(int, count_files(), 1));
}

Test(output, goes_through_links_which_stay)
{
    static const char *const links[][2] = {{"file", "link"}, {"link", "chain"}, {"sub/absent", "dangling"}};
    char absolute[PATH_MAX];

    put("file", "before", 0600);
    cr_assert(eq(int, mkdir("sub", 0700), 0));
    for (size_t i = 0; i < 3; i++)
        cr_assert(eq(int, symlink(links[i][0], links[i][1]), 0));
    cr_assert(eq(int, symlink("../link", "sub/up"), 0));
    snprintf(absolute, sizeof absolute, "%s/sub/far", folder);
    cr_assert(eq(int, symlink(absolute, "absolute"), 0));
    cr_expect(eq(int, write_text("link", "by link"), TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)content("file"), (char *)"by link"));
    cr_expect(eq(int, write_text("sub/up", "by a chain"), TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)content("file"), (char *)"by a chain"));
    cr_expect(eq(int, mode_of("file"), 0600));
    cr_expect(eq(int, write_text("dangling", "made"), TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)content("sub/absent"), (char *)"made"));
    cr_expect(eq(int, write_text("absolute", "made, too"), TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)content("sub/far"), (char *)"made, too"));
    for (size_t i = 0; i < 3; i++)
        cr_expect(readlink(links[i][1], absolute, sizeof absolute) > 0, "%s is a link no longer", links[i][1]);
    cr_assert(eq(int, symlink("round", "about"), 0));
    cr_assert(eq(int, symlink("about", "round"), 0));
    cr_expect(eq(int, write_text("round", "x"), TJ_ERR_IO));
    cr_expect(strstr(err.message, strerror(ELOOP)) != NULL, "%s", err.message);
}

Test(output, has_any_name_that_a_file_may_have)
{
    char name[NAME_MAX + 2];

    memset(name, 'n', sizeof name);
    name[NAME_MAX + 1] = '\0';
    cr_expect(eq(int, write_text(name, "x"), TJ_ERR_IO));
    cr_expect(strstr(err.message, strerror(ENAMETOOLONG)) != NULL, "%s", err.message);
    for (size_t length = NAME_MAX; length > NAME_MAX - 20; length--) {
        name[length] = '\0';
        cr_expect(eq(int, write_text(name, "x"), TJ_OK), "%zu: %s", length, err.message);
        cr_expect(eq(str, (char *)content(name), (char *)"x"));
    }
}

Test(output, says_at_once_where_nothing_can_be_written)
{
    static const struct {
        const char *path, *words;
    } rows[] = {{"absent/file", "its folder does not exist"},
                {"absent/", "its folder does not exist"},
                {"sub", "it is a folder"},
                {"sub/", "it is a folder"},
                {".", "it is a folder"},
                {"file/below", "Not a directory"}};

    put("file", "before", 0600);
    cr_assert(eq(int, mkdir("sub", 0700), 0));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_output out;

        cr_expect(eq(int, tj_output_open(rows[i].path, &out, &err), TJ_ERR_IO), "%s", rows[i].path);
        cr_expect(strstr(err.message, rows[i].words) && strstr(err.message, rows[i].path), "%s", err.message);
        tj_output_close(&out);
    }
    cr_expect(eq(int, write_text("/dev/null", "x"), TJ_OK), "%s", err.message);
    cr_expect(eq(int, write_text("/dev/full", "x"), TJ_ERR_IO));
    cr_expect(strstr(err.message, "cannot write /dev/full: No space left") != NULL, "%s", err.message);
}

Test(output, knows_its_standard_output_by_every_name)
{
    const int saved = dup(STDOUT_FILENO);
    bool is_dash, is_device, is_link, is_file, is_other, is_null;
    tj_status status;

    put("file", "", 0600);
    put("other", "", 0600);
    dup2(open("file", O_WRONLY), STDOUT_FILENO);
    is_dash = tj_output_is_stdout("-");
    is_device = tj_output_is_stdout("/dev/stdout");
    is_link = tj_output_is_stdout("/dev/fd/1");
    is_file = tj_output_is_stdout("file");
    is_other = tj_output_is_stdout("other");
    status = write_text("/dev/stdout", "first, ");
    if (status == TJ_OK)
        status = write_text("-", "second");
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    is_null = tj_output_is_stdout("/dev/null");
    dup2(saved, STDOUT_FILENO);
    cr_expect(is_dash && is_device && is_link && is_file && !is_other && !is_null);
    cr_expect(eq(int, status, TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)content("file"), (char *)"first, second"));
}

/* Parts of this naming that nobody holds go; a living process holds its own, and what looks otherwise is somebody's file. */
Test(output, sweeps_parts_of_dead_processes_alone)
{
    static const char *const others[] = {"tilejit-12-0123456789abcdef.part.npy", "tilejit-12-0123456789ABCDEF.part",
                                         "tilejit-0123456789abcdef.part", "tilejit-12-0123456789abcdef0.part",
                                         "p.npy.12-0.part"};
    const char *const dead = "tilejit-4194305-0123456789abcdef.part", *const living = "tilejit-1-fedcba9876543210.part";
    int ready[2], byte = 0;
    pid_t child;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        put(others[i], "mine", 0600);
    put(dead, "half", 0600);
    put(living, "half", 0600);
    cr_assert(eq(int, mkdir("tilejit-7-0123456789abcdef.part", 0700), 0));
    cr_assert(eq(int, symlink("p.npy.12-0.part", "tilejit-8-0123456789abcdef.part"), 0));
    cr_assert(eq(int, mkfifo("tilejit-9-0123456789abcdef.part", 0600), 0));
    cr_assert(eq(int, pipe(ready), 0));
    child = fork();
    if (child == 0) {
        if (flock(open(living, O_RDWR), LOCK_EX) != 0 || write(ready[1], &byte, 1) != 1)
            _exit(1);
        pause();
    }
    cr_assert(eq(int, (int)read(ready[0], &byte, 1), 1));
    cr_expect(eq(int, write_text("new", "x"), TJ_OK), "%s", err.message);
    cr_expect(access(dead, F_OK) != 0, "its process is dead");
    cr_expect(access(living, F_OK) == 0, "its process lives, whatever its name says");
    cr_expect(eq(int, count_files(), 5 + 4 + 1));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cr_expect(eq(int, write_text("new", "x"), TJ_OK), "%s", err.message);
    cr_expect(access(living, F_OK) != 0, "the kernel released it");
    cr_expect(eq(int, count_files(), 5 + 3 + 1));
}

/* Writers of one name run next to sweepers: each file is whole, and no writer loses its part. */
Test(output, of_many_processes_is_one_of_theirs)
{
    enum { PROCESSES = 6, ROUNDS = 60 };

    for (int p = 0; p < PROCESSES; p++)
        if (fork() == 0) {
            char text[200];

            memset(text, 'a' + p, sizeof text);
            text[sizeof text - 1] = '\0';
            for (int i = 0; i < ROUNDS; i++)
                if (write_text("file", text) != TJ_OK)
                    _exit(1);
            _exit(0);
        }
    for (int p = 0; p < PROCESSES; p++) {
        int status = -1;

        wait(&status);
        cr_expect(eq(int, status, 0));
    }
    cr_expect(eq(sz, strlen(content("file")), 199));
    cr_expect(eq(sz, strspn(content("file"), (char[]){content("file")[0], '\0'}), 199));
    cr_expect(eq(int, count_files(), 1));
}

/* As root: the owner stays; as another user, who may not give it away, its group gets no more than all have. */
Test(output, keeps_the_owner_where_it_may)
{
    struct stat facts;
    int status = -1;

    if (geteuid() != 0)
        cr_skip_test("only root has files of others");
    cr_assert(eq(int, chmod(".", 0777), 0));
    put("file", "before", 0672);
    cr_assert(eq(int, chown("file", 1235, 1236), 0));
    cr_expect(eq(int, write_text("file", "after"), TJ_OK), "%s", err.message);
    cr_assert(eq(int, stat("file", &facts), 0));
    cr_expect(facts.st_uid == 1235 && facts.st_gid == 1236 && (facts.st_mode & 07777) == 0672, "%o", facts.st_mode);
    if (fork() == 0)
        _exit(setgid(1234) != 0 || setuid(1234) != 0 || write_text("file", "theirs") != TJ_OK);
    wait(&status);
    cr_assert(eq(int, status, 0));
    cr_assert(eq(int, stat("file", &facts), 0));
    cr_expect(facts.st_uid == 1234 && facts.st_gid == 1234 && (facts.st_mode & 07777) == 0622, "%o", facts.st_mode);
}

Test(output, streams_into_the_file_itself)
{
    tj_output out;
    int fd;

    put("file", "a long text from before", 0600);
    cr_assert(eq(int, tj_output_open("file", &out, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)content("file"), (char *)"a long text from before"), "as yet");
    cr_assert(eq(int, tj_output_stream(&out, &fd, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, (int)write(fd, "line", 4), 4));
    cr_expect(eq(str, (char *)content("file"), (char *)"line"));
    close(fd);
    tj_output_close(&out);
    cr_expect(eq(int, mode_of("file"), 0600));
}
