/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock: the clock of a tuning's budget.
 */
#ifndef TJ_TUNER_CLOCK_H
#define TJ_TUNER_CLOCK_H

/** Return seconds of a monotonic clock, from an arbitrary origin. */
double tj_clock_s(void);

#endif
