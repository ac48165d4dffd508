/* SPDX-License-Identifier: Apache-2.0 */
/*
 * views: a problem as sources see it, for callers that examine many configs of one problem: it is checked and made canonical
 * once.
 */
#ifndef TJ_GENERATOR_VIEWS_H
#define TJ_GENERATOR_VIEWS_H

#include <stdbool.h>

#include <tilejit/source.h>

/**
 * Compute the launch of a config: geometry, shared memory and target, without the source and without the names and arguments of
 * kernels, to compare many configs cheaply. config becomes the resolved config. Only err may be NULL. Errors: those of
 * tj_config_resolve; *form is then all zero.
 */
tj_status tj_preview_launch(const tj_problem *problem, tj_config *config, tj_launch_form *form, tj_error *err);

/**
 * Loosen the launch bounds of a resolved config, which leaves each thread more registers and so helps one whose kernel spills
 * (TJ_ERR_SPILLS). False: it cannot be looser, or the problem does not admit it, and then it is unchanged.
 */
TJ_MUST_CHECK bool tj_config_relax(const tj_problem *problem, tj_config *config);

/**
 * [0]: canonical; [1]: its transpose. mean: with groups of the mean size, which forms use for decisions; the same without
 * groups.
 */
typedef struct tj_views {
    tj_problem problem[2], mean[2];
} tj_views;

/** Compute the views. Errors: those of tj_problem_check. */
tj_status tj_views_of(const tj_problem *problem, tj_views *views, tj_error *err);

/** Compute the views of a problem that has passed tj_problem_check. */
void tj_views_spell_out(const tj_problem *problem, tj_views *views);

/** Return the view of the config's source, as tj_family_view: number *is_swapped. */
const tj_problem *tj_views_at(const tj_views *views, const tj_config *config, bool *is_swapped);

/** As tj_config_resolve, tj_preview_launch and tj_config_is_worth_trying (worth.h), by views. Only err may be NULL. */
tj_status tj_views_resolve(const tj_views *views, tj_config *config, tj_error *err);
tj_status tj_views_preview(const tj_views *views, tj_config *config, tj_launch_form *form, tj_error *err);
bool tj_views_worth_trying(const tj_views *views, const tj_config *config);

/**
 * Does the family's form know that no config with these first `known` parameters is worth trying, whatever the others are? Lets
 * a walk over the space skip whole ranges; config need not be resolved.
 */
bool tj_views_hopeless(const tj_views *views, const tj_config *config, size_t known);

#endif
