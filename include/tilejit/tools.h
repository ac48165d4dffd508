/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools.h: include everything: <tilejit/tilejit.h>, and the headers for tools that inspect, measure and maintain.
 *
 *     step by step       tj_generate, tj_image_obtain, tj_kernel_load, tj_kernel_launch  source.h, image.h, kernel.h
 *     families           names, parameters and constraints as data                       family.h
 *     your own kernels   tj_family_create, tj_custom_load, tj_custom_launch              custom.h
 *     tune               tj_tune finds a problem's config and keeps it as a record       tuner.h
 *     measure            tj_time_launches times the launches of a plan                   timing.h
 *     prove              tj_plan_prove runs a kernel between guards and compares it      prove.h
 *     check              tj_reference_check compares a product with float64              reference.h
 *     try a kernel       operands of a problem in device memory                          workbench.h
 *     operands           shape, type and place of each operand of a problem              shape.h
 *     fields by name     the fields of a problem as text                                 field.h
 *     analyse            traffic, occupancy, roofline, predicted time                    analysis.h
 *     maintain           the store, this machine's components                            store.h, doctor.h
 *     emulator           the functions of the bundled emulator                           emulator.h
 *
 * Any of these headers may also be included alone. The rules of tilejit.h hold here too. These interfaces may change more from
 * one version to the next (docs/abi.md).
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
