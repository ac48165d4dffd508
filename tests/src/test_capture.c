/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Captures: counts of several threads, contexts and processes add up to one sum; existing files that are not captures stay.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "log.h"
#include "scales.h"

enum { THREADS = 8, CALLS = 500 };

static const tj_operands launch = TJ_OPERANDS_INIT;
static char folder[64], path[96], text[4096], warning[512];

static void hear(tj_log_level level, const char *line, void *payload)
{
    (void)level, (void)payload;
    snprintf(warning, sizeof warning, "%s", line);
}

static const tj_log heard = {TJ_LOG_WARNING, hear, NULL};

static void start(void)
{
    strcpy(folder, "/tmp/tilejit-capture-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/shapes.csv", folder);
    warning[0] = '\0';
}

static void stop(void)
{
    char line[128];

    snprintf(line, sizeof line, "rm -rf %s", folder);
    cr_expect(eq(int, system(line), 0));
}

TestSuite(capture, .init = start, .fini = stop);

static void note(struct tj_capture *capture, const tj_problem *problem, const tj_operands *operands)
{
    tj_capture_note(capture, &(const tj_captured){problem, problem, operands, false});
}

/* The file without its header. */
static const char *read_lines(void)
{
    FILE *file = fopen(path, "r");
    size_t size;
    char *body;

    cr_assert(file != NULL);
    size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    cr_assert(strncmp(text, "count,j,k,l,batch,dtype,", 24) == 0, "%s", text);
    body = strchr(text, '\n');
    return body ? body + 1 : "";
}

static void write_and_free(struct tj_capture *capture)
{
    tj_capture_write(capture, &heard);
    tj_capture_free(capture);
}

Test(capture, writes_each_problem_once_as_a_command_line_would_say_it)
{
    struct tj_capture *capture = tj_capture_create(path, 600, NULL, &heard);
    tj_problem plain = TJ_PROBLEM_INIT(16, 20, 24, TJ_F32), rich = TJ_PROBLEM_INIT(8, 9, 10, TJ_BF16), some;
    tj_operands extents = launch;

    note(capture, &plain, NULL);
    note(capture, &plain, &launch);
    note(capture, &plain, &launch);
    rich.batch = 5;
    rich.n.layout = TJ_COL_MAJOR;
    rich.m.ld = 12;
    rich.m.stride = TJ_BROADCAST;
    rich.p.type = TJ_F32;
    rich.j = (tj_dim){0, TJ_DIM_ANY, 4};
    rich.epilogue.has_beta = 1;
    extents.j = 32;
    note(capture, &rich, &extents);
    some = plain;
    cr_assert(tj_epilogue_parse("max(acc + bias:bf16[col], 0.5)", &some.epilogue, NULL) == TJ_OK);
    note(capture, &some, &launch);
    some = plain;
    some.rows = (tj_rows){TJ_ROWS_IN_GROUPS, 0, 0, 0, 8, 8, 1};
    some.n.stride = TJ_POINTERS;
    note(capture, &some, &launch);
    some = plain;
    some.n.type = TJ_S8;
    some.scale[TJ_MATRIX_N] = (tj_scale)SCALE_ALONG_K(64);
    note(capture, &some, &launch);
    some = plain;
    some.overlap = 1;
    note(capture, &some, &launch);
    some = plain;
    some.l = (tj_dim){0, TJ_DIM_ANY, 0}; /* prepared, and never launched */
    note(capture, &some, NULL);
    some = plain;
    some.m.ld = TJ_ANY;
    note(capture, &some, &launch);
    write_and_free(capture);
    cr_expect(eq(str, warning, ""));
    read_lines();
    cr_expect(strstr(text, "\n2,16,20,24,,f32,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n") != NULL, "%s", text);
    cr_expect(strstr(text, "\n1,32,9,10,5,bf16,,f32,,,col,,12,,,,broadcast,,,,j,j=4,,,,1,,,,,,,,,,,,,,,,,,\n") != NULL, "%s",
              text);
    cr_expect(strstr(text, ",max(acc+bias:bf16[col] 0.5),,,,,,,,,,,,,,,,,\n") != NULL, "%s", text);
    cr_expect(strstr(text, ",pointers,,,,,,,,,,8,host64,,,,,,,,,,,,,,,\n") != NULL, "%s", text);
    cr_expect(strstr(text, ",f32,s8,,") && strstr(text, ",along-k,,,,,,64,,,,,,,,,,,,,,\n"), "%s", text);
    cr_expect(strstr(text, "\n1,16,20,24,,f32,,,,,,,,,,,,,,,,,,,,,,,,,1,,,,,,,,,,,,,\n") != NULL, "%s", text);
    cr_expect(strstr(text, "\n0,16,20,1,,f32,,,,,,,,,,,,,,,l,,,,,,,,,,,,,,,,,,,,,,,\n") != NULL, "%s", text);
    cr_expect(strstr(text, "\n#1,j16 k20 l24 f32 ld_m=any\n") != NULL, "%s", text);
}

