/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_heat: the tuning space of a family as a map over its first two parameters with a choice: each cell is the best over all
 * other parameters, by the model, or, with --trials, as measured.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "input.h"

enum { CELL_WIDTH = 74, CELL_HEIGHT = 34, MAP_LEFT = 100, MAP_TOP = 20, MAP_BELOW = 52, NO_AXIS = -1 };

/* One parameter along an edge of the map. */
typedef struct axis {
    int index; /* of the family's parameters; NO_AXIS: none */
    const tj_param *param;
    int32_t value[TJ_PARAM_MAX_TRIED];
    int count;
} axis;

typedef struct heat_map {
    const tj_family *family;
    axis across, down;
    double us[TJ_PARAM_MAX_TRIED][TJ_PARAM_MAX_TRIED]; /* down, across; 0: none */
    int64_t configs;                                   /* configs considered */
    int cells;                                         /* cells with a time */
    double best_us, worst_us;
    int best_down, best_across;
    tj_config best;
    bool is_measured;
} heat_map;

/* ---- content ------------------------------------------------------------------------------------------------------ */

/* Return the next parameter with several values. */
static axis axis_after(const tj_family *family, int index)
{
    axis a = {.index = NO_AXIS, .count = 1};

    for (size_t i = (size_t)index + 1; i < tj_family_param_count(family); i++) {
        const tj_param *param = tj_family_param(family, i);
        const size_t count = tj_param_values(param, a.value);

        if (count < 2)
            continue;
        a.index = (int)i;
        a.param = param;
        a.count = (int)count;
        break;
    }
    return a;
}

static int place_on(const axis *a, const tj_config *config)
{
    if (a->index == NO_AXIS)
        return 0;
    for (int i = 0; i < a->count; i++)
        if (a->value[i] == config->value[a->index])
            return i;
    return -1;
}

static void enter(heat_map *map, const tj_config *config, double us)
{
    const int down = place_on(&map->down, config), across = place_on(&map->across, config);
    double *cell;

    if (down < 0 || across < 0 || !(us > 0))
        return;
    cell = &map->us[down][across];
    map->configs++;
    map->cells += *cell == 0;
    if (*cell == 0 || us < *cell)
        *cell = us;
    if (map->best_us == 0 || us < map->best_us) {
        map->best_us = us;
        map->best = *config;
        map->best_down = down;
        map->best_across = across;
    }
}

static tj_status enter_predicted(const cli_look *look, heat_map *map, tj_error *err)
{
    tj_space *space = NULL;
    tj_config config;
    tj_status status = tj_space_create(&look->request.known, &look->machine.facts, map->family, &space, err);

    while (status == TJ_OK && tj_space_next(space, &config)) {
        double us;

        if (tj_estimate(&look->machine.facts, &look->request.known, &config, &us, NULL) == TJ_OK)
            enter(map, &config, us);
    }
    tj_space_free(space);
    return status;
}

enum { MOST_TRIALS_BYTES = 256 << 20 }; /* two million trials */

/* Read lines of tilejit tune --trials: shape, config, state, microseconds and more, separated by tabs. */
static tj_status enter_measured(const cli_look *look, const char *path, heat_map *map, tj_error *err)
{
    char *text, *lines, *line, shape[CLI_SHAPE_BYTES];
    size_t size;
    const tj_status status = tj_input_read_whole(path, MOST_TRIALS_BYTES, &text, &size, err);

    if (status != TJ_OK)
        return status;
    cli_print_shape(&look->request.known, shape);
    for (lines = text; (line = strsep(&lines, "\r\n"));) {
        char *rest = line, *field[4];
        tj_config config;
        double us;
        size_t count = 0;
        tj_error ignored;

        while (count < 4 && (field[count] = strsep(&rest, "\t")))
            count++;
        if (count == 4 && strcmp(field[0], shape) == 0 && strcmp(field[2], "timed") == 0 &&
            tj_config_parse(field[1], &config, &ignored) == TJ_OK && config.family == map->family &&
            cli_parse_real("us", field[3], &us, &ignored) == TJ_OK)
            enter(map, &config, us);
    }
    free(text);
    if (map->cells == 0)
        return tj_fail(err, TJ_ERR_NOT_FOUND, "%.200s has no timed trial of %s in family %s: give that family with --family",
                       path, shape, tj_family_name(map->family));
    map->is_measured = true;
    return TJ_OK;
}

/* ---- drawing ------------------------------------------------------------------------------------------------------ */

static void put_value(FILE *out, const axis *a, int i)
{
    if (a->index == NO_AXIS)
        return;
    if (a->param->choice)
        fputs(a->param->choice[a->value[i] - 1], out);
    else
        fprintf(out, "%d", (int)a->value[i]);
}

static const char *name_of(const axis *a)
{
    return a->index == NO_AXIS ? "" : a->param->name;
}

