/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (processes that are killed) */
/* tier: change; run: stress/fleet_cold cold 4; sanitizers: nightly (processes that are killed) */
/*
 * fleet [SHAPES [WORKERS [KILLS [SERVER_KILLS [STOP_S]]]]]: workers with a stub in place of a GPU tune shapes over a real redis-server, while
 * workers are killed (-9) at random, the server is killed and started again, stopped, and without memory, and records there are altered.
 * In the end every shape has its record, and none was tuned twice, except where a kill lost the result.
 *
 * fleet rate SHAPES [MS]: shapes per second with 1, 2, 4 and 8 workers whose stub takes MS. fleet cold PROCESSES: PROCESSES processes, each
 * with a store of its own, want one kernel that nobody has; then the same without a server.
 *
 * Exit 77, with a message, without a redis-server; cold needs NVRTC too.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "fleet.h"
#include "queue.h"
#include "share.h"

enum { MOST_WORKERS = 64, LEASE_MS = 1500 };

static char root[64], socket_path[96], address[512], self[512];
static pid_t server;
static const fleet_class class = {"0123456789abcdef", "{\"text\":\"a stub\"}"};

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void nap(int ms)
{
    const struct timespec pause = {ms / 1000, (ms % 1000) * 1000000L};

    (void)nanosleep(&pause, NULL);
}

/* ---- the server --------------------------------------------------------------------------------------------------- */

static bool has_server(void)
{
    return system("redis-server --version 2>/dev/null | grep -qE 'v=([7-9]|[1-9][0-9])\\.'") == 0;
}

static int64_t *ahead; /* seconds by which the server's wall clock is wrong */

/* False: there is no fake_clock next to this program, so the server's clock is the machine's. */
static bool has_clock(void)
{
    char path[600];
    const int end = (int)(strrchr(self, '/') - self);

    (void)snprintf(path, sizeof path, "%.*s/libfake_clock.so", end, self);
    return access(path, R_OK) == 0 && setenv("FAKE_CLOCK_LIBRARY", path, 1) == 0;
}

static void make_clock(void)
{
    char path[128];
    int file;

    (void)snprintf(path, sizeof path, "%s/clock", root);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *ahead) != 0)
        exit(1);
    ahead = mmap(NULL, sizeof *ahead, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (ahead == MAP_FAILED || setenv("FAKE_CLOCK", path, 1) != 0)
        exit(1);
}

static void start_server(void)
{
    server = fork();
    if (server == 0) {
        const int null = open("/dev/null", O_RDWR);

        if (getenv("FAKE_CLOCK_LIBRARY"))
            setenv("LD_PRELOAD", getenv("FAKE_CLOCK_LIBRARY"), 1);

        dup2(null, 0);
        dup2(null, 1);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket_path, "--dir", root, "--save", "",
               "--appendonly", "yes", "--appendfsync", getenv("FLEET_FSYNC") ? getenv("FLEET_FSYNC") : "always", "--loglevel",
               "warning", (char *)NULL);
        _exit(127);
    }
}

static fleet *connect_server(void)
{
    fleet *connection = NULL;
    tj_error err;

    for (int i = 0; i < 400; i++) {
        if (fleet_open(address, true, &connection, &err) == TJ_OK)
            return connection;
        nap(50);
    }
    fprintf(stderr, "fleet: %s\n", err.message);
    exit(1);
}

static void command(const char *first, const char *second, const char *third, const char *fourth)
{
    fleet *connection = connect_server();
    redisReply *reply;
    tj_error err;

    if (fleet_wire_say(&connection->wire, fleet_now_ms() + 5000, &reply, &err, first, second, third, fourth, NULL) == TJ_OK)
        freeReplyObject(reply);
    else
        fprintf(stderr, "fleet: %s\n", err.message);
    fleet_close(connection);
}

static void end_server(int with)
{
    int status;

    if (server <= 0)
        return;
    (void)kill(server, with);
    (void)waitpid(server, &status, 0);
    server = 0;
}

