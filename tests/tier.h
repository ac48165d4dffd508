/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tier: what a test leaves to the night. tests/tiers.cmake says in which tier the tests of a file run; here its tests and cases do.
 *
 * IS_NIGHTLY and UNDER_SANITIZER are 0 or 1 for all programs of tests. A loop that takes too long for a change runs whole with IS_NIGHTLY.
 */
#ifndef TJ_TIER_H
#define TJ_TIER_H

/** For Test(suite, name, .disabled = LEFT_TO_NIGHT): long, and about numbers or messages; sanitizers, which look at memory, run it at night. */
#define LEFT_TO_NIGHT (UNDER_SANITIZER && !IS_NIGHTLY)

#endif
