/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvrtc_compile: compile a source into PTX and CUBIN with an opened NVRTC.
 *
 * NVRTC needs more stack than a thread of the host program may have, so every compile runs on a thread of its own. A new thread
 * costs microseconds, a compile milliseconds: no pool.
 *
 * Knows options and results. Does not know kernels, keys or stores.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compiler_log.h"
#include "ending.h"
#include "error.h"
#include "nvrtc_table.h"
#include "printable.h"

#define VERBOSE "-Xptxas=-v" /* registers, spills, shared memory: in the log */

enum { STACK_BYTES = 16 * 1024 * 1024, MAX_OPTIONS = 16, OPTIONS_BYTES = 512 };

/* ---- signals ----------------------------------------------------------------------------------------------------- */

/*
 * In its first compile NVRTC's front end handles these signals itself: it ignores them first, which drops pending ones, then
 * calls exit() on them, and restores the old handlers by signal(), which drops their flags and masks. So the calling thread
 * catches them meanwhile, those that would reach it, and sends them again once the old handlers are fully restored.
 */
static const int taken[] = {SIGINT, SIGTERM, SIGXFSZ};
enum { TAKEN = sizeof taken / sizeof taken[0] };

typedef struct kept_signals {
    sigset_t set, mask;
    struct sigaction action[TAKEN];
    siginfo_t info[TAKEN];
    bool came[TAKEN];
} kept_signals;

static void keep_signals(kept_signals *kept)
{
    memset(kept, 0, sizeof *kept);
    sigemptyset(&kept->set);
    for (int i = 0; i < TAKEN; i++)
        sigaddset(&kept->set, taken[i]);
    pthread_sigmask(SIG_BLOCK, &kept->set, &kept->mask);
    for (int i = 0; i < TAKEN; i++)
        sigaction(taken[i], NULL, &kept->action[i]);
}

/* Join, asleep in a wait for signals, so that they are taken before NVRTC drops them. */
static void join_and_keep(pthread_t thread, kept_signals *kept)
{
    const struct timespec moment = {0, 2000000};

    while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
        siginfo_t info;
        const int signal = sigtimedwait(&kept->set, &info, &moment);

        for (int i = 0; i < TAKEN; i++)
            if (signal == taken[i]) {
                kept->came[i] = true;
                kept->info[i] = info;
            }
    }
}

/* Leave a handler alone that the program has changed meanwhile. */
static void put_signals_back(const kept_signals *kept)
{
    for (int i = 0; i < TAKEN; i++) {
        struct sigaction now;

        sigaction(taken[i], NULL, &now);
        if (now.sa_handler == kept->action[i].sa_handler)
            sigaction(taken[i], &kept->action[i], NULL);
        /* With its original siginfo, which Linux lets the first thread alone send; else as a new signal of this process. */
        if (kept->came[i] && syscall(SYS_rt_sigqueueinfo, getpid(), taken[i], &kept->info[i]) != 0)
            kill(getpid(), taken[i]);
    }
    pthread_sigmask(SIG_SETMASK, &kept->mask, NULL);
}

/* ---- one compile ------------------------------------------------------------------------------------------------- */

typedef struct compile_job {
    const tj_nvrtc *nvrtc;
    kept_signals *kept; /* of the calling thread; NULL: leave signals alone */
    const char *text, *name;
    const char *const *option;
    int option_count;
    bool wants_cubin;
    tj_compiled *compiled;
    int result;              /* NVRTC's */
    const char *failed_call; /* NULL: none */
    bool is_out_of_memory;   /* our memory ran out */
    bool was_cancelled;      /* because the process is exiting, or might be */
    bool is_first_use;       /* NVRTC creates static objects on demand */
} compile_job;

/* Run one call of NVRTC unless an earlier one failed. */
static bool succeeded(compile_job *job, int result, const char *call)
{
    if (job->failed_call || job->is_out_of_memory)
        return false;
    job->result = result;
    if (result != NVRTC_DONE)
        job->failed_call = call;
    return result == NVRTC_DONE;
}

static void *allocate(compile_job *job, size_t size)
{
    char *bytes = malloc(size + 1);

    if (bytes)
        bytes[size] = '\0';
    else
        job->is_out_of_memory = true;
    return bytes;
}

/* A log is also read after a failed compile, so failing to read it does not fail the job: then the log is empty. */
static void read_log(compile_job *job, tj_nvrtc_program *program)
{
    size_t size = 0;
    char *log;

    if (job->nvrtc->call.log_bytes(program, &size) != NVRTC_DONE)
        size = 0;
    log = allocate(job, size);
    if (!log)
        return;
    if (size > 0 && job->nvrtc->call.log(program, log) != NVRTC_DONE)
        size = 0;
    log[size] = '\0';
    job->compiled->log = tj_printable_copy(log, "\n\t");
    if (!job->compiled->log)
        job->is_out_of_memory = true;
    free(log);
}

