/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (processes that are killed) */
/*
 * exit_while_compiling [RUNS]: processes that end while threads of the library are at work, RUNS of each kind and spread over the time
 * from the first look for NVRTC to the middle of a tuning. Each must end with the status that it ended with, by no signal.
 *
 *     "beside"     exit() on one thread, tj_compile on two others
 *     background   exit() while a problem is tuned in the background, and no tj_context_free
 *     late         a handler of the program's own, older than the library's, frees the context and asks for one more compile
 *     child        a forked child calls _exit() while its parent compiles (exit() would run NVRTC's destructors, which may wait for a lock
 *                  that a thread of the parent held)
 *     interrupted  SIGINT comes while the only thread compiles: the program's handler gets it and stays what it was
 *
 * Exit 77, with a message, without NVRTC.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tilejit/tools.h>

enum { DEFAULT_RUNS = 12, AT_ONCE = 4, ENDED_WELL = 42, WRONG = 43, LOST = 44, LONGEST_MS = 600 };

static const char *const kinds[] = {"beside", "background", "late", "child", "interrupted"};

static tj_context *context;

static tj_status compile(int64_t extent, tj_error *err)
{
    const tj_problem problem = TJ_PROBLEM_INIT(extent, 200, 300, TJ_F32);
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_status status = tj_generate(&problem, NULL, &source, err);

    if (status == TJ_OK)
        status = tj_compile(context, source, "sm_90", &image, err);
    tj_image_free(image);
    tj_source_free(source);
    return status;
}

static void *compile_on_and_on(void *payload)
{
    tj_error err;

    for (int64_t extent = *(const int *)payload;; extent += 2)
        if (compile(extent, &err) == TJ_ERR_CANCELLED)
            return NULL; /* exit() is under way */
}

static void end_late(void)
{
    tj_error err;

    if (compile(64, &err) != TJ_ERR_CANCELLED)
        _exit(WRONG);
    tj_context_free(context);
}

/* One call, whose problem is then tuned. */
static void multiply(void)
{
    const tj_problem problem = TJ_PROBLEM_INIT(48, 40, 56, TJ_F32);
    tj_operands x = TJ_OPERANDS_INIT;
    tj_buffer *m = NULL, *n = NULL, *p = NULL;
    tj_error err = {TJ_OK, ""};

    if (tj_buffer_create(context, 48 * 40 * sizeof(float), &m, &err) == TJ_OK &&
        tj_buffer_create(context, 40 * 56 * sizeof(float), &n, &err) == TJ_OK &&
        tj_buffer_create(context, 48 * 56 * sizeof(float), &p, &err) == TJ_OK && tj_buffer_fill(m, 0, &err) == TJ_OK &&
        tj_buffer_fill(n, 0, &err) == TJ_OK) {
        x.m.address = tj_buffer_address(m);
        x.n.address = tj_buffer_address(n);
        x.p.address = tj_buffer_address(p);
    }
    if (tj_matmul(context, &problem, &x, NULL, &err) != TJ_OK) {
        fprintf(stderr, "exit_while_compiling: %s\n", err.message);
        _exit(WRONG);
    }
}

static int end_child(void)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(ENDED_WELL);
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        raise(WTERMSIG(status));
    return WEXITSTATUS(status);
}

static volatile sig_atomic_t interrupts, strange_interrupts;

static void on_interrupt(int signal, siginfo_t *info, void *unused)
{
    (void)unused;
    interrupts++;
    strange_interrupts += signal != SIGINT || !info || info->si_code != SI_USER;
}

static int end_interrupted(int delay_us)
{
    const pid_t self = getpid();

    alarm(60);
    struct sigaction action = {.sa_flags = SA_SIGINFO}, after;
    tj_error err;

    action.sa_sigaction = on_interrupt;
    sigaddset(&action.sa_mask, SIGUSR1);
    if (sigaction(SIGINT, &action, NULL) != 0)
        return WRONG;
    if (fork() == 0) {
        usleep((useconds_t)delay_us);
        kill(self, SIGINT);
        _exit(0);
    }
    if (compile(64, &err) != TJ_OK || compile(65, &err) != TJ_OK)
        return WRONG;
    for (int i = 0; i < 1000 && !interrupts; i++)
        usleep(1000);
    if (!interrupts)
        return LOST; /* NVRTC ignores it for a moment */
    sigaction(SIGINT, NULL, &after);
    return interrupts == 1 && !strange_interrupts && after.sa_sigaction == on_interrupt && (after.sa_flags & SA_SIGINFO) &&
                   !(after.sa_flags & SA_RESTART) && sigismember(&after.sa_mask, SIGUSR1) == 1
               ? ENDED_WELL
               : WRONG;
}

