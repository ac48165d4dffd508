/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spills: may this kernel be launched, by what the compiler said of its registers?
 *
 * A text that keeps many sums in registers is slow where they do not fit, and worse: ptxas of CUDA 13.0 made kernels of such
 * texts that take half of a pointer for a row and write to wrong addresses (docs/compilers.md). Its own report is the judge,
 * and for PTX the driver's word on the loaded function. No guess beforehand replaces them.
 */
#ifndef TJ_SRC_SPILLS_H
#define TJ_SRC_SPILLS_H

#include <tilejit/kernel.h>

/**
 * TJ_OK, or TJ_ERR_SPILLS with the bytes, the compiler and a config that may do better; also if the compiler reports serialised
 * wgmma products, or leaves some out (dropped.h). An unknown result (an image of PTX alone) is TJ_OK here: the driver is asked once the code is loaded.
 */
tj_status tj_spills_check_image(const tj_source *source, const tj_image *image, tj_error *err);

/** The same of one loaded step. */
tj_status tj_spills_check_loaded(const tj_launch_step *step, const tj_kernel_facts *facts, tj_error *err);

#endif
