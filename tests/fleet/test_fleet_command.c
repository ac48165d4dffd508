/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * tilejit fleet and --remote, as users type them, over a real redis-server, on a GPU that is the emulator in disguise (fake_gpu). Skipped,
 * loudly, where there is no redis-server.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shell.h"

static void assign_variables(char *assignments, size_t bytes)
{
    /* The leak sanitizer crashes in the thread-local data of libsodium, which is opened late: it takes the size of it from a wrong place. */
    snprintf(assignments, bytes,
             "LSAN_OPTIONS=use_tls=0:print_suppressions=0:suppressions=%s/tests/sanitizers/lsan.supp TILEJIT_DRIVER=%s "
             "R=redis+unix://%s/socket",
             TJ_SOURCE_DIR, FAKE_GPU_PATH, folder);
}

static void end_server(void)
{
    (void)!shell("test -f pid && kill $(cat pid)");
    remove_folder();
}

TestSuite(fleet_command, .init = make_folder, .fini = end_server, .timeout = 120);

/* Redis 7 or later, on a socket in the folder; and a key. */
static void need_server(void)
{
    if (shell("redis-server --version | grep -qE 'v=([7-9]|[1-9][0-9])\\.'") != 0) {
        fprintf(stderr,
                "SKIPPED: no redis-server of version 7 or later here, so NOTHING of a fleet was tried: install redis-server\n");
        cr_expect(getenv("TILEJIT_REQUIRE_REDIS") == NULL || shell("command -v redis-server") == 0, "redis-server is required");
        SKIP_TEST("no redis-server");
    }
    cr_assert(
        eq(int,
           shell("redis-server --port 0 --unixsocket $PWD/socket --save '' --daemonize yes --pidfile $PWD/pid --dir $PWD "
                 ">/dev/null && for i in 1 2 3 4 5 6 7 8 9; do test -S socket && break; sleep 0.1; done; $T fleet key key"),
           0),
        "%s", errors);
}

#define HOW "--until-empty --family naive --evaluations 1 --threads 1"

Test(fleet_command, tunes_what_is_submitted_once)
{
    NEEDS_COMPILER();
    need_server();
    cr_assert(
        eq(int,
           shell("export TILEJIT_REMOTE=\"$R?sign=key\"; printf '16x16x16\\n8,24,40\\n' >l.csv; $T fleet submit l.csv && "
                 "$T fleet submit l.csv && $T fleet work " HOW " --strategy model && $T fleet submit l.csv && $T fleet status"),
           0),
        "%s", errors);
    cr_expect(strstr(out, ": 2 shapes queued\n") && strstr(out, "0 shapes queued, 2 were so already") &&
                  strstr(out, "shapes done: 2, failed: 0") && strstr(out, "0 shapes queued, 2 have a record"),
              "%s", out);
    cr_expect(strstr(out, "2 records in all") && strstr(out, "workers: 0 alive"), "%s", out);
    /* Its records are those that a machine without any takes, and no others. */
    cr_assert(
        eq(int,
           shell("$T fleet export --remote \"$R?trust=key.pub\" -o all.json && $T fleet export --remote \"$R\" -o none.json; "
                 "grep -q '\"strategy\": *\"model\"' all.json || exit 9; "
                 "export TILEJIT_CACHE_DIR=$PWD/other; $T run 16x16x16 --remote \"$R?trust=key.pub\"; $T run 16x16x24"),
           0),
        "%s", errors);
    cr_expect(strstr(out, "2 records written to all.json") && strstr(out, "0 records written to none.json"), "%s", out);
    cr_expect(strstr(errors, "records ignored: 2; the last: no key is trusted") != NULL, "%s", errors);
    cr_expect(strstr(out, "chosen by  a record") != NULL && strstr(out, "chosen by  measured: similar problems") != NULL, "%s",
              out);
}

Test(fleet_command, pins_a_generation)
{
    NEEDS_COMPILER();
    need_server();
    cr_assert(
        eq(int,
           shell("export TILEJIT_REMOTE=\"$R?sign=key\"; echo 16x16x16 >l.csv; $T fleet submit l.csv && $T fleet work " HOW
                 " && $T fleet pin one; echo 8x8x8 >l.csv; $T fleet submit l.csv && $T fleet work " HOW "; $T fleet pin one"),
           1));
    cr_expect(strstr(errors, "there is a generation one already") != NULL, "%s", errors);
    /* Later records, and those in this machine's store, do not count; and the server may be gone by the second time. */
    cr_assert(
        eq(int,
           shell(
               "P=\"$R?trust=key.pub&generation=one\"; $T run 16x16x16 --remote $P; $T run 8x8x8 --remote $P; kill $(cat pid); "
               "while test -S socket; do sleep 0.1; done; $T run 16x16x16 --remote $P; rm pid; "
               "TILEJIT_CACHE_DIR=$PWD/fresh $T run 16x16x16 --remote $P --log error"),
           0),
        "%s", errors);
    cr_expect(strstr(errors, "generation one is not to be had") != NULL, "%s", errors);
    for (int i = 0; i < 4; i++) {
        char *found = strstr(out, "chosen by");

        cr_assert(found != NULL, "%s", out);

        const bool is_recorded = strncmp(found, "chosen by  a record", 19) == 0;

        cr_expect(is_recorded == (i == 0 || i == 2), "run %d: %.40s", i, found);
        memmove(out, found + 9, strlen(found + 9) + 1);
    }
}

