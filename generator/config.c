/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: set a config, print and parse it as one line, and settle what it leaves open.
 */
#include <tilejit/config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "error.h"
#include "family.h"
#include "parts/after.h"
#include "settle.h"
#include "text.h"

static const char *const check_words[] = {[TJ_CHECK_AUTO] = "auto", [TJ_CHECK_ON] = "all", [TJ_CHECK_OFF] = "none"};

/* ---- setting ------------------------------------------------------------------------------------------------------ */

static tj_status set_choice(const tj_param *param, const char *value, int32_t *out, tj_error *err)
{
    char words[120] = "";

    for (int i = 0; param->choice[i]; i++) {
        if (strcmp(param->choice[i], value) == 0) {
            *out = i + 1;
            return TJ_OK;
        }
        if (strlen(words) + strlen(param->choice[i]) + 5 < sizeof words) {
            strcat(words, i > 0 ? " or " : "");
            strcat(words, param->choice[i]);
        }
    }
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%.40s\": use %s", param->name, value, words);
}

static tj_status set_number(const tj_param *param, const char *value, int32_t *out, tj_error *err)
{
    int64_t number;

    if (!tj_parse_int(value, &number) || number < param->minimum || number > param->maximum)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%.40s\": use a whole number from %d to %d", param->name, value,
                       param->minimum, param->maximum);
    *out = (int32_t)number;
    return TJ_OK;
}

static bool find_check_word(const char *value, int32_t *check)
{
    for (int32_t i = TJ_CHECK_AUTO; i <= TJ_CHECK_OFF; i++)
        if (strcmp(value, check_words[i]) == 0) {
            *check = i;
            return true;
        }
    return false;
}

/* Parse "auto", "all", "none", or the letters of the dimensions to check. */
static tj_status set_boundary(tj_config *config, const char *value, tj_error *err)
{
    int32_t all, check[3] = {TJ_CHECK_OFF, TJ_CHECK_OFF, TJ_CHECK_OFF};

    if (find_check_word(value, &all)) {
        config->check_j = config->check_k = config->check_l = all;
        return TJ_OK;
    }
    for (const char *letter = value; *letter; letter++) {
        const char *place = strchr("jkl", *letter);
        if (!place || check[place - "jkl"] == TJ_CHECK_ON)
            goto bad;
        check[place - "jkl"] = TJ_CHECK_ON;
    }
    if (*value == '\0')
        goto bad;
    config->check_j = check[0];
    config->check_k = check[1];
    config->check_l = check[2];
    return TJ_OK;

bad:
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "boundary is \"%.40s\": use auto, all, none, or the letters of the dimensions to check, such as jl", value);
}

tj_status tj_config_set(tj_config *config, const char *name, const char *value, tj_error *err)
{
    if (TJ_HAS_NULL(err, config, name, value))
        return TJ_ERR_INVALID_ARGUMENT;
    static const char *const dimension[] = {"boundary_j", "boundary_k", "boundary_l"};
    int32_t *const check[] = {&config->check_j, &config->check_k, &config->check_l};
    const tj_param *param;
    int index;

    if (strcmp(name, "boundary") == 0)
        return set_boundary(config, value, err);
    for (int i = 0; i < 3; i++)
        if (strcmp(name, dimension[i]) == 0)
            return find_check_word(value, check[i])
                       ? TJ_OK
                       : tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%.40s\": use auto, all or none", name, value);
    if (!config->family)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.40s cannot be set before a family is chosen", name);
    index = tj_family_param_index(config->family, name);
    if (index < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "family %s has no parameter \"%.40s\": tilejit families lists them",
                       config->family->name, name);
    param = &config->family->param[index];
    return param->choice ? set_choice(param, value, &config->value[index], err)
                         : set_number(param, value, &config->value[index], err);
}

int32_t tj_config_get(const tj_config *config, const char *name)
{
    if (!config || !name)
        return 0;
    int index = config->family ? tj_family_param_index(config->family, name) : -1;

    if (index < 0)
        return 0;
    return config->value[index] ? config->value[index] : config->family->param[index].standard;
}

/* ---- one line ----------------------------------------------------------------------------------------------------- */

