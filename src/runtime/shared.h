/* SPDX-License-Identifier: Apache-2.0 */
/* shared: images of other machines, from the remote, and to it. They travel as packs of one item. */
#ifndef TJ_RUNTIME_SHARED_H
#define TJ_RUNTIME_SHARED_H

#include "image.h"

/** The image of a key; NULL: a miss. One that is found is put into the store. */
tj_image_body *tj_shared_fetch(tj_host *host, const tj_source *source, const tj_key *key);

/**
 * Before a compile: wait for another process that is at it, if there is one. NULL: compile; with *leads the others wait for this process,
 * which says how it ended.
 */
tj_image_body *tj_shared_await(tj_host *host, const tj_source *source, const tj_key *key, bool *leads);
void tj_shared_give_up(tj_host *host, const tj_key *key);

/** Give away what was compiled here. Trouble is logged by the remote. */
void tj_shared_offer(tj_host *host, const tj_source *source, tj_image_body *body, bool leads);

#endif
