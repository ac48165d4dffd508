/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt: Ctrl-C, SIGTERM, and SIGHUP of a terminal that goes away.
 *
 * No handler: NVRTC's compiler replaces any handler with its own for some milliseconds, and that one ends the process from within
 * the compiler. All threads block the signals instead (they inherit the mask, NVRTC's and the driver's too), and one thread waits
 * for them. It ends the process without exit(), whose handlers would unload libraries under running threads.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "words.h"

static struct {
    bool is_listening, is_json;
    atomic_bool is_over, only_notes;
    atomic_int noted;
    pthread_mutex_t held;
    pthread_t thread;
    sigset_t awaited, mask_before;
} self = {.held = PTHREAD_MUTEX_INITIALIZER};

static void tell(int number)
{
    tj_json *answer = tj_json_new();
    char message[64], *text;

    (void)snprintf(message, sizeof message, "ended by %s",
                   number == SIGINT    ? "SIGINT"
                   : number == SIGTERM ? "SIGTERM"
                                       : "SIGHUP");
    cli_set_error(answer, TJ_ERR_CANCELLED, message);
    text = self.is_json ? tj_json_print_lines(answer, TJ_JSON_EXACT) : NULL;
    if (text) /* not stdio, which another thread may hold */
        (void)dprintf(STDOUT_FILENO, "%s\n", text);
    (void)dprintf(STDERR_FILENO, "tilejit: %s\n", message);
}

static _Noreturn void end_by(int number)
{
    const struct timespec moment = {0, 20 * 1000000L};
    int second = 0;

    while (second <= 0 && pthread_mutex_trylock(&self.held) != 0)
        second = sigtimedwait(&self.awaited, NULL, &moment);
    /* The signal that cli_stop_listening sends at the end of the command only wakes the thread. */
    number = second > 0 && !atomic_load(&self.is_over) ? second : number;
    tell(number);
    _exit(CLI_INTERRUPTED + number);
}

static void *listen(void *payload)
{
    int number;

    while (sigwait(&self.awaited, &number) == 0 && !atomic_load(&self.is_over)) {
        int none = 0;

        if (!atomic_load(&self.only_notes) || !atomic_compare_exchange_strong(&self.noted, &none, number))
            end_by(number);
    }
    return payload;
}

/* If a shell ignores a signal for background commands, NVRTC would restore that, and a pending signal would be lost. */
static void await(int number)
{
    (void)signal(number, SIG_DFL);
    sigaddset(&self.awaited, number);
}

void cli_listen(bool is_json)
{
    struct sigaction hangup;

    self.is_json = is_json;
    sigemptyset(&self.awaited);
    await(SIGINT);
    await(SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) /* as with nohup */
        await(SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &self.awaited, &self.mask_before);
    self.is_listening = pthread_create(&self.thread, NULL, listen, NULL) == 0;
    if (!self.is_listening)
        (void)pthread_sigmask(SIG_SETMASK, &self.mask_before, NULL);
}

void cli_note_signals(void)
{
    atomic_store(&self.only_notes, true);
}

int cli_noted_signal(void)
{
    return atomic_load_explicit(&self.noted, memory_order_relaxed);
}

void cli_hold_signals(void)
{
    (void)pthread_mutex_lock(&self.held);
}

void cli_release_signals(void)
{
    (void)pthread_mutex_unlock(&self.held);
}

void cli_stop_listening(void)
{
    if (!self.is_listening)
        return;
    self.is_listening = false; /* a command may have stopped before, to run a program */
    atomic_store(&self.is_over, true);
    (void)pthread_kill(self.thread, SIGINT); /* any signal wakes it */
    (void)pthread_join(self.thread, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &self.mask_before, NULL);
}
