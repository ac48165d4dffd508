/* SPDX-License-Identifier: Apache-2.0 */
/* sources: declarations for other files and layers about sources, beyond <tilejit/source.h>. */
#ifndef TJ_GENERATOR_SOURCES_H
#define TJ_GENERATOR_SOURCES_H

#include <tilejit/source.h>

/** Create a source that belongs to no problem. Takes over text, also on failure; request: the request for people, copied. */
tj_status tj_source_of_text(const tj_config *config, const tj_launch_form *launch, char *text, const char *request,
                            tj_source **source, tj_error *err);

/** Print the request in one line. bytes: at least TJ_PROBLEM_TEXT_BYTES. */
void tj_source_print_request(const tj_source *source, char *line, size_t bytes);

#endif