static void read_ptx(compile_job *job, tj_nvrtc_program *program)
{
    size_t size = 0;

    if (!succeeded(job, job->nvrtc->call.ptx_bytes(program, &size), "nvrtcGetPTXSize"))
        return;
    job->compiled->ptx = allocate(job, size);
    if (job->compiled->ptx && succeeded(job, job->nvrtc->call.ptx(program, job->compiled->ptx), "nvrtcGetPTX"))
        job->compiled->ptx_bytes = strnlen(job->compiled->ptx, size);
}

static void read_cubin(compile_job *job, tj_nvrtc_program *program)
{
    size_t size = 0;

    if (!job->wants_cubin || !succeeded(job, job->nvrtc->call.cubin_bytes(program, &size), "nvrtcGetCUBINSize"))
        return;
    job->compiled->cubin = allocate(job, size);
    if (job->compiled->cubin && succeeded(job, job->nvrtc->call.cubin(program, job->compiled->cubin), "nvrtcGetCUBIN"))
        job->compiled->cubin_bytes = size;
}

static int is_cancelled(void *payload, void *unused)
{
    compile_job *job = payload;

    (void)unused;
    job->was_cancelled |= tj_ending_is_near(job->is_first_use); /* latched: NVRTC requires the answer to stay */
    return job->was_cancelled;
}

static void compile_inside(compile_job *job)
{
    const tj_nvrtc *nvrtc = job->nvrtc;
    tj_nvrtc_program *program = NULL;

    if (!succeeded(job, nvrtc->call.create_program(&program, job->text, job->name, 0, NULL, NULL), "nvrtcCreateProgram"))
        return;
    if (nvrtc->call.set_flow_callback)
        (void)nvrtc->call.set_flow_callback(program, is_cancelled, job); /* without it the compile cannot be cancelled */
    succeeded(job, nvrtc->call.compile_program(program, job->option_count, job->option), "nvrtcCompileProgram");
    read_log(job, program);
    read_ptx(job, program);
    read_cubin(job, program);
    nvrtc->call.destroy_program(&program);
}

/*
 * exit() waits for this thread, not for the one that joins it: the joining thread's signal handler may be the caller of exit().
 */
static void *run(void *payload)
{
    compile_job *job = payload;

    if (tj_ending_enter(job->is_first_use, NULL) == TJ_OK) {
        compile_inside(job);
        tj_ending_leave(job->is_first_use);
    } else {
        job->was_cancelled = true;
        job->failed_call = "exit";
    }
    return NULL;
}

