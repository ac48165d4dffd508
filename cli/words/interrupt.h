/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt: Ctrl-C, SIGTERM, and SIGHUP of a terminal that goes away.
 */
#ifndef TJ_CLI_INTERRUPT_H
#define TJ_CLI_INTERRUPT_H

#include <stdbool.h>

/**
 * From now on SIGINT, SIGTERM and, unless it was ignored, SIGHUP end the process in order: a line on stderr, with is_json an object
 * on stdout, exit code CLI_INTERRUPTED and the number. Before any thread is started: those that do not block the signals would take
 * them. Where no thread can be started they do what they did before.
 */
void cli_listen(bool is_json);

/** From now on the first one is noted and no more; a second one ends the process. */
void cli_note_signals(void);

/** The one that was noted; 0: none. */
int cli_noted_signal(void);

/** Between these two no signal ends the process, but for a second one. */
void cli_hold_signals(void);
void cli_release_signals(void);

/** Signals do again what they did before cli_listen. */
void cli_stop_listening(void);

#endif