static int end_after(const char *kind, int delay_us)
{
    static const int first[] = {101, 102};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    const int is_tuned = strcmp(kind, "background") == 0;
    pthread_t thread;
    tj_error err;

    options.cache_dir = "";
    options.driver = is_tuned ? "emulator" : "/no/such/libcuda.so.1";
    options.background_tuning_s = is_tuned ? 20 : 0;
    if (tj_context_create(&options, &context, &err) != TJ_OK)
        return WRONG;
    if (strcmp(kind, "late") == 0 && (atexit(end_late) != 0 || compile(64, &err) != TJ_OK))
        return WRONG;
    if (strcmp(kind, "interrupted") == 0)
        return end_interrupted(delay_us / 4); /* most of it in the first compile */
    if (is_tuned)
        multiply();
    for (int i = 0; i < 2 && !is_tuned; i++)
        if (pthread_create(&thread, NULL, compile_on_and_on, (void *)&first[i]) != 0)
            return WRONG;
    usleep((useconds_t)delay_us);
    if (strcmp(kind, "child") == 0)
        _exit(end_child());
    exit(ENDED_WELL);
}

static pid_t start(const char *self, const char *kind, int delay_us)
{
    const pid_t process = fork();
    char delay[16];

    if (process != 0)
        return process;
    snprintf(delay, sizeof delay, "%d", delay_us);
    execl(self, self, kind, delay, (char *)NULL);
    _exit(WRONG);
}

static int faults_of(const char *self, const char *kind, int runs)
{
    int faults = 0, lost = 0, running = 0, status;

    for (int i = 0; i < runs + AT_ONCE; i++) {
        if (i < runs && start(self, kind, (int)((int64_t)i * LONGEST_MS * 1000 / runs)) > 0)
            running++;
        if ((running < AT_ONCE && i < runs) || running == 0 || wait(&status) <= 0)
            continue;
        running--;
        if (WIFEXITED(status) && WEXITSTATUS(status) == LOST) {
            lost++;
            continue;
        }
        if (WIFSIGNALED(status))
            fprintf(stderr, "exit_while_compiling: %s: killed by signal %d\n", kind, WTERMSIG(status));
        else if (WEXITSTATUS(status) != ENDED_WELL)
            fprintf(stderr, "exit_while_compiling: %s: ended with %d\n", kind, WEXITSTATUS(status));
        faults += !WIFEXITED(status) || WEXITSTATUS(status) != ENDED_WELL;
    }
    printf("exit_while_compiling: %s: %d of %d processes did not end as they meant to\n", kind, faults, runs);
    if (lost > 0)
        printf("exit_while_compiling: %s: %d signals were lost\n", kind, lost);
    return faults + (lost > runs / 4);
}

static int has_nvrtc(void)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    const char *const *targets;
    tj_error err;
    int has = 0;

    options.cache_dir = "";
    options.driver = "/no/such/libcuda.so.1";
    if (tj_context_create(&options, &context, &err) == TJ_OK)
        has = tj_targets(context, &targets, &err) == TJ_OK;
    if (!has)
        fprintf(stderr, "exit_while_compiling: %s\n", err.message);
    tj_context_free(context);
    return has;
}

int main(int argc, char **argv)
{
    const int runs = argc > 1 ? atoi(argv[1]) : DEFAULT_RUNS;
    int faults = 0;

    if (argc > 2)
        return end_after(argv[1], atoi(argv[2]));
    setenv("TILEJIT_EMULATOR", EMULATOR_PATH, 0);
    setenv("CUDA_EMULATOR_LOG", "0", 0);
    if (!has_nvrtc()) {
        fprintf(stderr, "exit_while_compiling: SKIPPED: no NVRTC here\n");
        return getenv("TILEJIT_REQUIRE_NVRTC") ? 1 : 77;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        faults += faults_of(argv[0], kinds[i], runs);
    return faults != 0;
}
