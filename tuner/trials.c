/* SPDX-License-Identifier: Apache-2.0 */
#include "trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "error.h"
#include "hash.h"
#include "json.h"
#include "rank.h"
#include "request.h"
#include "space.h"
#include "text.h"

static const char MAGIC[] = "tilejit trials 1 ";
enum { FASTEST = 4, FAVOURITES = 3 }; /* of each problem in a table: the fastest, and those that the model ranks highest */

/* Lists of a set grow by doubling. */
typedef struct measured_list {
    tj_measured_problem of;
    tj_measured *item;
    size_t capacity, text; /* text: the number of that which the trials are from */
} measured_list;

struct tj_trials {
    tj_device_facts device; /* name "": none yet */
    measured_list *problem;
    size_t problems, capacity;
    char **text; /* that configs and lines lie in */
    size_t texts;
};

/* ---- the device --------------------------------------------------------------------------------------------------- */

typedef struct fact {
    const char *name;
    size_t offset, bytes;
} fact;

#define FACT(member)                                                                                \
    {                                                                                               \
#member, offsetof(tj_device_facts, member), sizeof(((const tj_device_facts *)NULL)->member) \
    }

static const fact facts[] = {FACT(cc_major),
                             FACT(cc_minor),
                             FACT(sm_count),
                             FACT(max_threads_per_block),
                             FACT(max_threads_per_sm),
                             FACT(max_blocks_per_sm),
                             FACT(max_grid_x),
                             FACT(max_grid_y),
                             FACT(max_grid_z),
                             FACT(registers_per_block),
                             FACT(registers_per_sm),
                             FACT(shared_per_block),
                             FACT(shared_per_block_optin),
                             FACT(shared_per_sm),
                             FACT(reserved_shared_per_block),
                             FACT(l2_bytes),
                             FACT(memory_bytes),
                             FACT(clock_khz),
                             FACT(memory_clock_khz),
                             FACT(memory_bus_bits),
                             FACT(driver_version)};

enum { FACTS = sizeof facts / sizeof facts[0] };

char *tj_device_to_json(const tj_device_facts *device)
{
    if (!device)
        return NULL;
    tj_json *object = tj_json_new();
    char *text;

    tj_json_add_foreign(object, "name", device->name);
    for (size_t i = 0; i < FACTS; i++) {
        const void *at = (const char *)device + facts[i].offset;

        tj_json_add_int(object, facts[i].name, facts[i].bytes == sizeof(int64_t) ? *(const int64_t *)at : *(const int32_t *)at);
    }
    text = tj_json_print(object);
    tj_json_free(object);
    return text;
}

