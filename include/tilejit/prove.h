/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prove.h: does a compiled kernel compute its product on this device?
 *
 * A compiler can be wrong, and then the text is right, the emulator agrees, and the device writes to wrong addresses (docs/compilers.md).
 * A proof runs the kernel once on random operands between guard bands and compares P with what the textbook's kernel, naive, computes
 * on the same device. It costs milliseconds, and its result is kept beside the image, for the device and the driver it was made with.
 *
 * tj_tune proves its winner. A context proves what it launches if its option prove says so. A kernel that failed is never launched again
 * on that device with that driver: the library chooses another, and a config that was named is an error.
 */
#ifndef TILEJIT_PROVE_H
#define TILEJIT_PROVE_H

#include <tilejit/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** When a context proves a kernel that it is about to launch for the first time (option prove). */
typedef enum tj_prove {
    TJ_PROVE_NEVER = 0,  /**< it believes the compiler, and proofs that are there */
    TJ_PROVE_BEFORE = 1, /**< before the first launch, which waits */
    TJ_PROVE_BEHIND =
        2 /**< behind it, on a thread of the library's own; if the proof fails, later calls get another kernel, and an
                              error is logged: products until then may be wrong. In the primary CUDA context of the device only */
} tj_prove;

/** What a proof found. Plain data. */
typedef struct tj_proof {
    int32_t passed;         /**< 1: every element that was compared is right, and nothing beside P was written */
    int32_t was_known;      /**< 1: kept from an earlier proof; nothing was run now */
    int64_t elements;       /**< of P that were compared; lines of P are sampled where all would take long */
    int64_t elements_total; /**< of P, batch included */
    double ms;              /**< that it took, allocation and copies included, the simple kernel's compile not */
    int64_t created_s;      /**< seconds since 1970 */
    char reason[200];       /**< "" if passed; else a sentence */
} tj_proof;

/**
 * Prove the kernel of a plan on its device. problem: the plan's, with the extents to try where it leaves them to the launch. again: 1 runs
 * it even if the result is known; otherwise a known result is returned.
 *
 * Device memory for the operands is needed. A kernel that makes the device report an illegal address ends the process's use of the
 * device (TJ_ERR_DEVICE_LOST), as it would have in the program; that it failed is kept all the same.
 *
 * NULL:    only err may be NULL.
 * Threads: any. Not while the calling thread captures a stream.
 * Errors:  TJ_ERR_CHECK_FAILED: the kernel is wrong; *proof is filled. Those of tj_plan_prepare and of a launch, such as
 *          TJ_ERR_DEVICE_MEMORY: nothing was proven, and *proof is all zero.
 */
TJ_API TJ_MUST_CHECK tj_status tj_plan_prove(tj_context *context, const tj_plan *plan, const tj_problem *problem, int again,
                                             tj_proof *proof, tj_error *err);

/**
 * Keep the proof of an image of another context, a scratch one say, as if it had been made in this one. Trouble with the store is logged
 * and no error. NULL: none may be NULL. Threads: any.
 */
TJ_API void tj_proof_keep(tj_context *context, const tj_plan *plan, const tj_proof *proof);

/**
 * Write all that the makers of a compiler need to look into a kernel that failed: its CUDA text, PTX, CUBIN and log, and case.json with
 * problem, config, compiler and options, device, driver and what the proof found. folder is made if it is missing.
 * NULL: only err may be NULL. Threads: any. Errors: TJ_ERR_IO.
 */
TJ_API TJ_MUST_CHECK tj_status tj_proof_write_case(tj_context *context, const tj_plan *plan, const tj_proof *proof,
                                                   const char *folder, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
