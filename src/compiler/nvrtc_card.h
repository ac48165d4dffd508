/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvrtc_card: facts about an NVRTC, stored, so that the next process need not open it to ask.
 *
 * Opening libnvrtc and compiling an empty source to learn its build costs some 25 ms; a kernel from the store needs neither,
 * but its key contains both answers. The card holds them too, with all that they depend on: the request, the environment of the
 * search, and the size, time and inode of the library's files. While all of that is unchanged, the answers are. A library known
 * by its card is opened when it first compiles.
 */
#ifndef TJ_SRC_NVRTC_CARD_H
#define TJ_SRC_NVRTC_CARD_H

#include "nvrtc.h"

/** Write the name of the card for this request: the same request in the same environment has the same name. */
void tj_nvrtc_card_name(const char *path, int driver_version, char name[64]);

/** Return the card of an opened library, malloc'ed; NULL if it lacks facts (not probed, no builtins) or memory runs out. */
char *tj_nvrtc_card_write(const tj_nvrtc *nvrtc);

/**
 * Return the library that a card describes; NULL if anything the card depends on has changed, or if the process has loaded a
 * libnvrtc already, which would be preferred. Release with tj_nvrtc_forget.
 */
const tj_nvrtc *tj_nvrtc_recall(const char *card);

/** Release the result of tj_nvrtc_recall; a library that was opened stays. NULL: accepted. */
void tj_nvrtc_forget(const tj_nvrtc *nvrtc);

#endif