static void make_root(void)
{
    tj_error err;
    char key[96];

    strcpy(root, "/tmp/tilejit-fleet-XXXXXX");
    if (!mkdtemp(root))
        exit(1);
    snprintf(socket_path, sizeof socket_path, "%s/socket", root);
    snprintf(key, sizeof key, "%s/key", root);
    if (fleet_make_key(key, &err) != TJ_OK) {
        fprintf(stderr, "fleet: %s\n", err.message);
        exit(1);
    }
    snprintf(address, sizeof address, "redis+unix://%s?sign=%s", socket_path, key);
}

static void remove_root(void)
{
    char line[128];

    end_server(SIGKILL);
    snprintf(line, sizeof line, "rm -rf %s", root);
    if (system(line) != 0)
        fprintf(stderr, "fleet: %s is left\n", root);
}

/* ---- a worker ----------------------------------------------------------------------------------------------------- */

static int journal = -1, stub_ms;

static void note(char what, const char *problem)
{
    char line[64];
    const int length = snprintf(line, sizeof line, "%c %s\n", what, problem);

    if (write(journal, line, (size_t)length) != length)
        abort();
}

static tj_status stub(void *payload, const char *problem, char **record, tj_error *err)
{
    (void)payload;
    (void)err;
    note('b', problem);
    if (stub_ms > 0)
        nap(stub_ms);
    *record = malloc(1400);
    memset(*record, ' ', 1400); /* as large as a record is */
    memcpy(*record, problem, strlen(problem));
    (*record)[1399] = '\0';
    note('e', problem);
    return TJ_OK;
}

static tj_status greater(void *payload, const char *present, const char *found, char **better, tj_error *err)
{
    (void)payload;
    (void)err;
    *better = strcmp(found, present) > 0 ? strdup(found) : NULL;
    return TJ_OK;
}

static void tell(void *payload, const char *problem, const char *line)
{
    (void)payload;
    if (getenv("FLEET_VERBOSE"))
        fprintf(stderr, "worker %d: %s%s%s\n", (int)getpid(), problem ? problem : "", problem ? ": " : "", line);
}

static int work(char **argv)
{
    char path[128];
    fleet_work how = {.url = argv[3],
                      .of = class,
                      .spool = argv[4],
                      .lease_ms = LEASE_MS,
                      .patience_ms = 60000,
                      .until_empty = true,
                      .tune = stub,
                      .merge = greater,
                      .tell = tell};
    fleet_worked worked;
    tj_error err;
    tj_status status = TJ_ERR_IO;

    snprintf(path, sizeof path, "%s/journal", argv[2]);
    journal = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    stub_ms = atoi(argv[5]);
    for (int i = 0; i < 100 && status == TJ_ERR_IO; i++) { /* the server may be down just now */
        status = fleet_work_on(&how, &worked, &err);
        if (status == TJ_ERR_IO)
            nap(100);
    }
    if (status != TJ_OK)
        fprintf(stderr, "worker: %s\n", err.message);
    return status != TJ_OK;
}

