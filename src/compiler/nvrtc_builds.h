/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvrtc_builds: known defects in the machine code of NVRTC builds.
 *
 * Some of them, for a kernel that spills registers, lose the reload of a thread's row on one path, so that it stores to wrong
 * addresses. scripts/check_sass.py finds such kernels without a GPU; docs/compilers.md lists its findings, and the table here
 * repeats them.
 */
#ifndef TJ_SRC_NVRTC_BUILDS_H
#define TJ_SRC_NVRTC_BUILDS_H

typedef enum tj_nvrtc_record {
    TJ_NVRTC_NOT_LOOKED_AT,
    TJ_NVRTC_CLEAN,       /* tested: no tested kernel was wrong */
    TJ_NVRTC_STORES_WRONG /* has made a kernel that stores to wrong addresses */
} tj_nvrtc_record;

/** identity: that of tj_nvrtc_identity. An identity without a build ("13.0") is untested. */
tj_nvrtc_record tj_nvrtc_record_of(const char *identity);

/**
 * Return the consequence, as the rest of a sentence that begins with the identity, and the remedy; "" if there is nothing to
 * do.
 */
const char *tj_nvrtc_record_words(tj_nvrtc_record record, const char **remedy);

#endif
