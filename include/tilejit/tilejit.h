/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit.h: the header for applications. It includes all that most of them need.
 *
 * TileJIT computes P (j x l) = M (j x k) . N (k x l) with a CUDA kernel that it writes for exactly that request: it fills a
 * template, compiles it with NVRTC, stores the result, and launches it. Other libraries call these dimensions m x k x n; here M
 * and N are matrices.
 *
 *     multiply                tj_problem, tj_epilogue_parse, tj_operands, tj_matmul   problem.h, epilogue.h, operands.h, plan.h
 *     prepare in advance      tj_plan_prepare, tj_plan_launch, tj_warm_up             plan.h, warm_up.h
 *     name a kernel           tj_config_parse                                         config.h
 *     ship kernels            tj_pack_create, tj_pack_add (no NVRTC needed later)     pack.h
 *     repack weights          tj_repack                                               repack.h
 *     set options             tj_context_create; events and devices                   context.h, event.h, device.h
 *     without a CUDA runtime  device memory, copies and streams                       buffer.h
 *
 * <tilejit/tools.h> includes this header and the headers for programs that inspect, measure or maintain: sources, images,
 * kernels, families of the application's own, analysis, tuning, proofs, the reference, the store. tilejit.h keeps its promises
 * longer than tools.h: docs/abi.md.
 *
 * Rules that hold for every function:
 *   - An object that a call returns through a pointer-to-pointer belongs to the caller. An object that a function returns as its
 *     value belongs to the object that was passed in. "Owned:" states the exceptions.
 *   - Text that is passed in is copied if it is kept.
 *   - The library logs to a callback. It never writes to stdout. It writes to stderr only if TILEJIT_LOG or the option
 *     log_level asks for log lines and there is no callback.
 *   - After fork() the child should only free a context. Calls that need a compiler or a driver return TJ_ERR_FORKED there; calls
 *     that only read memory or the store still work (tj_kernel_get_facts, tj_store_list, tj_store_clear, tj_records_load,
 *     tj_records_keep).
 *   - "NULL:" names the pointers that may be NULL. If any other pointer is NULL, a function that returns a status returns
 *     TJ_ERR_INVALID_ARGUMENT, and its message names the function and the argument; a function that returns a pointer or a
 *     number returns NULL or 0 (tj_problem_span: -1); a function that returns nothing does nothing.
 *   - A callback must return: no exception and no longjmp may leave it.
 *   - exit() may be called at any time. It waits, for 10 s at most, until the other threads have left NVRTC and tuning in the
 *     background has stopped. From then on, calls that would compile, open a library or tune return TJ_ERR_CANCELLED
 *     (docs/errors.md). A program that loads the library with dlopen must free its contexts before dlclose.
 */
#ifndef TILEJIT_TILEJIT_H
#define TILEJIT_TILEJIT_H

#include <tilejit/buffer.h>
#include <tilejit/config.h>
#include <tilejit/context.h>
#include <tilejit/device.h>
#include <tilejit/epilogue.h>
#include <tilejit/event.h>
#include <tilejit/operands.h>
#include <tilejit/pack.h>
#include <tilejit/plan.h>
#include <tilejit/problem.h>
#include <tilejit/repack.h>
#include <tilejit/status.h>
#include <tilejit/version.h>
#include <tilejit/warm_up.h>

#endif