static pid_t start_worker(int number, int ms)
{
    const pid_t child = fork();
    char spool[96], text[16];

    if (child != 0)
        return child;
    snprintf(spool, sizeof spool, "%s/spool-%d", root, number);
    snprintf(text, sizeof text, "%d", ms);
    execl(self, self, "worker", root, address, spool, text, (char *)NULL);
    _exit(127);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------- */

static fleet_shape *make_shapes(int count)
{
    fleet_shape *shape = calloc((size_t)count, sizeof *shape);

    for (int i = 0; i < count; i++) {
        char text[32];

        snprintf(shape[i].id, sizeof shape[i].id, "%032d", i);
        snprintf(text, sizeof text, "%d", i);
        shape[i].problem = strdup(text);
    }
    return shape;
}

static fleet_submitted submit(int count)
{
    fleet_shape *shape = make_shapes(count);
    fleet *connection = connect_server();
    fleet_submitted submitted;
    tj_error err;

    if (fleet_submit(connection, &class, shape, (size_t)count, false, &submitted, &err) != TJ_OK) {
        fprintf(stderr, "fleet: %s\n", err.message);
        exit(1);
    }
    fleet_close(connection);
    for (int i = 0; i < count; i++)
        free(shape[i].problem);
    free(shape);
    return submitted;
}

static void count_record(void *payload, const char *id, const char *record)
{
    int *count = payload;

    *count += atoi(id) == atoi(record);
}

/* Sound records; *ignored: others. */
static int count_records(int64_t *ignored)
{
    fleet *connection = connect_server();
    const char *why;
    int count = 0;
    tj_error err;

    if (fleet_each_record(connection, class.id, count_record, &count, ignored, &why, &err) != TJ_OK)
        fprintf(stderr, "fleet: %s\n", err.message);
    fleet_close(connection);
    return count;
}

static long long remaining(void)
{
    fleet *connection = connect_server();
    redisReply *reply;
    long long count = -1;
    tj_error err;

    if (fleet_wire_say(&connection->wire, fleet_now_ms() + 5000, &reply, &err, "HLEN", "tilejit:1:{0123456789abcdef}:queued",
                       NULL) == TJ_OK) {
        count = reply->integer;
        freeReplyObject(reply);
    }
    fleet_close(connection);
    return count;
}

/* Has the one that never comes anything in hand? */
static bool holds_nothing(void)
{
    fleet *connection = connect_server();
    redisReply *reply;
    bool is_free = false;
    tj_error err;

    if (fleet_wire_say(&connection->wire, fleet_now_ms() + 5000, &reply, &err, "XPENDING", "tilejit:1:{0123456789abcdef}:queue",
                       "w", "-", "+", "1", "nobody", NULL) == TJ_OK) {
        is_free = reply->elements == 0;
        freeReplyObject(reply);
    }
    fleet_close(connection);
    return is_free;
}

typedef struct tally {
    int begun, ended, never, again, in_vain;
} tally;

/* Read the workers' journal: again: begun once more; in_vain: once more after it had ended. */
static tally read_journal(int shapes)
{
    char path[128], line[64];
    int *begun = calloc((size_t)shapes, sizeof *begun), *ended = calloc((size_t)shapes, sizeof *ended);
    tally t = {0, 0, 0, 0, 0};
    FILE *file;

    snprintf(path, sizeof path, "%s/journal", root);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        const int shape = atoi(line + 2);

        if (shape < 0 || shape >= shapes)
            continue;
        if (line[0] == 'b') {
            t.begun++;
            t.again += begun[shape] > 0;
            t.in_vain += ended[shape] > 0;
            begun[shape]++;
        } else {
            t.ended++;
            ended[shape]++;
        }
    }
    for (int i = 0; i < shapes; i++)
        t.never += ended[i] == 0;
    if (file)
        fclose(file);
    free(begun);
    free(ended);
    return t;
}

/* ---- the storm ---------------------------------------------------------------------------------------------------- */

