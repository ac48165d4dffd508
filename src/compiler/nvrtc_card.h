/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvrtc_card: what is known of an NVRTC, written down, so that the next process need not open it to ask.
 *
 * Opening libnvrtc and compiling nothing to learn its build costs some 25 ms; a kernel from the store needs neither, but its key holds the
 * answers. The card holds them too, and what they depend on: the request, the environment of the search, and the size, time and inode of the
 * library's files. While all of that is unchanged, the answers are. A library known by its card is opened when it first compiles.
 */
#ifndef TJ_SRC_NVRTC_CARD_H
#define TJ_SRC_NVRTC_CARD_H

#include "nvrtc.h"

/** Name of the card for this request: the same request in the same environment has the same name. */
void tj_nvrtc_card_name(const char *path, int driver_version, char name[64]);

/** The card of an opened library, malloc'ed; NULL if there is too little to say (not probed, no builtins, no memory). */
char *tj_nvrtc_card_write(const tj_nvrtc *nvrtc);

/**
 * The library that a card speaks of; NULL if anything it depends on has changed, or a libnvrtc is loaded in the process already, which would
 * be preferred. Release with tj_nvrtc_forget.
 */
const tj_nvrtc *tj_nvrtc_recall(const char *card);

/** Release what tj_nvrtc_recall gave; a library that was opened stays. NULL: accepted. */
void tj_nvrtc_forget(const tj_nvrtc *nvrtc);

#endif
