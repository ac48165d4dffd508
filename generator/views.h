/* SPDX-License-Identifier: Apache-2.0 */
/*
 * views: a problem as texts see it, for whoever goes through many configs of one problem: it is checked and spelled out once.
 */
#ifndef TJ_GENERATOR_VIEWS_H
#define TJ_GENERATOR_VIEWS_H

#include <stdbool.h>

#include <tilejit/source.h>

/** Canonical, and transposed ([1]). mean: with groups, of the mean size, which forms weigh; else the same. */
typedef struct tj_views {
    tj_problem problem[2], mean[2];
} tj_views;

/** Errors: those of tj_problem_check. */
tj_status tj_views_of(const tj_problem *problem, tj_views *views, tj_error *err);

/** The same of a problem that has passed that check. */
void tj_views_spell_out(const tj_problem *problem, tj_views *views);

/** The view that a text of the config's family has, as tj_family_view: number *is_swapped of them. */
const tj_problem *tj_views_at(const tj_views *views, const tj_config *config, bool *is_swapped);

/** tj_config_resolve, tj_preview_launch and tj_config_is_worth_trying (worth.h) of a problem by its views. Only err may be NULL. */
tj_status tj_views_resolve(const tj_views *views, tj_config *config, tj_error *err);
tj_status tj_views_preview(const tj_views *views, tj_config *config, tj_launch_form *form, tj_error *err);
bool tj_views_worth_trying(const tj_views *views, const tj_config *config);

/**
 * With the first `known` parameters of the family as config has them: does its form know that no values of the others make a config
 * worth trying? Lets a walk over the space pass over whole stretches of it; config need not be resolved.
 */
bool tj_views_hopeless(const tj_views *views, const tj_config *config, size_t known);

#endif
