/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools.h: include everything: <tilejit/tilejit.h>, and what tools need that look inside, measure and maintain.
 *
 *     step by step  tj_generate, tj_image_obtain, tj_kernel_load, tj_kernel_launch     source.h, image.h, kernel.h
 *     families      their parameters and constraints as data                           family.h
 *     own kernels   tj_family_create, tj_custom_load, tj_custom_launch                 custom.h
 *     measured      tj_tune finds a problem's config and keeps it as a record          tuner.h
 *                   tj_time_launches measures a plan                                   timing.h
 *     proven        tj_plan_prove runs a kernel between guards and compares it         prove.h
 *                   tj_reference_check compares a product with float64                 reference.h
 *                   operands of a problem in device memory, to try a kernel with       workbench.h
 *     laid out      shape, type and place of each operand of a problem                 shape.h
 *     in words      the fields of a problem by name                                    field.h
 *     explained     traffic, occupancy, roofline, predicted time                       analysis.h
 *     maintained    the store, this machine's components                               store.h, doctor.h
 *     emulated      the functions of the bundled emulator                              emulator.h
 *
 * Any of these headers may also be included alone. The rules of tilejit.h hold here too; what may change from one version to the
 * next is more than there (docs/abi.md).
 */
#ifndef TILEJIT_TOOLS_H
#define TILEJIT_TOOLS_H

#include <tilejit/tilejit.h>

#include <tilejit/analysis.h>
#include <tilejit/custom.h>
#include <tilejit/doctor.h>
#include <tilejit/emulator.h>
#include <tilejit/family.h>
#include <tilejit/field.h>
#include <tilejit/image.h>
#include <tilejit/kernel.h>
#include <tilejit/prove.h>
#include <tilejit/reference.h>
#include <tilejit/shape.h>
#include <tilejit/source.h>
#include <tilejit/store.h>
#include <tilejit/timing.h>
#include <tilejit/tuner.h>
#include <tilejit/workbench.h>

#endif