Test(fleet_command, poisons_what_fails_three_times)
{
    NEEDS_COMPILER();
    need_server();
    /* A problem that no version has: it was changed on the server. */
    cr_assert(
        eq(int,
           shell("export TILEJIT_REMOTE=\"$R?sign=key\"; echo 16x16x16 >l.csv; $T fleet submit l.csv; C=$(redis-cli -s socket "
                 "hkeys "
                 "tilejit:1:classes); redis-cli -s socket xadd tilejit:1:{$C}:queue 9999999999999-0 s bad p '{\"j\":1}'; "
                 "redis-cli -s socket hset tilejit:1:{$C}:queued bad 9999999999999-0; $T fleet work " HOW "; $T fleet status"),
           0),
        "%s", errors);
    cr_expect(strstr(out, "shapes done: 1, failed: 3") && strstr(out, "poisoned shapes: 1") && strstr(out, "no extent k"), "%s",
              out);
    cr_expect(strstr(errors, "failed 3 times and is not tried again") != NULL, "%s", errors);
    cr_assert(eq(int, shell("$T fleet cancel --poisoned --remote \"$R?sign=key\"; $T fleet status --json --remote $R"), 0),
              "%s", errors);
    cr_expect(strstr(out, "1 poisoned shapes forgotten") && strstr(out, "\"poisoned\": []"), "%s", out);
}

/* Any submitter may write all of this, and status prints it on a terminal. */
Test(fleet_command, shows_what_a_terminal_would_obey)
{
    need_server();
    cr_assert(
        eq(int,
           shell(
               "R1='redis-cli -s socket'; $R1 hset tilejit:1:classes \"$(printf 'a\\033[2J')\" "
               "'{\"text\":\"H\\u001b]0;owned\\u0007\"}' "
               "&& $R1 hset \"$(printf 'tilejit:1:{a\\033[2J}:poison')\" x '{\"problem\":\"?\",\"why\":\"\\u009b2J\\u202e\"}' "
               "&& $R1 hset \"$(printf 'tilejit:1:{a\\033[2J}:workers')\" \"$(printf 'w\\033[31m')\" '1000000000000000 t {}' "
               ">&2 && "
               "$T fleet status --remote $R"),
           0),
        "%s", errors);
    cr_expect(strstr(out, "class a\\x1b[2J  H\\x1b]0;owned\\x07\n") && strstr(out, ": \\xc2\\x9b2J\\xe2\\x80\\xae\n") &&
                  strstr(out, "w\\x1b[31m ") && !strchr(out, 0x1b),
              "%s", out);
}

Test(fleet_command, says_what_is_wrong)
{
    static const struct {
        const char *line, *complaint;
    } rows[] = {
        {"$T fleet status", "no server is named"},
        {"$T fleet status --remote redis+unix://$PWD/none", "No such file"},
        {"$T fleet work --remote $R", "?sign=FILE"},
        {"$T fleet submit none.csv --remote $R", "none.csv"},
        {"$T fleet submit l.csv --class 77 --remote $R", "no class of the server begins with \"77\""},
        {"$T fleet submit l.csv --remote $R --device 9", "no device to tune for"},
        {"$T fleet work --remote \"$R?sign=key\" --device emulator", "emulator measures no time"},
        {"$T fleet work --remote \"$R?sign=key\" --lease 1ms", "--lease"},
        {"$T fleet work --remote \"$R?sign=key\" --name 'a b'", "--name"},
        {"$T fleet pin A/b --remote $R", "small letters"},
        {"$T fleet key key", "File exists"},
        {"$T fleet status --watch --json --remote $R", "--watch and --json exclude each other"},
        {"redis-cli -s socket config set requirepass secret >/dev/null; $T fleet status --remote $R", "NOAUTH"},
        {"$T fleet status --remote redis+unix://$PWD/socket?password-file=key", "WRONGPASS"},
        {"redis-cli -s socket -a secret config set requirepass '' >/dev/null; redis-cli -s socket set tilejit:1:classes junk; "
         "$T fleet status --remote $R",
         "WRONGTYPE"},
    };

    NEEDS_COMPILER();
    need_server();
    cr_assert(eq(int, shell("echo 16x16x16 >l.csv"), 0));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(shell("%s", rows[i].line) != 0, "%s", rows[i].line);
        cr_expect(strstr(errors, rows[i].complaint) != NULL, "%s: %s", rows[i].line, errors);
    }
}

