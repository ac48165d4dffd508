/* SPDX-License-Identifier: Apache-2.0 */
/* fake_nvtx: how many ranges were begun, how many have not ended, and the text of each on a line of its own. */
#ifndef TJ_TESTS_FAKE_NVTX_H
#define TJ_TESTS_FAKE_NVTX_H

#include <stdint.h>

int fake_nvtx_ranges(void);
int fake_nvtx_open(void);
const char *fake_nvtx_seen(void);

/** The entry that NVTX calls; 1: accepted. */
int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t number));

#endif
