/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock: what a tuning's budget is counted by.
 */
#ifndef TJ_TUNER_CLOCK_H
#define TJ_TUNER_CLOCK_H

/** Seconds since some moment, of a clock that nobody sets. */
double tj_clock_s(void);

#endif