static unsigned next_random(void)
{
    static unsigned state = 12345;

    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Bytes of a record are changed, one is cut, one is huge, one is of another version: none of them may be believed. */
static int alter_records(void)
{
    static char huge[200000];
    static const char *const value[] = {"tilejit 1 record junk\n{}", "", "tilejit 2 record of a later version\n{}",
                                        "{\"config\":\"evil\"}", huge};
    const int count = sizeof value / sizeof value[0];

    memset(huge, 'x', sizeof huge - 1);
    for (int i = 0; i < count; i++) {
        char id[40];

        snprintf(id, sizeof id, "%032d", i);
        command("HSET", "tilejit:1:{0123456789abcdef}:records", id, value[i]);
    }
    return count;
}

static int storm(int shapes, int workers, int kills, int server_kills, int stop_s)
{
    pid_t worker[MOST_WORKERS];
    const double start = seconds();
    int killed = 0, servers = 0, faults = 0, altered, sound, pause = 0;
    fleet_submitted submitted;
    int64_t ignored;
    tally t;
    long long left;

    make_clock();
    if (has_clock())
        *ahead = 86400;
    else
        printf("fleet: there is no libfake_clock.so next to this program: the server's clock does not jump\n");
    start_server();
    submitted = submit(shapes);
    faults += submitted.added != shapes;
    submitted = submit(shapes);
    faults += submitted.added != 0 || submitted.queued != shapes;
    for (int i = 0; i < workers; i++)
        worker[i] = start_worker(i, 4);
    command("SET", "of another program", "1", NULL); /* shares the database, and stays */
    command("SET", "tilejit:2:of another version", "1", NULL);
    nap(200);
    /* One that never comes again has three shapes in hand, and what the workers have, when the server's clock jumps back a day. */
    command("EVAL",
            "local queue = 'tilejit:1:{0123456789abcdef}:queue' "
            "redis.call('XREADGROUP', 'GROUP', 'w', 'nobody', 'COUNT', 3, 'STREAMS', queue, '>') "
            "redis.call('XAUTOCLAIM', queue, 'w', 'nobody', 0, '0-0')",
            "0", NULL);
    *ahead = 0;
    while ((left = remaining()) > 0 || servers < server_kills) {
        const int i = (int)(next_random() % (unsigned)workers);
        int status;

        if (killed < kills && (shapes - left) * kills >= (long long)killed * shapes) { /* all the way through */
            (void)kill(worker[i], SIGKILL);
            killed++;
        }
        /* One that is started anew has no times of tomorrow, so what jumped is to be found out before. */
        if (servers < server_kills && killed >= (servers + 1) * kills / (server_kills + 1) &&
            (servers > 0 || holds_nothing())) {
            end_server(SIGKILL);
            nap((int)(next_random() % 1000));
            start_server();
            servers++;
        }
        if (stop_s > 0 && left < shapes / 2) {
            (void)kill(server, SIGSTOP);
            nap(1000 * stop_s);
            (void)kill(server, SIGCONT);
            stop_s = 0;
        }
        if (pause == 0 && left < 3 * shapes / 4) { /* no memory for a while */
            command("CONFIG", "SET", "maxmemory", "1");
            nap(1000);
            command("CONFIG", "SET", "maxmemory", "0");
            *ahead = 3600; /* and the clock jumps forward */
            pause = 1;
        }
        for (int k = 0; k < workers; k++)
            if (waitpid(worker[k], &status, WNOHANG) == worker[k])
                worker[k] = start_worker(k, 4);
        nap(20 + (int)(next_random() % 100));
        if (seconds() - start > 1500) {
            fprintf(stderr, "fleet: %lld shapes are left after 25 minutes\n", left);
            faults++;
            break;
        }
    }
    for (int i = 0; i < workers; i++) {
        int status = 0;

        if (waitpid(worker[i], &status, 0) == worker[i])
            faults += status != 0;
    }
    sound = count_records(&ignored);
    t = read_journal(shapes);
    printf("fleet: %d shapes, %d workers, %d killed, server killed %d times: %d sound records, %d others, begun %d times, %d "
           "shapes never "
           "ended, %d begun again, %d of them after they had ended; %.1f s\n",
           shapes, workers, killed, servers, sound, (int)ignored, t.begun, t.never, t.again, t.in_vain, seconds() - start);
    faults += sound != shapes || ignored != 0 || t.never != 0 || killed < kills || servers < server_kills;
    faults += t.again > killed + servers * workers + 2 * workers || t.in_vain > killed;

    altered = alter_records();
    sound = count_records(&ignored);
    faults += sound != shapes - altered || ignored != altered;
    submitted = submit(shapes);
    faults += submitted.added != altered || submitted.recorded != shapes - altered;
    faults += waitpid(start_worker(0, 0), NULL, 0) <= 0;
    sound = count_records(&ignored);
    printf("fleet: %d records altered: all ignored, queued again, and made anew: %d sound, %d others\n", altered, sound,
           (int)ignored);
    faults += sound != shapes || ignored != 0;
    end_server(SIGTERM);
    printf("fleet: %s\n", faults ? "FAILED" : "no shape was lost");
    return faults != 0;
}

/* ---- rate --------------------------------------------------------------------------------------------------------- */

static int rate(int shapes, int ms)
{
    int faults = 0;

    for (int workers = 1; workers <= 8; workers *= 2) {
        pid_t worker[8];
        double start;
        int64_t ignored;

        start_server();
        command("FLUSHALL", NULL, NULL, NULL);
        (void)submit(shapes);
        start = seconds();
        for (int i = 0; i < workers; i++)
            worker[i] = start_worker(i, ms);
        for (int i = 0; i < workers; i++)
            (void)waitpid(worker[i], NULL, 0);
        printf("fleet: %d workers, %d ms a shape: %.0f shapes/s\n", workers, ms, shapes / (seconds() - start));
        fflush(stdout);
        faults += count_records(&ignored) != shapes;
        end_server(SIGTERM);
    }
    return faults;
}

/* ---- cold --------------------------------------------------------------------------------------------------------- */

typedef struct shared {
    atomic_int ready, go, compiles, remote_hits, failures;
    _Atomic int64_t slowest_us, second_us;
} shared;

static shared *all;

static void keep_slowest(_Atomic int64_t *slowest, double s)
{
    int64_t us = (int64_t)(1e6 * s), known = atomic_load(slowest);

    while (us > known && !atomic_compare_exchange_weak(slowest, &known, us))
        ;
}

static tj_status obtain(tj_context *context, int64_t extent, tj_error *err)
{
    const tj_problem problem = TJ_PROBLEM_INIT(extent, 20, 30, TJ_F32);
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_status status = tj_generate(&problem, NULL, &source, err);

    if (status == TJ_OK)
        status = tj_image_obtain(context, source, "sm_90", &image, err);
    tj_image_free(image);
    tj_source_free(source);
    return status;
}

static int cold_process(int number, const char *remote, int64_t extent)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
    tj_context *context;
    char store[96];
    double start;
    tj_error err;

    snprintf(store, sizeof store, "%s/store-%d-%d", root, number, (int)extent);
    options.cache_dir = store;
    options.remote = remote;
    if (tj_context_create(&options, &context, &err) != TJ_OK)
        return 1;
    atomic_fetch_add(&all->ready, 1);
    while (!atomic_load(&all->go))
        nap(1);
    start = seconds();
    if (obtain(context, extent, &err) != TJ_OK) {
        fprintf(stderr, "fleet: %s\n", err.message);
        atomic_fetch_add(&all->failures, 1);
    }
    keep_slowest(&all->slowest_us, seconds() - start);
    tj_context_get_stats(context, &stats);
    atomic_fetch_add(&all->compiles, (int)stats.compiles);
    atomic_fetch_add(&all->remote_hits, (int)stats.remote_hits);
    tj_context_free(context);
    return 0;
}