/* Read what tj_device_to_json wrote; a device without a name, multiprocessors or clocks has no times. */
static tj_status read_device(const char *json, tj_device_facts *device, tj_error *err)
{
    tj_json *root;
    const char *name;
    tj_status status = tj_json_read(json, strlen(json), &root, err);

    *device = (tj_device_facts)TJ_DEVICE_FACTS_INIT;
    if (status != TJ_OK)
        return status;
    name = tj_json_text(tj_json_get(root, "name"));
    if (name && strlen(name) < sizeof device->name)
        memcpy(device->name, name, strlen(name) + 1);
    for (size_t i = 0; i < FACTS; i++) {
        const int64_t value = tj_json_int(tj_json_get(root, facts[i].name));
        void *at = (char *)device + facts[i].offset;

        if (facts[i].bytes == sizeof(int64_t))
            *(int64_t *)at = value;
        else
            *(int32_t *)at = value > 0 && value <= INT32_MAX ? (int32_t)value : 0;
    }
    tj_json_free(root);
    if (!device->name[0] || device->sm_count == 0 || device->clock_khz == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the device has no name, no multiprocessors or no clock");
    return TJ_OK;
}

const tj_device_facts *tj_trials_device(const tj_trials *trials)
{
    return &trials->device;
}

/* ---- sets --------------------------------------------------------------------------------------------------------- */

tj_trials *tj_trials_create(void)
{
    return calloc(1, sizeof(tj_trials));
}

void tj_trials_free(tj_trials *trials)
{
    if (!trials)
        return;
    for (size_t i = 0; i < trials->problems; i++)
        free(trials->problem[i].item);
    for (size_t i = 0; i < trials->texts; i++)
        free(trials->text[i]);
    free(trials->problem);
    free(trials->text);
    free(trials);
}

size_t tj_trials_count(const tj_trials *trials)
{
    return trials ? trials->problems : 0;
}

const tj_measured_problem *tj_trials_at(const tj_trials *trials, size_t index)
{
    return trials && index < trials->problems ? &trials->problem[index].of : NULL;
}

const char *tj_trials_device_name(const tj_trials *trials)
{
    return trials ? trials->device.name : "";
}

const tj_problem *tj_trials_problem(const tj_trials *trials, size_t index, size_t *count)
{
    const tj_measured_problem *of = tj_trials_at(trials, index);

    if (count)
        *count = of ? of->trials : 0;
    return of ? &of->problem : NULL;
}

/* Make room for one more item. False: out of memory. */
static bool has_room(void **list, size_t count, size_t *capacity, size_t bytes)
{
    const size_t wanted = *capacity ? 2 * *capacity : 16;
    void *larger;

    if (count < *capacity)
        return true;
    larger = realloc(*list, wanted * bytes);
    if (!larger)
        return false;
    *list = larger;
    *capacity = wanted;
    return true;
}

/* Take a text over, which lines of the set lie in. */
static tj_status keep_text(tj_trials *trials, char *text, tj_error *err)
{
    char **larger = text ? realloc(trials->text, (trials->texts + 1) * sizeof *larger) : NULL;

    if (!larger) {
        free(text);
        return tj_fail_memory(err, "trials");
    }
    trials->text = larger;
    trials->text[trials->texts++] = text;
    return TJ_OK;
}

/* Find a problem, or add it. NULL: out of memory. */
static measured_list *list_of(tj_trials *trials, const char *text)
{
    size_t low = 0, high = trials->problems;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (strcmp(trials->problem[middle].of.text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < trials->problems && strcmp(trials->problem[low].of.text, text) == 0)
        return &trials->problem[low];
    if (!has_room((void **)&trials->problem, trials->problems, &trials->capacity, sizeof *trials->problem))
        return NULL;
    memmove(&trials->problem[low + 1], &trials->problem[low], (trials->problems - low) * sizeof *trials->problem);
    trials->problems++;
    trials->problem[low] = (measured_list){.of = {.text = text}};
    return &trials->problem[low];
}

/* Read the line of a problem. False: it is not one, or one whose line says more than is read here. */
static bool read_problem(const char *line, tj_problem *problem)
{
    char again[TJ_PROBLEM_TEXT_BYTES];
    tj_request request;
    tj_problem given;

    if (!tj_problem_scan(line, &given) || tj_request_make(&given, &request, NULL) != TJ_OK)
        return false;
    *problem = request.problem;
    tj_problem_print(problem, again);
    return strcmp(line, again) == 0;
}

/* Return the list for the trials of a problem, in place of those of an earlier text: times of two days are not compared. */
static measured_list *begin_problem(tj_trials *trials, const char *line, const tj_problem *problem)
{
    measured_list *list = list_of(trials, line);

    if (!list)
        return NULL;
    list->of.problem = *problem;
    if (list->text != trials->texts)
        list->of.trials = 0;
    list->text = trials->texts;
    return list;
}

/* Read the line of a device, which precedes its trials: the set is of the first. */
static tj_status meet_device(tj_trials *trials, const char *json, tj_device_facts *device, tj_error *err)
{
    tj_status status = read_device(json, device, err);

    if (status == TJ_OK && !trials->device.name[0])
        trials->device = *device;
    return status;
}

static tj_status expect_device(const tj_trials *trials, const char *name, tj_error *err)
{
    if (strcmp(name, trials->device.name) == 0)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "trials of %.60s and of %.60s: a table is of one device", trials->device.name,
                   name);
}

static tj_status add_trial(measured_list *list, const char *config, int64_t ns, tj_error *err)
{
    for (size_t i = 0; i < list->of.trials; i++)
        if (strcmp(list->item[i].config, config) == 0) {
            list->item[i].ns = ns < list->item[i].ns ? ns : list->item[i].ns;
            return TJ_OK;
        }
    if (!has_room((void **)&list->item, list->of.trials, &list->capacity, sizeof *list->item))
        return tj_fail_memory(err, "trials");
    list->item[list->of.trials++] = (tj_measured){config, ns};
    list->of.trial = list->item;
    return TJ_OK;
}

/* ---- tables ------------------------------------------------------------------------------------------------------- */

/* Read one line of a table's body. *at: the problem to which trials belong; NULL: none. */
static tj_status read_line(tj_trials *trials, char *line, measured_list **at, tj_error *err)
{
    char *const blank = strchr(line, ' ');
    tj_problem problem;
    int64_t ns;

    if (line[0] == 'j') {
        if (!read_problem(line, &problem))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "\"%.80s\" is not a problem that this version reads", line);
        *at = begin_problem(trials, line, &problem);
        return *at ? TJ_OK : tj_fail_memory(err, "trials");
    }
    if (!*at || !blank)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "\"%.80s\" is neither a problem nor a trial of one", line);
    *blank = '\0';
    if (!tj_parse_int(line, &ns) || ns <= 0 || strlen(blank + 1) >= TJ_CONFIG_TEXT_BYTES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "\"%.80s\" is not a trial: nanoseconds, a blank, a config", line);
    return add_trial(*at, blank + 1, ns, err);
}

