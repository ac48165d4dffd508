/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx: ranges on the time line of a profiler, if one watches.
 *
 * A profiler such as Nsight Systems names its library in NVTX_INJECTION64_PATH. NVTX 3 has no library of its own: each program or
 * library opens the profiler's and hands it a table of empty slots, which it fills with its functions. Here is that table, without
 * NVIDIA's header; the profiler's library is opened once in a process and never closed.
 */
#ifndef TJ_RUNTIME_NVTX_H
#define TJ_RUNTIME_NVTX_H

#include <stdbool.h>

/** Does a profiler take ranges? The first call looks for it. Threads: any. */
bool tj_nvtx_is_there(void);

/** Only where one is there. */
void tj_nvtx_push(const char *text);
void tj_nvtx_pop(void);

#endif