static tj_status run_on_own_thread(compile_job *job, tj_error *err)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    int error;

    pthread_attr_init(&attributes);
    error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (error == 0) {
        /* The host program's signals belong to its own threads. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&thread, &attributes, run, job);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    if (error != 0)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY,
                       "cannot start the compiler's thread with its 16 MiB stack: %s; see the limits on memory and threads "
                       "(ulimit -v, ulimit -u)",
                       strerror(error));
    if (job->kept)
        join_and_keep(thread, job->kept);
    else
        pthread_join(thread, NULL);
    return TJ_OK;
}

static tj_status report(const compile_job *job, const char *target, tj_error *err)
{
    const tj_nvrtc *nvrtc = job->nvrtc;
    const char *log = job->compiled->log ? job->compiled->log : "";
    char first[320];

    if (job->was_cancelled && job->failed_call)
        return tj_fail(err, TJ_ERR_CANCELLED, "the process is exiting: nothing is compiled any more");
    if (job->is_out_of_memory || (job->failed_call && job->result == NVRTC_OUT_OF_MEMORY))
        return tj_fail_memory(err, "the compiler");
    tj_log_first_error(log, first, sizeof first);
    if (!first[0] && job->failed_call)
        snprintf(first, sizeof first, "%s: %s", job->failed_call, nvrtc->call.error_string(job->result));
    if (!job->failed_call) {
        if (job->compiled->ptx_bytes > 0 && (!job->wants_cubin || job->compiled->cubin_bytes > 0))
            return TJ_OK;
        return tj_fail(err, TJ_ERR_INTERNAL, "NVRTC %d.%d reported success but gave no %s for %s", nvrtc->major, nvrtc->minor,
                       job->compiled->ptx_bytes > 0 ? "CUBIN" : "PTX", target);
    }
    switch (job->result) {
    case NVRTC_BUILTINS:
        return tj_fail(err, TJ_ERR_NO_COMPILER,
                       "NVRTC %.150s cannot open libnvrtc-builtins.so.%d.%d: it belongs in the same folder; install NVRTC "
                       "completely (\"pip install nvidia-cuda-nvrtc\"), or set TILEJIT_NVRTC to another",
                       nvrtc->path, nvrtc->major, nvrtc->minor);
    case NVRTC_INVALID_OPTION:
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "NVRTC %d.%d does not compile for %s: %s", nvrtc->major, nvrtc->minor,
                       target, first);
    default:
        return tj_fail(err, TJ_ERR_COMPILE, "%s", first);
    }
}

void tj_compiled_drop(tj_compiled *compiled)
{
    free(compiled->ptx);
    free(compiled->cubin);
    free(compiled->log);
    *compiled = (tj_compiled){0};
}

/* Compile with options, one per line. Call between tj_nvrtc_enter and _leave. */
static tj_status compile(const tj_nvrtc *nvrtc, const char *text, const char *name, const char *target, const char *options,
                         kept_signals *kept, tj_compiled *compiled, tj_error *err)
{
    char lines[OPTIONS_BYTES], *rest = lines;
    const char *option[MAX_OPTIONS];
    compile_job job = {.nvrtc = nvrtc, .text = text, .name = name, .option = option, .kept = kept, .compiled = compiled};
    tj_status status;

    snprintf(lines, sizeof lines, "%s", options);
    for (char *line; job.option_count < MAX_OPTIONS && (line = strsep(&rest, "\n")) != NULL;)
        if (*line)
            option[job.option_count++] = line;
    job.wants_cubin = strncmp(target, "sm_", 3) == 0;
    *compiled = (tj_compiled){0};
    do {
        /* On a retry another thread may have finished the first compile. */
        job.is_first_use = !atomic_load(&nvrtc->probe->has_compiled);
        tj_compiled_drop(compiled);
        job.was_cancelled = job.is_out_of_memory = false;
        job.failed_call = NULL;
        status = run_on_own_thread(&job, err);
    } while (status == TJ_OK && job.was_cancelled && job.failed_call && !tj_ending_has_begun());
    if (*text && !job.failed_call)
        atomic_store(&nvrtc->probe->has_compiled, true);
    if (status == TJ_OK)
        status = report(&job, target, err);
    compiled->resources = tj_log_resources(compiled->log ? compiled->log : "");
    /* A failed compile returns no product, only its log. */
    if (status != TJ_OK) {
        char *log = status == TJ_ERR_COMPILE ? compiled->log : NULL;
        if (log)
            compiled->log = NULL;
        tj_compiled_drop(compiled);
        compiled->log = log;
    }
    return status;
}

/* ---- probe ------------------------------------------------------------------------------------------------------- */

/* Read the build: "release 13.0, V13.0.88" in the head of the PTX -> "13.0 V13.0.88" */
static bool read_build(const tj_nvrtc *nvrtc, const char *ptx, char identity[64])
{
    const char *release = strstr(ptx, "release "), *end = release ? strchr(release, '\n') : NULL;
    const char *build = release ? strstr(release, ", V") : NULL;
    size_t length;

    if (!build || (end && build > end))
        return false;
    build += 2;
    length = strcspn(build, " \t\r\n,;");
    if (length < 2 || length > 40)
        return false;
    snprintf(identity, 64, "%d.%d %.*s", nvrtc->major, nvrtc->minor, (int)length, build);
    return true;
}

static void name_by_file(const tj_nvrtc *nvrtc, char identity[64])
{
    struct stat file = {0};

    (void)stat(nvrtc->path, &file); /* even all zeros tell versions apart */
    snprintf(identity, 64, "%d.%d file %lld %lld", nvrtc->major, nvrtc->minor, (long long)file.st_size,
             (long long)file.st_mtime);
}

/*
 * Compile an empty source with each set of options that only newer versions know. A version rejects an unknown option at once,
 * before it compiles; the set that compiles also reveals the build.
 */
static tj_status probe_locked(const tj_nvrtc *nvrtc, kept_signals *kept, tj_error *err)
{
    static const struct {
        bool minimal, no_cache;
        const char *options;
    } tries[] = {
        {true, true, "--minimal\n--no-cache\n"}, /* from 12.9 */
        {true, false, "--minimal\n"},            /* from 12.0 */
        {false, false, ""},
    };
    tj_nvrtc_probe *probe = nvrtc->probe;
    tj_status status = TJ_ERR_INVALID_ARGUMENT;
    char target[32], options[OPTIONS_BYTES];
    tj_compiled compiled = {0};
    tj_error why;
    size_t i;

    snprintf(target, sizeof target, "compute_%s", nvrtc->target[0] + strlen("sm_"));
    for (i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        snprintf(options, sizeof options, "--gpu-architecture=%s\n-std=c++17\n%s", target, tries[i].options);
        status = compile(nvrtc, "", "probe.cu", target, options, kept, &compiled, &why);
        if (status != TJ_ERR_INVALID_ARGUMENT)
            break;
    }
    if (status == TJ_OK) {
        probe->has_minimal = tries[i].minimal;
        probe->has_no_cache = tries[i].no_cache;
        if (!read_build(nvrtc, compiled.ptx, probe->identity))
            name_by_file(nvrtc, probe->identity);
        atomic_store_explicit(&probe->is_done, true, memory_order_release);
    } else if (status == TJ_ERR_COMPILE || status == TJ_ERR_INVALID_ARGUMENT) {
        status = tj_fail(err, TJ_ERR_NO_COMPILER, "NVRTC %d.%d at %.150s does not compile an empty program: %.200s",
                         nvrtc->major, nvrtc->minor, nvrtc->path, why.message);
    } else if (err) {
        *err = why;
    }
    tj_compiled_drop(&compiled);
    return status;
}

/* Probe each library once; a failure is not remembered. Call between tj_nvrtc_enter and _leave. */
static tj_status probe_once(const tj_nvrtc *nvrtc, tj_error *err)
{
    tj_nvrtc_probe *probe = nvrtc->probe;
    tj_status status = TJ_OK;

    if (atomic_load_explicit(&probe->is_done, memory_order_acquire))
        return TJ_OK;
    pthread_mutex_lock(&probe->lock);
    if (!atomic_load_explicit(&probe->is_done, memory_order_relaxed)) {
        kept_signals kept;

        keep_signals(&kept);
        status = probe_locked(nvrtc, &kept, err);
        put_signals_back(&kept);
    }
    pthread_mutex_unlock(&probe->lock);
    return status;
}

tj_status tj_nvrtc_identity(const tj_nvrtc *nvrtc, const char **identity, tj_error *err)
{
    tj_status status = tj_nvrtc_enter(err);

    *identity = nvrtc->probe->identity;
    if (status != TJ_OK)
        return status;
    status = probe_once(nvrtc, err);
    tj_nvrtc_leave();
    return status;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static bool is_listed(const tj_nvrtc *nvrtc, const char *number, size_t digits)
{
    for (size_t i = 0; nvrtc->target[i]; i++) {
        const char *listed = nvrtc->target[i] + strlen("sm_");
        if (strlen(listed) == digits && strncmp(listed, number, digits) == 0)
            return true;
    }
    return false;
}

/*
 * Targets for one chip alone (a) exist from 90 on, for one family (f) from 100 on. NVRTC lists neither; it refuses an unknown
 * one by name.
 */
static bool is_target(const tj_nvrtc *nvrtc, const char *target)
{
    bool is_real = strncmp(target, "sm_", 3) == 0;
    const char *number = target + (is_real ? strlen("sm_") : strlen("compute_"));
    size_t digits;

    if (!is_real && strncmp(target, "compute_", strlen("compute_")) != 0)
        return false;
    digits = strspn(number, "0123456789");
    if (digits < 2 || digits > 4 || !is_listed(nvrtc, number, digits))
        return false;
    if (strcmp(number + digits, "a") == 0)
        return atoi(number) >= 90;
    if (strcmp(number + digits, "f") == 0)
        return atoi(number) >= 100;
    return number[digits] == '\0';
}

static tj_status fail_target(const tj_nvrtc *nvrtc, const char *target, tj_error *err)
{
    char list[200] = "";

    for (size_t i = 0, length = 0; nvrtc->target[i] && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, " %s", nvrtc->target[i]);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "\"%.40s\" is not a target of NVRTC %d.%d: use one of%s (PTX alone: compute_NN in place of sm_NN)", target,
                   nvrtc->major, nvrtc->minor, list);
}

/* Call between tj_nvrtc_enter and _leave. */
static tj_status make_options(const tj_nvrtc *nvrtc, const char *target, unsigned wishes, char out[OPTIONS_BYTES],
                              tj_error *err)
{
    tj_status status;

    out[0] = '\0';
    if (!is_target(nvrtc, target))
        return fail_target(nvrtc, target, err);
    status = probe_once(nvrtc, err);
    if (status != TJ_OK)
        return status;
    /* --no-cache: a result from NVRTC's own cache has no log, so neither registers nor spills. */
    /* 177: the dimensions are named at the top for readers, even if this request's source never uses them. */
    snprintf(out, OPTIONS_BYTES, "--gpu-architecture=%s\n-std=c++17\n--no-source-include\n--diag-suppress=177\n%s%s%s%s",
             target, wishes & TJ_NVRTC_LINES ? "--generate-line-info\n" : "", nvrtc->probe->has_minimal ? "--minimal\n" : "",
             nvrtc->probe->has_no_cache ? "--no-cache\n" : "", strncmp(target, "sm_", 3) == 0 ? VERBOSE "\n" : "");
    return TJ_OK;
}

tj_status tj_nvrtc_options(const tj_nvrtc *nvrtc, const char *target, unsigned wishes, char out[OPTIONS_BYTES], tj_error *err)
{
    tj_status status = tj_nvrtc_enter(err);

    out[0] = '\0';
    if (status != TJ_OK)
        return status;
    status = make_options(nvrtc, target, wishes, out, err);
    tj_nvrtc_leave();
    return status;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* NVRTC silently ends the source at NUL and at 0xFF: the rest would be missing from the kernel. */
static tj_status check_text(const char *text, size_t text_bytes, tj_error *err)
{
    int64_t line = 1;

    for (size_t i = 0; i < text_bytes; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == 0 || byte > 0x7f)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the source has a byte 0x%02x in line %lld: it must be ASCII text",
                           byte, (long long)line);
        line += byte == '\n';
    }
    return TJ_OK;
}

