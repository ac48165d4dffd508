/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvrtc_builds: what is known of the machine code that builds of NVRTC make.
 *
 * Some of them, for a kernel that spills registers, lose the reload of a thread's row on one path, so that it stores to wrong
 * addresses. scripts/check_sass.py finds that without a GPU; docs/compilers.md has what it found, and the table here is its.
 */
#ifndef TJ_SRC_NVRTC_BUILDS_H
#define TJ_SRC_NVRTC_BUILDS_H

typedef enum tj_nvrtc_record {
    TJ_NVRTC_NOT_LOOKED_AT,
    TJ_NVRTC_CLEAN,       /* was looked at: no kernel of those that were tried was wrong */
    TJ_NVRTC_STORES_WRONG /* has made a kernel that stores to wrong addresses */
} tj_nvrtc_record;

/** identity: that of tj_nvrtc_identity. One without a build ("13.0") is not looked at. */
tj_nvrtc_record tj_nvrtc_record_of(const char *identity);

/** What follows from it, as the rest of a sentence that begins with the identity, and the remedy; "" if there is nothing to do. */
const char *tj_nvrtc_record_words(tj_nvrtc_record record, const char **remedy);

#endif