tj_status tj_config_parse(const char *text, tj_config *config, tj_error *err)
{
    if (TJ_HAS_NULL(err, text, config))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_config parsed = TJ_CONFIG_INIT;
    char word[TJ_CONFIG_TEXT_BYTES];
    const char *rest = text;

    for (bool is_family = true;; is_family = false) {
        const char *stop = is_family ? ":" : ",";
        const size_t length = strcspn(rest, stop);
        char *value;
        tj_status status;

        if (length >= sizeof word)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a config is at most %d characters long", TJ_CONFIG_TEXT_BYTES - 1);
        memcpy(word, rest, length);
        word[length] = '\0';
        if (is_family) {
            parsed.family = tj_family_find(word);
            if (!parsed.family)
                return tj_fail(err, TJ_ERR_NOT_FOUND, "no family is named \"%.40s\": tilejit families lists them", word);
        } else {
            value = strchr(word, '=');
            if (!value)
                return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "\"%.60s\" in a config is not of the form name=value", word);
            *value = '\0';
            status = tj_config_set(&parsed, word, value + 1, err);
            if (status != TJ_OK)
                return status;
        }
        if (rest[length] == '\0')
            break;
        rest += length + 1;
    }
    *config = parsed;
    return TJ_OK;
}

static const char *check_word(int32_t check)
{
    return check >= TJ_CHECK_AUTO && check <= TJ_CHECK_OFF ? check_words[check] : "?";
}

static void print_boundary(tj_text *text, const tj_config *config)
{
    const int32_t check[] = {config->check_j, config->check_k, config->check_l};
    bool is_settled = true;

    for (int i = 0; i < 3; i++)
        is_settled = is_settled && (check[i] == TJ_CHECK_ON || check[i] == TJ_CHECK_OFF);

    if (check[0] == check[1] && check[1] == check[2]) {
        tj_text_append(text, ",boundary=");
        tj_text_append(text, check_word(check[0]));
        return;
    }
    if (!is_settled) {
        for (int i = 0; i < 3; i++) {
            tj_text_append(text, ",boundary_");
            tj_text_append_bytes(text, &"jkl"[i], 1);
            tj_text_append(text, "=");
            tj_text_append(text, check_word(check[i]));
        }
        return;
    }
    tj_text_append(text, ",boundary=");
    for (int i = 0; i < 3; i++)
        if (check[i] == TJ_CHECK_ON)
            tj_text_append_bytes(text, &"jkl"[i], 1);
}

void tj_config_print(const tj_config *config, char *out)
{
    if (!config || !out)
        return;
    tj_text text = TJ_TEXT_INIT(TJ_CONFIG_TEXT_BYTES - 1);
    const tj_family *family = config->family ? config->family : TJ_SAFE_FAMILY;
    char *line = NULL;

    tj_text_append(&text, family->name);
    for (size_t i = 0; i < family->param_count; i++) {
        const tj_param *param = &family->param[i];
        const int32_t value = config->value[i] ? config->value[i] : param->standard;

        if (value == 0)
            continue; /* the problem settles it, and has not yet */
        tj_text_append(&text, text.length == strlen(family->name) ? ":" : ",");
        tj_text_append(&text, param->name);
        tj_text_append(&text, "=");
        if (param->choice && value >= param->minimum && value <= param->maximum)
            tj_text_append(&text, param->choice[value - 1]);
        else
            tj_text_append_int(&text, value); /* not one of the choices; tj_config_resolve will say so */
    }
    if (!family->custom)
        print_boundary(&text, config);
    out[0] = '\0';
    if (tj_text_take(&text, &line, NULL) == TJ_OK)
        strcpy(out, line);
    free(line);
}

/* ---- resolving ---------------------------------------------------------------------------------------------------- */

tj_status tj_config_check(const tj_config *config, tj_error *err)
{
    const int32_t checks[] = {config->check_j, config->check_k, config->check_l};

    if (config->struct_size != sizeof *config)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "config.struct_size is %lld, not %d: start from TJ_CONFIG_INIT",
                       (long long)config->struct_size, (int)sizeof *config);
    if (config->reserved != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "config.reserved is %d: it must be 0", config->reserved);
    for (int i = 0; i < 3; i++)
        if (checks[i] < TJ_CHECK_AUTO || checks[i] > TJ_CHECK_OFF)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "check_%c is %d: use TJ_CHECK_AUTO, TJ_CHECK_ON or TJ_CHECK_OFF",
                           "jkl"[i], checks[i]);
    for (size_t i = 0; i < TJ_CONFIG_MAX_PARAMS; i++) {
        const tj_param *param = config->family ? tj_family_param(config->family, i) : NULL;

        if (config->value[i] == 0)
            continue;
        if (!param)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "config.value[%d] is %d: family %s has no such parameter", (int)i,
                           config->value[i], config->family ? config->family->name : "(none)");
        if (config->value[i] < param->minimum || config->value[i] > param->maximum)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %d: use %d to %d", param->name, config->value[i],
                           param->minimum, param->maximum);
    }
    return TJ_OK;
}

