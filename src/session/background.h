/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background: kernels, proofs and tunings on a thread of a context's own, one after the other, while calls are served.
 */
#ifndef TJ_SESSION_BACKGROUND_H
#define TJ_SESSION_BACKGROUND_H

#include "context.h"

/** The work of the thread. is_ending: poll it now and then; other than 0: give up. config NULL: the library's choice. */
typedef struct tj_background_work {
    void (*tune)(tj_context *context, const tj_problem *problem, double seconds, int (*is_ending)(void *payload),
                 void *payload);
    void (*prove)(tj_context *context, const tj_problem *problem, const tj_config *config);
    bool (*improve)(tj_context *context, const tj_problem *problem, const tj_config *config); /* false: do not ask again */
} tj_background_work;

/** behind.c: tj_tune, tj_plan_prove and tj_plan_improve. */
extern const tj_background_work tj_behind;

/** seconds: to tune each problem; 0: none is tuned. NULL only when memory ran out. Starts no thread yet. */
struct tj_background *tj_background_create(tj_context *context, const tj_background_work *work, double seconds);

/** Stop what is going on, keep what was found, wait for the thread. NULL: accepted. */
void tj_background_free(struct tj_background *background);

/**
 * Tune a problem, or prove the kernel of its plan, at some later time, unless it was requested before. Never waits; forgotten
 * when memory runs out. NULL background: nothing. config NULL: the library's choice, which is made again if the proof fails.
 */
void tj_background_tune(struct tj_background *background, const tj_problem *problem);
void tj_background_prove(struct tj_background *background, const tj_problem *problem, const tj_config *config);

/** Replace a plan without a kernel of its own (tj_plan_improve), before all proofs and tunings. Otherwise as above. */
void tj_background_improve(struct tj_background *background, const tj_problem *problem, const tj_config *config);

#endif
