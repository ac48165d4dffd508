/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settle: request + config -> the settled config, the launch, the source. The public functions of config.h and source.h make
 * the request first; all others have one.
 */
#ifndef TJ_GENERATOR_SETTLE_H
#define TJ_GENERATOR_SETTLE_H

#include <stdbool.h>

#include <tilejit/source.h>

#include "request.h"

/**
 * Return the problem as the source of the config sees it: canonical, and transposed if *is_swapped. If a kernel after
 * the product finishes P, it is the problem of the P before that (tj_problem_unfinished). Depends on config by its family and
 * parameters, which may still be open.
 */
const tj_problem *tj_request_view(const tj_request *request, const tj_config *config, bool *is_swapped);

/** As tj_config_resolve. Only err may be NULL. */
tj_status tj_request_resolve(const tj_request *request, tj_config *config, tj_error *err);

/**
 * Compute the launch of a config: geometry, shared memory and target, without the source and without the names and arguments of
 * kernels, to compare many configs cheaply. config becomes the resolved config. Only err may be NULL. Errors: those of
 * tj_config_resolve; *form is then all zero.
 */
tj_status tj_request_preview(const tj_request *request, tj_config *config, tj_launch_form *form, tj_error *err);

/* ---- config is resolved ------------------------------------------------------------------------------------------- */

/** Fill in the launch form as tj_generate would, without the kernel's name and arguments. */
void tj_family_launch(const tj_request *request, const tj_config *config, tj_launch_form *form);

/** As tj_generate. */
tj_status tj_request_generate(const tj_request *request, const tj_config *config, tj_source **source, tj_error *err);

/**
 * Loosen the launch bounds, which leaves each thread more registers and so helps a config whose kernel spills (TJ_ERR_SPILLS).
 * False: it cannot be looser, or the problem does not admit it, and then it is unchanged.
 */
TJ_MUST_CHECK bool tj_request_relax(const tj_request *request, tj_config *config);

/**
 * Could this config be the fastest for the problem? False if its family's form excludes it: a tile twice as wide as P, a
 * setting that changes nothing.
 */
bool tj_request_worth_trying(const tj_request *request, const tj_config *config);

/* ---- config need not be resolved ------------------------------------------------------------------------------------ */

/**
 * Does the family's form know that no config with these first `known` parameters is worth trying, whatever the others are? Lets
 * a walk over the space skip whole ranges.
 */
bool tj_request_hopeless(const tj_request *request, const tj_config *config, size_t known);

/** Return the request of a source; NULL: it is of the application's own family. Owned: the source. */
const tj_request *tj_source_request(const tj_source *source);

#endif