/* rest: what follows the first line. */
static tj_status read_table(tj_trials *trials, char *rest, tj_error *err)
{
    measured_list *at = NULL;
    char *line = strsep(&rest, "\n");
    tj_device_facts device;
    tj_status status = rest ? meet_device(trials, line, &device, err)
                            : tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "it ends before the line of its device");

    if (status == TJ_OK)
        status = expect_device(trials, device.name, err);
    while (status == TJ_OK && (line = strsep(&rest, "\n")))
        if (*line)
            status = read_line(trials, line, &at, err);
    return status;
}

static bool is_table(const char *text)
{
    return strncmp(text, MAGIC, sizeof MAGIC - 3) == 0; /* of whatever version */
}

/* Return what follows the first line of a table; NULL: it is not whole. */
static const char *open_table(const char *text, tj_error *err)
{
    const size_t magic = sizeof MAGIC - 1;
    const char *const body = strchr(text, '\n');
    char checksum[TJ_HASH_HEX_BYTES];

    if (strncmp(text, MAGIC, magic) != 0) {
        (void)tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                      "it is of another version of tables than 1: make it again with this build's tilejit tune --pack-trials");
        return NULL;
    }
    if (body)
        tj_hash_hex(tj_hash_bytes(body + 1, strlen(body + 1)), checksum);
    if (body && (size_t)(body - text) == magic + sizeof checksum - 1 &&
        memcmp(text + magic, checksum, sizeof checksum - 1) == 0)
        return body + 1;
    (void)tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "it is cut or damaged: its checksum is not that of its content");
    return NULL;
}

tj_status tj_trials_parse(const char *text, tj_trials **trials, tj_error *err)
{
    if (TJ_HAS_NULL(err, text, trials))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_trials *table;
    tj_status status;

    *trials = NULL;
    if (!is_table(text))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "it is not a table of trials (tilejit tune --pack-trials)");
    if (!(table = tj_trials_create()))
        return tj_fail_memory(err, "trials");
    status = tj_trials_add(table, text, NULL, err);
    if (status == TJ_OK)
        *trials = table;
    else
        tj_trials_free(table);
    return status;
}

/* ---- trials of tilejit tune --------------------------------------------------------------------------------------- */

/* The columns of --trials that matter here. */
typedef enum column { CONFIG, STATE, US, DEVICE, PROBLEM, COLUMNS } column;

/* Read "12.3456": the numbers of a text do not depend on the locale. 0: not a time. */
static int64_t ns_of(const char *us)
{
    int64_t ns = 0, unit = 1000;
    bool is_part = false;

    for (; *us; us++) {
        if (*us == '.' && !is_part) {
            is_part = true;
            continue;
        }
        if (*us < '0' || *us > '9' || ns > INT64_C(1000000000000000))
            return 0;
        if (is_part && unit == 1)
            continue;
        ns = 10 * ns + (*us - '0');
        unit /= is_part ? 10 : 1;
    }
    return ns * unit;
}

static bool read_head(char *line, int at[COLUMNS])
{
    static const char *const names[COLUMNS] = {"config", "state", "us", "device", "problem"};
    char *word;
    int found = 0;

    line += strspn(line, "# ");
    for (int i = 0; (word = strsep(&line, "\t")); i++)
        for (int c = 0; c < COLUMNS; c++)
            if (strcmp(word, names[c]) == 0) {
                at[c] = i;
                found++;
            }
    return found == COLUMNS;
}