static int cold_round(int processes, const char *remote, int64_t extent, const char *what)
{
    int faults = 0, status;

    memset(all, 0, sizeof *all);
    for (int i = 0; i < processes; i++)
        if (fork() == 0)
            _exit(cold_process(i, remote, extent));
    while (atomic_load(&all->ready) < processes)
        nap(1);
    atomic_store(&all->go, 1);
    for (int i = 0; i < processes; i++)
        faults += wait(&status) < 0 || status != 0;
    printf("fleet: %d cold processes, %s: %d compiles, %d images from the server, %d failures, the slowest after %.2f s\n",
           processes, what, atomic_load(&all->compiles), atomic_load(&all->remote_hits), atomic_load(&all->failures),
           1e-6 * (double)atomic_load(&all->slowest_us));
    fflush(stdout);
    return faults + atomic_load(&all->failures);
}

/* How much later than without a server are the first and the second kernel, where the server has stopped? */
static void time_stopped(const char *remote)
{
    double took[2][2];

    for (int with = 0; with < 2; with++) {
        tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
        tj_context *context;
        tj_error err;

        options.cache_dir = "";
        options.remote = with ? remote : "";
        if (tj_context_create(&options, &context, &err) != TJ_OK)
            return;
        if (obtain(context, 9, &err) != TJ_OK) /* NVRTC is opened */
            return;
        tj_context_free(context);
        if (tj_context_create(&options, &context, &err) != TJ_OK)
            return;
        for (int i = 0; i < 2; i++) {
            const double start = seconds();

            if (obtain(context, 10 + i, &err) != TJ_OK)
                fprintf(stderr, "fleet: %s\n", err.message);
            took[with][i] = seconds() - start;
        }
        tj_context_free(context);
    }
    printf("fleet: a stopped server: the first kernel after %.0f ms (%.0f without a server), the second after %.0f ms (%.0f)\n",
           1e3 * took[1][0], 1e3 * took[0][0], 1e3 * took[1][1], 1e3 * took[0][1]);
}