/* Every two seconds the state of then, until it is ended by a signal. */
Test(fleet_command, watches_until_it_is_stopped)
{
    NEEDS_COMPILER();
    need_server();
    cr_assert(eq(int,
                 shell("export TILEJIT_REMOTE=\"$R?sign=key\"; echo 16x16x16 >a.csv; echo 8x8x8 >b.csv; $T fleet submit a.csv "
                       ">/dev/null; "
                       "$T fleet status --watch >watched & watcher=$!; sleep 1; $T fleet submit b.csv >/dev/null; sleep 2; "
                       "kill -TERM $watcher; wait $watcher; code=$?; cat watched; exit $code"),
                 0),
              "%s", errors);
    cr_expect(strstr(out, "1 to go") && strstr(strstr(out, "1 to go"), "2 to go"), "%s", out);
}

Test(fleet_command, lets_one_worker_have_a_name)
{
    NEEDS_COMPILER();
    need_server();
    cr_expect(eq(int,
                 shell("export TILEJIT_REMOTE=\"$R?sign=key\"; $T fleet work --name n --lease 1s & first=$!; sleep 1; "
                       "$T fleet work --name n --lease 1s; code=$?; kill $first; wait $first; exit $code"),
                 1));
    cr_expect(strstr(errors, "another live worker has the name n") != NULL, "%s", errors);
}

/* Another kind of device (its emulated product is another) has a queue, records and images of its own. */
Test(fleet_command, keeps_classes_apart)
{
    NEEDS_COMPILER();
    need_server();
    cr_assert(eq(int,
                 shell("export TILEJIT_REMOTE=\"$R?sign=key\"; echo 16x16x16 >l.csv; O='CUDA_EMULATOR_DEVICES=sm_86 "
                       "TILEJIT_CACHE_DIR=other'; "
                       "$T fleet submit l.csv && env $O $T fleet submit l.csv && $T fleet work " HOW
                       "; $T fleet status; env $O $T run 16x16x16; $T fleet submit l.csv --class all"),
                 0),
              "%s", errors);
    cr_expect(strstr(out, "1 of 1 shapes done") && strstr(out, "0 of 1 shapes done, 1 to go") && strstr(out, "nobody works"),
              "%s", out);
    cr_expect(strstr(out, "no record of this problem") != NULL, "%s", out);
    cr_expect(strstr(out, "0 shapes queued, 1 have a record") && strstr(out, "0 shapes queued, 1 were so already"), "%s", out);
    /* A shape to be tuned again is, though the worker has a record of its own; a record that the server has lost is not. */
    cr_assert(eq(int,
                 shell("export TILEJIT_REMOTE=\"$R?sign=key\"; $T fleet submit l.csv --again; $T fleet work " HOW
                       "; redis-cli -s socket flushall; $T fleet submit l.csv; $T fleet work " HOW),
                 0),
              "%s", errors);
    cr_expect(strstr(out, " tried, ") != NULL && strstr(out, "16x16x16: has a record here already") != NULL, "%s", out);
}

Test(fleet_command, compiles_ahead_for_those_that_measure)
{
    NEEDS_COMPILER();
    need_server();
    cr_assert(eq(int,
                 shell("export TILEJIT_REMOTE=\"$R?sign=key\"; echo 16x16x16 >l.csv; $T fleet submit l.csv; C=$(redis-cli -s "
                       "socket hkeys "
                       "tilejit:1:classes); TILEJIT_CACHE_DIR=helper $T fleet work --compile $C --until-empty --evaluations 3; "
                       "redis-cli -s socket keys '*:image:*'; $T fleet work --log debug " HOW),
                 0),
              "%s", errors);
    /* The third is the textbook's tiled kernel, which a pack brings. */
    cr_expect(strstr(out, "16x16x16: 2 candidates compiled") && strstr(out, "tilejit:1:image:"), "%s", out);
    cr_expect(strstr(errors, "from the remote, key") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T fleet work --compile 77 --remote \"$R?sign=key\""), 1));
}

/* ---- off is off --------------------------------------------------------------------------------------------------- */

/* The command's exit code, or minus the signal that ended it; whoever opens a socket in it dies. */
static int run_without_sockets(const char *remote)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof program / sizeof program[0], program};
    const pid_t child = fork();
    int status;

    if (child == 0) {
        if (remote)
            setenv("TILEJIT_REMOTE", remote, 1);
        else
            unsetenv("TILEJIT_REMOTE");
        setenv("TILEJIT_CACHE_DIR", "off", 1);
        if (chdir(folder) != 0 || !freopen("out", "w", stdout) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
            _exit(90);
        execl(TILEJIT_BIN, "tilejit", "run", "16x16x16", "--device", "emulator", (char *)NULL);
        _exit(91);
    }
    cr_assert(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

Test(fleet_command, opens_no_socket_unless_asked_to)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T fleet key key"), 0), "%s", errors);
    cr_expect(eq(int, run_without_sockets(NULL), 0));
    cr_expect(eq(int, run_without_sockets(""), 0));
    cr_expect(eq(int, run_without_sockets("redis+unix:///nowhere?sign=key"), -SIGSYS)); /* so the trap works */
}