/* The family that messages name as a remedy. */
static const char *safe_name(const tj_problem *view)
{
    return tj_safe_config(view).family->name;
}

static tj_status check_types(const tj_family *family, const tj_problem *view, bool is_swapped, tj_error *err)
{
    const tj_which callers[] = {is_swapped ? TJ_MATRIX_N : TJ_MATRIX_M, is_swapped ? TJ_MATRIX_M : TJ_MATRIX_N, TJ_MATRIX_P};
    const bool takes_weights = family->takes_weights && tj_widens_weights(view->m.type, view->n.type);
    const int pairs = tj_widens_weights(view->m.type, view->n.type) ? TJ_PAIRS_OF_WEIGHTS : TJ_PAIRS;
    char list[TJ_NAME_LIST_BYTES];

    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_P; which++) {
        const int32_t type = tj_problem_matrix(view, callers[which])->type;

        if (which != TJ_MATRIX_P && tj_type_is_pair(type) && (int)family->takes_pairs < pairs)
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                pairs == TJ_PAIRS
                    ? "family %s takes 4 bits as weights only, and %c is %s like the other: use the family %s, or none, "
                      "so that the library chooses"
                    : "family %s takes no weights of 4 bits, and %c is %s: use the family %s, or none, so that the library "
                      "chooses",
                family->name, tj_which_letter(which), tj_type_name((tj_type)type), safe_name(view));
        if (tj_type_is_complex(type) && !family->takes_complex)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "family %s takes no complex numbers, and %c is %s: use the family %s, or none, so that the library "
                           "chooses",
                           family->name, tj_which_letter(which), tj_type_name((tj_type)type), safe_name(view));
        if (!family->types || tj_type_is_complex(type))
            continue;
        if (!(family->types >> type & 1) && !(takes_weights && (TJ_TYPES_OF_WEIGHTS >> type & 1)))
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "family %s takes matrices of %s, and %c is %s: use the family %s, or none, so that the library chooses",
                family->name, tj_type_list(family->types, false, list), tj_which_letter(which), tj_type_name((tj_type)type),
                safe_name(view));
    }
    if (family->types && !takes_weights && tj_widens_weights(view->m.type, view->n.type))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family %s takes M and N of one type, and they are %s and %s: use the family %s, or none, so that the library "
            "chooses",
            family->name, tj_type_name((tj_type)tj_problem_matrix(view, callers[TJ_MATRIX_M])->type),
            tj_type_name((tj_type)tj_problem_matrix(view, callers[TJ_MATRIX_N])->type), safe_name(view));
    return TJ_OK;
}

/* One thread finishes a pair of columns, and the source of the transpose has the columns of P as rows. */
static tj_status check_pairs(const tj_family *family, const tj_problem *view, bool is_swapped, tj_error *err)
{
    if (!tj_epilogue_pairs(&view->epilogue) || !is_swapped)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "the epilogue takes pairs of columns, and this text of family %s would compute the transpose: use family "
                   "%s, or none, so that the library chooses",
                   family->name, safe_name(view));
}

/* A pair of columns must not span two tiles. */
static tj_status check_pairs_of_tile(const tj_problem *view, const tj_config *resolved, tj_error *err)
{
    const tj_tile tile = tj_epilogue_pairs(&view->epilogue) ? resolved->family->tile(view, resolved) : (tj_tile){0};

    if (tile.cols % 2 == 0)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the epilogue takes pairs of columns, and %s is %d: make it even",
                   tile.cols_name, tile.cols);
}

static tj_status check_groups(const tj_family *family, const tj_problem *view, tj_error *err)
{
    if (tj_divides_k(view) && !family->takes_groups_along_k)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family %s takes no groups along k, and the problem has %d: use the family %s, or none, so that the "
                       "library chooses",
                       family->name, view->rows.groups, safe_name(view));
    if (!tj_is_grouped(view) || family->takes_groups)
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "family %s takes no groups, and the problem has %lld: use the family %s, or none, so that the library chooses",
        family->name, (long long)tj_group_count(view), safe_name(view));
}

static tj_status check_indexes(const tj_family *family, const tj_problem *view, tj_error *err)
{
    if (tj_is_scattered(view) && !family->takes_scattered)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family %s does not scatter rows to P, as the problem asks for: use the family %s, or none, so that the "
                       "library chooses",
                       family->name, safe_name(view));
    if (!tj_is_gathered(view) || family->takes_gathered)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "family %s does not gather rows of M, as the problem asks for: use the family %s, or none, so that the "
                   "library chooses",
                   family->name, safe_name(view));
}