static void *count_calls(void *payload)
{
    tj_problem problem = TJ_PROBLEM_INIT(16, 20, 24, TJ_F32);

    for (int i = 0; i < CALLS; i++) {
        problem.j.extent = 16 + i % 2;
        note(payload, &problem, &launch);
    }
    return NULL;
}

/* exit(), without what the test's frame would print. */
static void quiet_exit(void)
{
    fclose(stdout);
    fclose(stderr);
    exit(0);
}

Test(capture, adds_what_threads_and_processes_count)
{
    struct tj_capture *capture = tj_capture_create(path, 600, NULL, &heard);
    pthread_t thread[THREADS];
    char wanted[160];

    for (int i = 0; i < THREADS; i++)
        if (fork() == 0) {
            struct tj_capture *own = tj_capture_create(path, 600, NULL, &heard);

            count_calls(own);
            tj_capture_write(capture, &heard); /* its parent's: not written here */
            write_and_free(own);
            _exit(warning[0] != '\0');
        }
    for (int i = 0; i < THREADS; i++)
        cr_assert(eq(int, pthread_create(&thread[i], NULL, count_calls, capture), 0));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    write_and_free(capture);
    for (int i = 0, state; i < THREADS; i++)
        cr_expect(wait(&state) > 0 && WIFEXITED(state) && WEXITSTATUS(state) == 0);
    snprintf(wanted, sizeof wanted,
             "%d,16,20,24,,f32,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n%d,17,20,24,,f32,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n",
             THREADS * CALLS, THREADS * CALLS);
    cr_expect(eq(str, (char *)read_lines(), wanted));
    cr_expect(eq(str, warning, ""));
}

Test(capture, leaves_what_is_no_capture_as_it_is)
{
    struct tj_capture *capture = tj_capture_create(path, 600, NULL, &heard);
    const tj_problem problem = TJ_PROBLEM_INIT(16, 20, 24, TJ_F32);
    FILE *file = fopen(path, "w");

    cr_assert(file != NULL);
    fputs("j,k,l\n1,2,3\n", file);
    fclose(file);
    note(capture, &problem, &launch);
    write_and_free(capture);
    cr_expect(strstr(warning, path) && strstr(warning, "name another"), "%s", warning);
    file = fopen(path, "r");
    cr_assert(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    cr_expect(eq(str, text, "j,k,l\n1,2,3\n"));
}

/*
 * The shapes of a process are in the file though it never frees its capture: when it calls exit(), and now and then before it
 * is killed.
 */
Test(capture, is_written_by_a_process_that_exits_or_is_killed)
{
    const tj_problem problem = TJ_PROBLEM_INIT(16, 20, 24, TJ_F32);
    const struct timespec moment = {0, 10000000};
    int state;
    pid_t child = fork();

    if (child == 0) {
        struct tj_capture *own = tj_capture_create(path, 600, NULL, &heard);

        note(own, &problem, &launch);
        quiet_exit();
    }
    cr_assert(child > 0 && waitpid(child, &state, 0) == child && WIFEXITED(state));
    cr_expect(eq(str, (char *)read_lines(), "1,16,20,24,,f32,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n"));
    child = fork();
    if (child == 0) {
        note(tj_capture_create(path, 1, NULL, &heard), &problem, &launch);
        pause();
    }
    cr_assert(child > 0);
    for (int i = 0; i < 2000 && strncmp(read_lines(), "2,", 2) != 0; i++)
        nanosleep(&moment, NULL);
    kill(child, SIGKILL);
    cr_expect(waitpid(child, &state, 0) == child && WIFSIGNALED(state));
    cr_expect(eq(str, (char *)read_lines(), "2,16,20,24,,f32,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n"));
}
