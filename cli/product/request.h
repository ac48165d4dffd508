/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request: the options that say what to compute and how, and the problem and config that come of them.
 */
#ifndef TJ_CLI_REQUEST_H
#define TJ_CLI_REQUEST_H

#include <tilejit/config.h>
#include <tilejit/problem.h>
#include <tilejit/tuner.h>

#include "command.h"

typedef struct cli_matrix_options {
    int32_t layout, transposed;
    int64_t ld, stride;
} cli_matrix_options;

/** A command lists the groups that it takes; what it leaves out stays as if nothing was said. */
typedef struct cli_request_options {
    const char *dtype, *p_dtype, *any, *multiple_of;
    cli_matrix_options m, n, p, c;
    int64_t batch;
    cli_real alpha, beta;
    const char *config, *family, *tile_width, *shared, *rows, *boundary;
} cli_request_options;

extern const cli_group cli_problem_group, cli_layout_group, cli_scalar_group, cli_config_group;

/** What they ask to compute. */
typedef struct cli_request {
    tj_problem problem; /* as generated: some dimensions may be arguments */
    tj_problem known;   /* the same with every extent a number */
    tj_config config;
    bool has_config;        /* the words say something about the config */
    tj_chosen_by chosen_by; /* who chose it where they do not, once cli_adapt has asked; 0: nobody */
    double alpha, beta;
} cli_request;

/** For commands with a shape: everything that the words can get wrong is found here. */
tj_status cli_read_request(const cli_request_options *options, const char *shape, cli_request *request, tj_error *err);

/** For those that find the shape in files: are the words of any use; and with request->known filled, the rest of it. */
tj_status cli_check_request(const cli_request_options *options, tj_error *err);
tj_status cli_settle_request(const cli_request_options *options, cli_request *request, tj_error *err);

/** A type option. Without text nothing changes. */
tj_status cli_read_dtype(const char *text, int32_t *dtype, tj_error *err);

enum { CLI_SHAPE_BYTES = 96 };

/** A problem's shape, its extents numbers: "16x32x48", of a batch "16x32x48 b5". So files of --trials name it. */
void cli_print_shape(const tj_problem *problem, char text[CLI_SHAPE_BYTES]);

/** The problem as members of an object. Owned: the caller. */
json_t *cli_problem_json(const tj_problem *problem);

/** For options that name a family. */
const char *cli_family_at(size_t index);

#endif