static tj_status check_symmetric(const tj_family *family, const tj_problem *view, tj_error *err)
{
    if (!tj_is_symmetric(view) || family->takes_symmetric)
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "family %s computes all of P, and the problem asks for one triangle (symmetric): use the family %s, or none, "
        "so that the library chooses",
        family->name, safe_name(view));
}

/* The diagonal crosses square tiles from corner to corner; a tile of two squares is computed as each of them. */
static tj_status check_square_tile(const tj_problem *view, const tj_config *resolved, tj_error *err)
{
    const tj_tile tile = tj_is_symmetric(view) ? resolved->family->tile(view, resolved) : (tj_tile){0};

    if (tile.rows == tile.cols || (resolved->family->takes_tall && resolved->family->takes_tall(view, resolved)))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "tiles are %d x %d, and a symmetric P is computed in square ones: make %s and %s equal", tile.rows,
                   tile.cols, tile.rows_name, tile.cols_name);
}

static tj_status check_order(const tj_family *family, const tj_problem *view, tj_error *err)
{
    if (!tj_has_repacked(view) || family->takes_repacked)
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "family %s reads weights in their natural order, and those of this problem are repacked: use the family %s, or "
        "none, so that the library chooses",
        family->name, safe_name(view));
}

static tj_status check_scales(const tj_family *family, const tj_problem *view, tj_error *err)
{
    const bool are_plain = tj_scales_are_plain(view);
    char marks[TJ_PROBLEM_TEXT_BYTES];

    if (are_plain ? tj_scale_k(view) == 0 || family->scales_along_k : family->takes_scales && family->takes_scales(view))
        return TJ_OK;
    if (!are_plain) {
        tj_problem_print_marks(&(tj_problem){.scale = {view->scale[TJ_MATRIX_M], view->scale[TJ_MATRIX_N]}}, marks);
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family %s does not multiply by the scales of this problem (%s): use the family %s, or none, so that the library "
            "chooses",
            family->name, marks + 1, safe_name(view));
    }
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "family %s takes no scales along k, and the problem has them for each %d elements: use the family %s, or none, so "
        "that the library chooses",
        family->name, tj_scale_k(view), safe_name(view));
}

/* Check the abilities of a family that do not depend on its parameters. */
static tj_status check_abilities(const tj_family *family, const tj_problem *view, tj_error *err)
{
    tj_status status = check_groups(family, view, err);

    if (status == TJ_OK)
        status = check_indexes(family, view, err);
    if (status == TJ_OK)
        status = check_symmetric(family, view, err);
    if (status == TJ_OK)
        status = check_order(family, view, err);
    return status == TJ_OK ? check_scales(family, view, err) : status;
}

/* Give a side of the tile that is open the length of the other: the defaults of some families are not square. */
static void make_square(const tj_config *asked, tj_config *begun)
{
    const int rows = tj_family_param_index(begun->family, "bm"), cols = tj_family_param_index(begun->family, "bn");

    if (rows < 0 || cols < 0)
        return;
    if (asked->value[rows] == 0)
        begun->value[rows] = begun->value[cols];
    else if (asked->value[cols] == 0)
        begun->value[cols] = begun->value[rows];
}

/* Print the parameters that divide a sum, such as " with splits=4", or "". */
static void print_dividers(const tj_config *config, char text[64])
{
    static const char *const divider[] = {"splits", "slices"};

    text[0] = '\0';
    for (size_t i = 0; i < sizeof divider / sizeof divider[0]; i++) {
        const int index = tj_family_param_index(config->family, divider[i]);
        const int32_t value = index < 0 ? 0 : config->value[index];

        if (value > 1)
            (void)snprintf(text + strlen(text), 64 - strlen(text), "%s%s=%d", *text ? ", " : " with ", divider[i], value);
    }
}

/* An invariant asks for one order of sums, whichever config adds them (invariant.h). */
static tj_status check_sum_order(const tj_problem *view, const tj_config *config, tj_error *err)
{
    const tj_sum_order asked = tj_sum_order_of(view);
    char dividers[64] = "";

    if (asked == TJ_SUMS_OWN || asked == TJ_SUMS_EXACT ||
        (config->family->sum_order && config->family->sum_order(view, config) == asked))
        return TJ_OK;
    if (config->family->sum_order)
        print_dividers(config, dividers);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "invariant is rows, which asks for one order of sums (%s), and family %s%s adds them in another: use family "
                   "%s%s, or none, so that the library chooses",
                   tj_problem_sum_order(view), config->family->name, dividers, safe_name(view),
                   *dividers ? " without these" : "");
}

