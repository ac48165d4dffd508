/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress: how far a launch on the emulator is, on a terminal.
 */
#ifndef TJ_CLI_PROGRESS_H
#define TJ_CLI_PROGRESS_H

#include <pthread.h>

#include "cli.h"

typedef struct cli_progress {
    const tj_emulator *emulator;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t has_ended;
    bool is_over, is_running;
} cli_progress;

/** From now on stderr, if it is a terminal, shows how far the emulator's launch is. emulator NULL: it is a GPU, and nothing is shown. */
void cli_progress_begin(cli_progress *progress, const tj_emulator *emulator);

/** The line is taken away again. */
void cli_progress_end(cli_progress *progress);

#endif