static int cold(int processes)
{
    char remote[600];
    tj_context *context = NULL;
    tj_error err;
    int faults = 0;

    setenv("TILEJIT_REMOTE", "", 1);
    if (tj_context_create(NULL, &context, &err) != TJ_OK || obtain(context, 8, &err) != TJ_OK) {
        printf("SKIPPED: no NVRTC: %s\n", err.message);
        return getenv("TILEJIT_REQUIRE_NVRTC") ? 1 : 77;
    }
    tj_context_free(context);
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(remote, sizeof remote, "%s", address);
    start_server();
    fleet_close(connect_server());
    faults += cold_round(processes, remote, 100, "one missing kernel");
    faults += atomic_load(&all->compiles) != 1 || atomic_load(&all->remote_hits) != processes - 1;
    (void)kill(server, SIGSTOP);
    time_stopped(remote);
    faults += cold_round(processes, remote, 101, "the server stopped");
    faults += atomic_load(&all->compiles) != processes;
    (void)kill(server, SIGCONT);
    end_server(SIGKILL);
    faults += cold_round(processes, remote, 102, "the server gone");
    faults += atomic_load(&all->compiles) != processes;
    printf("fleet: %s\n", faults ? "FAILED" : "one compile with a server, local behaviour without");
    return faults != 0;
}

/* ---- main --------------------------------------------------------------------------------------------------------- */

static int argument(int argc, char **argv, int index, int otherwise)
{
    return argc > index ? atoi(argv[index]) : otherwise;
}

int main(int argc, char **argv)
{
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    int code;

    (void)signal(SIGPIPE, SIG_IGN);
    if (length <= 0)
        return 1;
    if (argc == 6 && strcmp(argv[1], "worker") == 0)
        return work(argv);
    if (!has_server()) {
        printf("SKIPPED: no redis-server of version 7 or later here, so NOTHING of a fleet was tried: install the package "
               "redis-server\n");
        return getenv("TILEJIT_REQUIRE_REDIS") && system("command -v redis-server >/dev/null") != 0 ? 1 : 77;
    }
    make_root();
    if (argc > 1 && strcmp(argv[1], "rate") == 0)
        code = rate(argument(argc, argv, 2, 1000), argument(argc, argv, 3, 0));
    else if (argc > 1 && strcmp(argv[1], "cold") == 0)
        code = cold(argument(argc, argv, 2, 8));
    else
        code = storm(argument(argc, argv, 1, 200), argument(argc, argv, 2, 4), argument(argc, argv, 3, 5),
                     argument(argc, argv, 4, 1), argument(argc, argv, 5, 0));
    remove_root();
    return code;
}