/* Set the family and the defaults that depend on the problem by its features only. */
static tj_config begin(const tj_problem *problem, const tj_config *config)
{
    tj_config resolved = *config;

    if (!resolved.family) {
        const tj_config safe = tj_safe_config(problem);

        resolved.family = safe.family;
        memcpy(resolved.value, safe.value, sizeof resolved.value);
    }
    for (size_t i = 0; i < resolved.family->param_count; i++)
        if (resolved.value[i] == 0)
            resolved.value[i] = resolved.family->param[i].standard;
    if (tj_is_symmetric(problem))
        make_square(config, &resolved);
    return resolved;
}

/* Settle the rest, and store the result in *config on success. */
static tj_status settle(const tj_problem *view, bool is_swapped, tj_config *begun, tj_config *config, tj_error *err)
{
    tj_status status = check_types(begun->family, view, is_swapped, err);

    if (status == TJ_OK)
        status = check_pairs(begun->family, view, is_swapped, err);
    if (status == TJ_OK)
        status = check_abilities(begun->family, view, err);
    if (status == TJ_OK)
        status = begun->family->resolve(view, is_swapped, begun, err);
    if (status == TJ_OK)
        status = check_sum_order(view, begun, err);
    if (status == TJ_OK)
        status = check_pairs_of_tile(view, begun, err);
    if (status == TJ_OK)
        status = check_square_tile(view, begun, err);
    if (status == TJ_OK)
        *config = *begun;
    return status;
}

tj_status tj_request_resolve(const tj_request *request, tj_config *config, tj_error *err)
{
    tj_status status = tj_config_check(config, err);
    tj_config resolved;
    const tj_problem *view;
    bool is_swapped;

    if (status != TJ_OK)
        return status;
    resolved = begin(&request->problem, config);
    view = tj_request_view(request, &resolved, &is_swapped);
    status = tj_after_check(&request->problem, view, resolved.family, err);
    return status == TJ_OK ? settle(view, is_swapped, &resolved, config, err) : status;
}

tj_status tj_config_resolve(const tj_problem *problem, tj_config *config, tj_error *err)
{
    if (TJ_HAS_NULL(err, problem, config))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_request request;
    const tj_status status = tj_request_make(problem, &request, err);

    return status == TJ_OK ? tj_request_resolve(&request, config, err) : status;
}

/* ---- worth a trial? ------------------------------------------------------------------------------------------------ */

bool tj_request_worth_trying(const tj_request *request, const tj_config *config)
{
    bool is_swapped;
    const tj_problem mean = tj_mean_of_groups(*tj_request_view(request, config, &is_swapped));

    return !config->family->is_worth_trying || config->family->is_worth_trying(&mean, config);
}

/* Do the parameters that are known divide a sum that must not be divided? */
static bool divides_sums(const tj_problem *problem, const tj_config *config, size_t known)
{
    const tj_sum_order asked = tj_sum_order_of(problem);
    const int splits = asked == TJ_SUMS_OWN || asked == TJ_SUMS_EXACT ? -1 : tj_family_param_index(config->family, "splits");

    return splits >= 0 && (size_t)splits < known && config->value[splits] > 1;
}

/* Does a symmetric P need other tiles, whatever the parameters are that are not known yet? */
static bool is_oblong(const tj_config *config, size_t known)
{
    const int rows = tj_family_param_index(config->family, "bm"), cols = tj_family_param_index(config->family, "bn");

    return rows >= 0 && cols >= 0 && known > (size_t)(rows > cols ? rows : cols) &&
           config->value[rows] != config->value[cols] &&
           !(config->family->takes_tall && config->value[rows] == 2 * config->value[cols]);
}

bool tj_request_hopeless(const tj_request *request, const tj_config *config, size_t known)
{
    bool is_swapped;

    if (tj_is_symmetric(&request->problem) && is_oblong(config, known))
        return true;
    if (check_abilities(config->family, &request->problem, NULL) != TJ_OK || divides_sums(&request->problem, config, known))
        return true;
    if (!config->family->is_hopeless)
        return false;
    const tj_problem mean = tj_mean_of_groups(*tj_request_view(request, config, &is_swapped));

    return config->family->is_hopeless(&mean, config, known);
}

bool tj_request_relax(const tj_request *request, tj_config *config)
{
    tj_config looser = *config, resolved;

    if (!config->family->relax || !config->family->relax(&looser))
        return false;
    resolved = looser;
    if (tj_request_resolve(request, &resolved, NULL) != TJ_OK)
        return false;
    *config = looser;
    return true;
}
