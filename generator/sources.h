/* SPDX-License-Identifier: Apache-2.0 */
/* sources: what other files and layers need of sources beyond <tilejit/source.h>. */
#ifndef TJ_GENERATOR_SOURCES_H
#define TJ_GENERATOR_SOURCES_H

#include <tilejit/source.h>

/** A source that no problem was asked for. text is taken over, also on failure; request: what was asked, for people; it is copied. */
tj_status tj_source_of_text(const tj_config *config, const tj_launch_form *launch, char *text, const char *request,
                            tj_source **source, tj_error *err);

/** What it was generated for, in one line of at most bytes - 1 characters, at least TJ_PROBLEM_TEXT_BYTES - 1. */
void tj_source_print_request(const tj_source *source, char *line, size_t bytes);

#endif