/* Twice the best time, or more, is pale. */
static double depth(const heat_map *map, double us)
{
    return fmax(0, 1 - log2(us / map->best_us));
}

static void put_description(FILE *out, const heat_map *map)
{
    fprintf(out, "<desc id=\"heat-desc\">%s times of family %s, %s down and %s across. ",
            map->is_measured ? "Measured" : "Predicted", tj_family_name(map->family), name_of(&map->down),
            name_of(&map->across));
    for (int d = 0; d < map->down.count; d++)
        for (int a = 0; a < map->across.count; a++)
            if (map->us[d][a] > 0) {
                put_value(out, &map->down, d);
                fputs(map->across.index == NO_AXIS ? "" : " by ", out);
                put_value(out, &map->across, a);
                fprintf(out, ": %s. ", cli_duration(map->us[d][a]).text);
            }
    fputs("</desc>\n", out);
}

static void put_cell(FILE *out, const heat_map *map, int down, int across)
{
    const int x = MAP_LEFT + across * CELL_WIDTH, y = MAP_TOP + down * CELL_HEIGHT;
    const double us = map->us[down][across];

    if (us == 0) {
        fprintf(out, "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x + CELL_WIDTH / 2,
                y + CELL_HEIGHT / 2 + 5, map->is_measured ? "?" : "-");
        return;
    }
    fprintf(out, "<rect class=\"heat\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill-opacity=\"%.2f\"/>", x + 1, y + 1,
            CELL_WIDTH - 2, CELL_HEIGHT - 2, 0.04 + 0.5 * depth(map, us));
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\"%s>%s</text>\n", x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2 + 5,
            down == map->best_down && across == map->best_across ? " font-weight=\"700\"" : "", cli_duration(us).text);
}

static void put_map(FILE *out, const heat_map *map)
{
    const int bottom = MAP_TOP + map->down.count * CELL_HEIGHT, right = MAP_LEFT + map->across.count * CELL_WIDTH;
    const int width = right + 20 > CLI_PAGE_WIDTH ? right + 20 : CLI_PAGE_WIDTH;

    cli_page_open_figure(out, "heat", width, bottom + MAP_BELOW,
                         "Heat map of the tuning space: best time for each pair of values");
    put_description(out, map);
    for (int d = 0; d < map->down.count; d++) {
        fprintf(out, "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"end\">", MAP_LEFT - 10,
                MAP_TOP + d * CELL_HEIGHT + CELL_HEIGHT / 2 + 5);
        put_value(out, &map->down, d);
        fputs("</text>\n", out);
        for (int a = 0; a < map->across.count; a++)
            put_cell(out, map, d, a);
    }
    for (int a = 0; a < map->across.count; a++) {
        fprintf(out, "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
                MAP_LEFT + a * CELL_WIDTH + CELL_WIDTH / 2, bottom + 18);
        put_value(out, &map->across, a);
        fputs("</text>\n", out);
    }
    fprintf(out, "<text x=\"4\" y=\"%d\">%s</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
            MAP_TOP + CELL_HEIGHT / 2 + 5, name_of(&map->down), (MAP_LEFT + right) / 2, bottom + 40, name_of(&map->across));
    fprintf(out, "<rect class=\"best\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n</svg>\n",
            MAP_LEFT + map->best_across * CELL_WIDTH + 1, MAP_TOP + map->best_down * CELL_HEIGHT + 1, CELL_WIDTH - 2,
            CELL_HEIGHT - 2);
}

tj_status cli_page_heat(FILE *out, const cli_look *look, const tj_family *family, const char *trials, tj_error *err)
{
    heat_map *map = calloc(1, sizeof *map);
    char text[TJ_CONFIG_TEXT_BYTES];
    tj_status status;

    if (!map)
        return tj_fail_memory(err, "the map of the tuning space");
    map->family = family;
    map->down = axis_after(family, NO_AXIS);
    if (map->down.index != NO_AXIS)
        map->across = axis_after(family, map->down.index);
    else
        map->across = map->down;
    status = trials ? enter_measured(look, trials, map, err) : enter_predicted(look, map, err);
    if (status == TJ_OK && map->cells > 0) {
        fprintf(out, "<h2>The tuning space of %s</h2>\n", tj_family_name(family));
        put_map(out, map);
        tj_config_print(&map->best, text);
        fprintf(out,
                "<figcaption>%" PRId64 " configs, %s; each cell is the fastest with its two values. The deepest colour is the "
                "fastest of all, none is left at twice its time. %s Framed: ",
                map->configs, map->is_measured ? "as measured" : "by the model",
                map->is_measured ? "A question mark: none was tried." : "A dash: no config worth a trial has both.");
        cli_page_config(out, text);
        fputs(".</figcaption>\n</figure>\n", out);
    }
    free(map);
    return status;
}