/* Write a config without its defaults. False: this version does not know it. */
static bool shorten(const char *printed, char *out)
{
    tj_text text = TJ_TEXT_INIT(TJ_CONFIG_TEXT_BYTES - 1);
    tj_config config;
    char *line;

    if (tj_config_parse(printed, &config, NULL) != TJ_OK || !config.family)
        return false;
    tj_text_append(&text, tj_family_name(config.family));
    for (size_t i = 0, said = 0; i < tj_family_param_count(config.family); i++) {
        const tj_param *param = tj_family_param(config.family, i);

        if (config.value[i] == 0 || config.value[i] == param->standard)
            continue;
        tj_text_append(&text, said++ == 0 ? ":" : ",");
        tj_text_append(&text, param->name);
        tj_text_append(&text, "=");
        if (param->choice)
            tj_text_append(&text, param->choice[config.value[i] - 1]);
        else
            tj_text_append_int(&text, config.value[i]);
    }
    if (tj_text_take(&text, &line, NULL) != TJ_OK)
        return false;
    strcpy(out, line);
    free(line);
    return true;
}

typedef struct reading {
    tj_trials *trials;
    int at[COLUMNS];
    char *problem; /* of the line before */
    measured_list *list;
    int64_t passed_over;
} reading;

static tj_status read_trial(reading *r, char *line, tj_error *err)
{
    char *field[COLUMNS] = {NULL}, *word;
    tj_problem problem;
    int64_t ns;

    for (int i = 0; (word = strsep(&line, "\t")); i++)
        for (int c = 0; c < COLUMNS; c++)
            if (r->at[c] == i)
                field[c] = word;
    for (int c = 0; c < COLUMNS; c++)
        if (!field[c])
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a line has fewer fields than the head names");
    ns = ns_of(field[US]);
    if (ns == 0 || (strcmp(field[STATE], "timed") != 0 && strcmp(field[STATE], "slow") != 0))
        return TJ_OK; /* refused, wrong, or on the emulator */
    if (!r->trials->device.name[0])
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "no line \"# device\" is before the first trial, so the device's clocks are not known: tune again with "
                       "this version");
    if (expect_device(r->trials, field[DEVICE], err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    if (!r->problem || strcmp(r->problem, field[PROBLEM]) != 0) {
        if (!read_problem(field[PROBLEM], &problem)) {
            r->passed_over++;
            return TJ_OK;
        }
        if (!(r->list = begin_problem(r->trials, field[PROBLEM], &problem)))
            return tj_fail_memory(err, "trials");
        r->problem = field[PROBLEM];
    }
    return add_trial(r->list, field[CONFIG], ns, err);
}

static tj_status read_trials(reading *r, char *rest, tj_error *err)
{
    bool has_head = false;
    tj_device_facts device;
    tj_status status = TJ_OK;
    char *line;

    while (status == TJ_OK && (line = strsep(&rest, "\n"))) {
        if (strncmp(line, "# device ", 9) == 0)
            status = meet_device(r->trials, line + 9, &device, err);
        else if (!has_head && line[0] == '#')
            has_head = read_head(line, r->at);
        else if (line[0] != '#' && line[0] != '\0')
            status = has_head ? read_trial(r, line, err)
                              : tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "it does not begin as a file of tilejit tune --trials");
    }
    return status;
}

tj_status tj_trials_add(tj_trials *trials, const char *text, int64_t *passed_over, tj_error *err)
{
    if (TJ_HAS_NULL(err, trials, text))
        return TJ_ERR_INVALID_ARGUMENT;
    reading r = {.trials = trials};
    const char *const table = is_table(text) ? open_table(text, err) : NULL;
    tj_status status =
        is_table(text) && !table ? TJ_ERR_INVALID_ARGUMENT : keep_text(trials, strdup(table ? table : text), err);

    if (status == TJ_OK && table)
        status = read_table(trials, trials->text[trials->texts - 1], err);
    else if (status == TJ_OK)
        status = read_trials(&r, trials->text[trials->texts - 1], err);
    if (passed_over)
        *passed_over = r.passed_over;
    return status;
}

/* ---- a table of the trials that matter ---------------------------------------------------------------------------- */

typedef struct candidate {
    char config[TJ_CONFIG_TEXT_BYTES];
    const tj_family *family;
    int64_t ns;
    double predicted;
    bool is_kept;
} candidate;