/*
 * With -v, ptxas (of 13.0) fails on too much shared memory without giving a reason; without -v it gives one. Keep the second
 * log only if it is the better one.
 */
static void ask_for_reason(const tj_nvrtc *nvrtc, const char *text, const char *name, const char *target, char *options,
                           tj_compiled *compiled, tj_error *err)
{
    char *verbose = strstr(options, VERBOSE);
    tj_compiled again;
    tj_error why;

    if (!verbose || tj_log_reports_error(compiled->log))
        return;
    *verbose = '\0'; /* it is the last option */
    if (compile(nvrtc, text, name, target, options, NULL, &again, &why) == TJ_ERR_COMPILE && tj_log_reports_error(again.log)) {
        tj_compiled_drop(compiled);
        *compiled = again;
        again = (tj_compiled){0};
        if (err)
            *err = why;
    }
    tj_compiled_drop(&again);
}

/* Open a library known by its card; its own facts must then equal the card's. */
static tj_status open_known(const tj_nvrtc **nvrtc, tj_error *err)
{
    const tj_nvrtc *opened;
    const char *identity;
    tj_status status;

    if ((*nvrtc)->handle)
        return TJ_OK;
    status = tj_nvrtc_open((*nvrtc)->path, 0, NULL, &opened, err);
    if (status == TJ_OK)
        status = tj_nvrtc_identity(opened, &identity, err);
    if (status == TJ_OK && strcmp(identity, (*nvrtc)->probe->identity) != 0)
        status = tj_fail(err, TJ_ERR_NO_COMPILER, "NVRTC at %.150s is %s and was %s a moment ago: start the program again",
                         (*nvrtc)->path, identity, (*nvrtc)->probe->identity);
    if (status == TJ_OK)
        *nvrtc = opened;
    return status;
}

tj_status tj_nvrtc_compile(const tj_nvrtc *nvrtc, const char *text, size_t text_bytes, const char *name, const char *target,
                           unsigned wishes, tj_compiled *compiled, tj_error *err)
{
    char options[OPTIONS_BYTES], *terminated = NULL;
    tj_status status = check_text(text, text_bytes, err);

    *compiled = (tj_compiled){0};
    if (status == TJ_OK)
        status = open_known(&nvrtc, err);
    if (status != TJ_OK)
        return status;
    status = tj_nvrtc_enter(err);
    if (status != TJ_OK)
        return status;
    status = make_options(nvrtc, target, wishes, options, err);
    if (status != TJ_OK)
        goto done;
    terminated = strndup(text, text_bytes);
    if (!terminated) {
        status = tj_fail_memory(err, "the source");
        goto done;
    }
    status = compile(nvrtc, terminated, name, target, options, NULL, compiled, err);
    if (status == TJ_ERR_COMPILE)
        ask_for_reason(nvrtc, terminated, name, target, options, compiled, err);

done:
    free(terminated);
    tj_nvrtc_leave();
    return status;
}
