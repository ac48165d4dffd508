/* SPDX-License-Identifier: Apache-2.0 */
/* find_nvrtc: which NVRTC compiles the CUDA text of these tests. A project that contains the emulator may have its own answer. */
#ifndef EMU_FIND_NVRTC_H
#define EMU_FIND_NVRTC_H

/** Return the name or path of libnvrtc, for dlopen; NULL: there is none. Owned: static. Threads: one. */
const char *find_nvrtc(void);

#endif