static int by_ns(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    return x->ns != y->ns ? (x->ns < y->ns ? -1 : 1) : strcmp(x->config, y->config);
}

/* List the trials whose configs this version takes, the fastest first. */
static size_t list_candidates(const tj_trials *trials, const tj_measured_problem *of, candidate *list)
{
    tj_request request;
    tj_config config;
    size_t count = 0;

    tj_request_derive(&of->problem, &request);
    for (size_t i = 0; i < of->trials; i++) {
        candidate *one = &list[count];

        if (!shorten(of->trial[i].config, one->config) || tj_config_parse(one->config, &config, NULL) != TJ_OK)
            continue;
        one->family = config.family;
        one->ns = of->trial[i].ns;
        one->is_kept = false;
        one->predicted = tj_rank_predict(&trials->device, &request, &config);
        count += one->predicted > 0;
    }
    qsort(list, count, sizeof *list, by_ns);
    return count;
}

/* Keep the one of least predicted time among those that are not kept. */
static void keep_favourite(candidate *list, size_t count)
{
    candidate *best = NULL;

    for (size_t i = 0; i < count; i++)
        if (!list[i].is_kept && (!best || list[i].predicted < best->predicted))
            best = &list[i];
    if (best)
        best->is_kept = true;
}

/*
 * The fastest; those that the model ranks highest, as they say how wrong it is about the configs that it would choose; the
 * fastest of each family; then the next fastest.
 */
static void select_trials(candidate *list, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < FASTEST && i < count; i++)
        list[i].is_kept = true;
    for (size_t i = 0; i < FAVOURITES; i++)
        keep_favourite(list, count);
    for (size_t i = 0; i < count; i++)
        kept += list[i].is_kept;
    for (size_t i = 0; i < count && kept < TJ_TRIALS_KEPT; i++) {
        bool is_first = true;

        for (size_t k = 0; k < i && is_first; k++)
            is_first = list[k].family != list[i].family;
        kept += is_first && !list[i].is_kept;
        list[i].is_kept |= is_first;
    }
    for (size_t i = 0; i < count && kept < TJ_TRIALS_KEPT; i++) {
        kept += !list[i].is_kept;
        list[i].is_kept = true;
    }
}

static tj_status print_problem(const tj_trials *trials, const tj_measured_problem *of, tj_text *text, tj_error *err)
{
    candidate *list = calloc(of->trials + 1, sizeof *list);
    size_t count;

    if (!list)
        return tj_fail_memory(err, "a table of trials");
    count = list_candidates(trials, of, list);
    select_trials(list, count);
    if (count > 0) {
        tj_text_append(text, of->text);
        tj_text_append(text, "\n");
    }
    for (size_t i = 0; i < count; i++)
        if (list[i].is_kept) {
            tj_text_append_int(text, list[i].ns);
            tj_text_append(text, " ");
            tj_text_append(text, list[i].config);
            tj_text_append(text, "\n");
        }
    free(list);
    return TJ_OK;
}

tj_status tj_trials_print(const tj_trials *trials, char **text, tj_error *err)
{
    if (TJ_HAS_NULL(err, trials, text))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_text body = TJ_TEXT_INIT(TJ_TRIALS_MOST_BYTES), whole = TJ_TEXT_INIT(TJ_TRIALS_MOST_BYTES);
    char checksum[TJ_HASH_HEX_BYTES], *device, *content = NULL;
    tj_status status = TJ_OK;

    *text = NULL;
    if (trials->problems == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "no trial has a time: a table would be empty");
    device = tj_device_to_json(&trials->device);
    tj_text_append(&body, device ? device : "");
    tj_text_append(&body, "\n");
    free(device);
    for (size_t i = 0; i < trials->problems && status == TJ_OK; i++)
        status = print_problem(trials, &trials->problem[i].of, &body, err);
    if (status == TJ_OK)
        status = tj_text_take(&body, &content, err);
    tj_text_drop(&body);
    if (status != TJ_OK)
        return status;
    tj_hash_hex(tj_hash_bytes(content, strlen(content)), checksum);
    tj_text_append(&whole, MAGIC);
    tj_text_append(&whole, checksum);
    tj_text_append(&whole, "\n");
    tj_text_append(&whole, content);
    free(content);
    return tj_text_take(&whole, text, err);
}
