/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prove.h: prove that a compiled kernel computes its product on this device.
 *
 * A compiler can have a bug. Then the source is right, the emulator agrees with it, and the device writes to wrong addresses
 * (docs/compilers.md). A proof runs the kernel once on random operands between guard bands, and compares P with the result of
 * the textbook's kernel, naive, on the same device. It costs milliseconds. Its result is kept next to the image, and holds for
 * this kind of device and this driver.
 *
 * tj_tune proves its winner. A context proves the kernels that it launches if its option prove says so (tj_prove, context.h). A
 * kernel that failed is never launched again on such a device with that driver: the library chooses another one, and a call
 * that names its config fails.
 */
#ifndef TILEJIT_PROVE_H
#define TILEJIT_PROVE_H

#include <tilejit/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The result of a proof. Start from TJ_PROOF_INIT. */
typedef struct tj_proof {
    size_t struct_size;
    int32_t passed;         /**< 1: all compared elements are right, and nothing outside P was written */
    int32_t was_known;      /**< 1: this is the result of an earlier proof; nothing was run now */
    int64_t elements;       /**< number of elements compared; a sample of the rows of P if all would take too long */
    int64_t elements_total; /**< number of elements of P, batch included */
    double ms;              /**< duration, with allocation and copies, without compiling the simple kernel */
    int64_t created_s;      /**< seconds since 1970 */
    char reason[200];       /**< "" if passed; else a sentence */
} tj_proof;

#define TJ_PROOF_INIT TJ_SIZED(tj_proof)

/**
 * Prove the kernel of a plan on its device. problem is the plan's; if an extent is an argument of the launch, the proof uses
 * the extent in the problem. A known result is returned without running anything, unless again is 1. If the kernel is wrong and
 * the library chose it, another kernel replaces it: tj_plan_prepare and tj_matmul then find the other.
 *
 * The proof needs device memory for the operands. If the kernel makes the device report an illegal address, the process cannot
 * use the device any more (TJ_ERR_DEVICE_LOST), just as if the program had launched it; the result is kept nevertheless.
 *
 * NULL:    only err may be NULL.
 * Threads: any. Not while the calling thread captures a stream.
 * Errors:  TJ_ERR_CHECK_FAILED: the kernel is wrong, and *proof describes the error. Also the errors of tj_plan_prepare and of
 *          a launch, such as TJ_ERR_DEVICE_MEMORY: then nothing was proven, and *proof is all zero.
 */
TJ_API TJ_MUST_CHECK tj_status tj_plan_prove(tj_context *context, const tj_plan *plan, const tj_problem *problem, int again,
                                             tj_proof *proof, tj_error *err);

/**
 * Write the files that a compiler's developers need to examine a kernel that failed: its CUDA source, PTX, CUBIN and log, and
 * case.json with the problem, config, compiler and options, device, driver, and the findings of the proof. folder is created if
 * necessary.
 * NULL: only err may be NULL. Threads: any. Errors: TJ_ERR_IO.
 */
TJ_API TJ_MUST_CHECK tj_status tj_proof_write_case(tj_context *context, const tj_plan *plan, const tj_proof *proof,
                                                   const char *folder, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
