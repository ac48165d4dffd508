/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes: lists of shapes: operands such as 512x300x700, and the rows of files.
 *
 * A file may begin with a header that names its columns: j, k, l, and options of a request, such as dtype or layout-m. Each row
 * then acts like a command line, for the cells that are not empty.
 */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "product.h"

enum { MOST_SHAPES_BYTES = 64 << 20, /* some two million shapes */ MOST_COLUMNS = 48 };

/* The properties of a shape besides options; 0 and NULL: not given. */
typedef struct said {
    int64_t batch, launches;
    const char *category;
} said;

static tj_status add_shape(const cli_request_options *options, const char *text, said also, cli_shapes *all, tj_error *err)
{
    const bool is_full = (all->count & (all->count - 1)) == 0; /* at powers of 2 */
    cli_shape *larger = is_full ? realloc(all->item, (all->count ? 2 * all->count : 1) * sizeof *larger) : all->item, *added;
    cli_request_options own = *options;
    cli_request request;
    tj_status status;

    if (!larger)
        return tj_fail_memory(err, "a list of shapes");
    all->item = larger;
    if (also.category && also.category[0] == '"') /* a quoted cell */
        also.category++;
    if (also.category && strlen(also.category) >= CLI_CATEGORY_BYTES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "category \"%.60s\" is longer than %d letters", also.category,
                       CLI_CATEGORY_BYTES - 1);
    if (also.batch > 0)
        own.batch = also.batch;
    status = cli_read_request(&own, text, &request, err);
    if (status != TJ_OK)
        return status;
    added = &larger[all->count++];
    added->problem = request.problem;
    added->launches = also.launches;
    (void)snprintf(added->category, sizeof added->category, "%s", also.category ? also.category : "");
    cli_print_shape(&request.known, added->text);
    return TJ_OK;
}

tj_status cli_read_text(const char *path, size_t max_bytes, char **text, tj_error *err)
{
    size_t size;
    tj_status status;

    *text = NULL;
    status = tj_input_read_whole(path, max_bytes, text, &size, err);
    if (status == TJ_OK && strlen(*text) < size) {
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.200s is not a text file: it has a NUL byte at offset %zu", path,
                         strlen(*text));
        free(*text);
        *text = NULL;
    }
    return status;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static char *trim(char *text)
{
    size_t length;

    text += strspn(text, " \t");
    for (length = strlen(text); length > 0 && strchr(" \t", text[length - 1]); length--)
        text[length - 1] = '\0';
    return text;
}

/* Cut off the next line, which ends with LF, CRLF or a lone CR. NULL: there is none. */
static char *next_line(char **rest)
{
    char *line = *rest, *end = line + strcspn(line, "\r\n");

    if (!*line)
        return NULL;
    *rest = end + (end[0] == '\r' && end[1] == '\n') + (*end != '\0');
    *end = '\0';
    return line;
}

/* Cut off the next cell. A quoted cell, which may hold commas, keeps its opening quote as a mark. NULL: past the last. */
static char *next_cell(char **rest)
{
    char *cell = *rest ? *rest + strspn(*rest, " \t") : NULL, *end = cell && *cell == '"' ? strchr(cell + 1, '"') : NULL;

    if (!end)
        return cell ? trim(strsep(rest, ",")) : NULL;
    *end++ = '\0';
    end += strspn(end, " \t");
    *rest = *end == ',' ? end + 1 : NULL;
    return *end == ',' || *end == '\0' ? cell : end; /* after a quote only a comma or the end may follow */
}

/* ---- columns ------------------------------------------------------------------------------------------------------ */

/* The meaning of a column: an extent, the number of launches, the category, or an option of the request. */
typedef struct column {
    int extent; /* 1 to 3: j, k, l */
    bool is_count, is_category;
    const cli_option *option;
} column;

typedef struct columns {
    column item[MOST_COLUMNS];
    size_t count; /* 0: without a header: category,j,k,l,batch or less */
} columns;

static const cli_option *find_option(const char *name)
{
    for (int group = CLI_PROBLEM; group <= CLI_SCALARS; group++)
        for (const cli_option *option = cli_request_groups[group].options; option->name; option++)
            if (strcmp(option->name, name) == 0)
                return option;
    return NULL;
}

/* Is it a header? That has names of columns, where shapes have numbers. */
static bool is_header(char *const *field, size_t count)
{
    int extents = 0;

    for (size_t i = 0; i < count; i++)
        extents += field[i][0] >= 'j' && field[i][0] <= 'l' && !field[i][1];
    return extents == 3;
}

/* Is it category,j,k,l,batch or less? Such rows mean the same as without a header, in short forms too. */
static bool is_plain(char *const *field, size_t count)
{
    static const char *const names[] = {"category", "j", "k", "l", "batch"};
    const size_t first = strcmp(field[0], names[0]) == 0 ? 0 : 1;

    if (first + count > sizeof names / sizeof names[0])
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(field[i], names[first + i]) != 0)
            return false;
    return true;
}

/* Return the new name of a column from the lists of a former bench program, whose header was a comment; NULL: no such name. */
static const char *new_name(const char *name, size_t length)
{
    static const char *const names[][2] = {{"n_dtype", "n-dtype"},   {"p_dtype", "p-dtype"},   {"m_layout", "layout-m"},
                                           {"n_layout", "layout-n"}, {"p_layout", "layout-p"}, {"dtype", "dtype"},
                                           {"compute", "compute"},   {"epilogue", "epilogue"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(name, names[i][0], length) == 0 && names[i][0][length] == '\0')
            return names[i][1];
    return NULL;
}

/* Refuse such a header: as a comment its columns would be ignored. */
static tj_status refuse_old_header(const char *comment, tj_error *err)
{
    static const char plain[] = "category,j,k,l";
    const char *at = comment + strspn(comment, "# \t");

    if (*comment != '#' || strncmp(at, plain, sizeof plain - 1) != 0)
        return TJ_OK;
    for (at += sizeof plain - 1; *at == ','; at += strcspn(at, ", \t")) {
        const size_t length = strcspn(++at, ", \t");
        const char *name = new_name(at, length);

        if (name)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a header stands without #, and \"%.*s\" in it is called %s",
                           (int)length, at, name);
    }
    return TJ_OK;
}

static tj_status read_header(char *const *field, size_t count, columns *all, tj_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const bool is_extent = field[i][0] >= 'j' && field[i][0] <= 'l' && !field[i][1];
        const bool is_count = strcmp(field[i], "count") == 0, is_category = strcmp(field[i], "category") == 0;
        const char *const name = new_name(field[i], strlen(field[i]));

        all->item[i] = (column){is_extent ? field[i][0] - 'j' + 1 : 0, is_count, is_category, find_option(field[i])};
        if (!all->item[i].option && name)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the column \"%s\" is called %s", field[i], name);
        if (!is_extent && !is_count && !is_category && !all->item[i].option)
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "no column is named \"%.60s\": use j, k, l, batch, count, category, and options of a request such as "
                "dtype",
                field[i]);
    }
    all->count = count;
    return TJ_OK;
}

/* Apply a cell as the value of an option. An unquoted cell uses blanks for the command line's commas. */
static tj_status apply_cell(const cli_option *option, char *cell, cli_request_options *own, tj_error *err)
{
    const bool is_quoted = cell[0] == '"';
    void *field = (char *)own + option->offset;

    cell += is_quoted;
    if (option->kind == CLI_FLAG) {
        if (strcmp(cell, "0") != 0 && strcmp(cell, "1") != 0)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%.40s\": write 1 or 0", option->name, cell);
        *(int32_t *)field = cell[0] - '0';
        return TJ_OK;
    }
    for (char *at = cell; option->kind == CLI_TEXT && !is_quoted && (at = strchr(at, ' ')); at++)
        *at = ',';
    return cli_apply_option(option, cell, field, err);
}

static tj_status add_cells(const cli_request_options *options, const columns *all_columns, char *const *field, size_t count,
                           cli_shapes *all, tj_error *err)
{
    cli_request_options own = *options;
    const char *extent[3] = {"", "", ""};
    said also = {0};
    tj_status status = TJ_OK;
    char *text;

    if (count != all_columns->count)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "there are %zu fields, and %zu columns", count, all_columns->count);
    for (size_t i = 0; status == TJ_OK && i < count; i++)
        if (all_columns->item[i].extent)
            extent[all_columns->item[i].extent - 1] = field[i];
        else if (all_columns->item[i].is_count && *field[i])
            status = cli_parse_int("count", field[i], 0, INT64_MAX, &also.launches, err);
        else if (all_columns->item[i].is_category)
            also.category = field[i];
        else if (all_columns->item[i].option && *field[i])
            status = apply_cell(all_columns->item[i].option, field[i], &own, err);
    if (status == TJ_OK && asprintf(&text, "%sx%sx%s", extent[0], extent[1], extent[2]) < 0)
        return tj_fail_memory(err, "a list of shapes");
    if (status == TJ_OK) {
        status = add_shape(&own, text, also, all, err);
        free(text);
    }
    return status;
}

static tj_status add_fields(const cli_request_options *options, char *const *field, size_t count, cli_shapes *all,
                            tj_error *err)
{
    const size_t first = strspn(field[0], "0123456789") == strlen(field[0]) ? 0 : 1;
    said also = {.category = first ? field[0] : NULL};
    char *text;
    tj_status status;

    if (count < first + 3)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.80s has %zu fields: write category,j,k,l,batch or j,k,l or jxkxl",
                       field[0], count);
    if (count > first + 4)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "\"%.80s\" after the batch: types and layouts are options, or columns that a header names",
                       field[first + 4]);
    if (count > first + 3 && cli_parse_int("batch", field[first + 3], 1, INT32_MAX, &also.batch, err) != TJ_OK)
        return err->status;
    if (asprintf(&text, "%sx%sx%s", field[first], field[first + 1], field[first + 2]) < 0)
        return tj_fail_memory(err, "a list of shapes");
    status = add_shape(options, text, also, all, err);
    free(text);
    return status;
}

/*
 * Add the shape of a line: by the header's columns; without one, "category,j,k,l,batch", "j,k,l", or "jxkxl". '#' begins a
 * comment.
 */
static tj_status add_line(const cli_request_options *options, char *line, bool may_be_header, columns *all_columns,
                          cli_shapes *all, tj_error *err)
{
    char *field[MOST_COLUMNS], *rest;
    size_t count = 0;

    if (may_be_header && refuse_old_header(trim(line), err) != TJ_OK)
        return err->status;
    line[strcspn(line, "#")] = '\0';
    rest = line = trim(line);
    if (!*line)
        return TJ_OK;
    while (count < MOST_COLUMNS && rest)
        field[count++] = next_cell(&rest);
    if (rest)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "there are more than %d fields", MOST_COLUMNS);
    if (may_be_header && all_columns->count == 0 && is_header(field, count))
        return is_plain(field, count) ? TJ_OK : read_header(field, count, all_columns, err);
    if (all_columns->count > 0)
        return add_cells(options, all_columns, field, count, all, err);
    return count == 1 ? add_shape(options, field[0], (said){0}, all, err) : add_fields(options, field, count, all, err);
}

static tj_status read_file(const char *path, const cli_request_options *options, cli_shapes *all, tj_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark of UTF-8 */
    const size_t before = all->count;
    columns all_columns = {.count = 0};
    char *text, *rest, *line;
    tj_error why;
    tj_status status = cli_read_text(path, MOST_SHAPES_BYTES, &text, err);

    if (status != TJ_OK)
        return status;
    rest = strncmp(text, mark, strlen(mark)) == 0 ? text + strlen(mark) : text;
    for (int number = 1; status == TJ_OK && (line = next_line(&rest)); number++) {
        status = add_line(options, line, all->count == before, &all_columns, all, &why);
        if (status != TJ_OK)
            (void)tj_fail(err, status, "%.100s, line %d: %.340s", path, number, why.message);
    }
    free(text);
    if (status == TJ_OK && all->count == 0)
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.200s names no shape: write lines such as 512x300x700", path);
    return status;
}

/* ---- one shape per plan --------------------------------------------------------------------------------------------- */

/* The id is a hash already. */
static size_t number_of(const char id[TJ_PROBLEM_ID_BYTES])
{
    char digits[17];

    (void)snprintf(digits, sizeof digits, "%.16s", id);
    return (size_t)strtoull(digits, NULL, 16);
}

static void fold_into(cli_shape *kept, const cli_shape *other)
{
    if (other->launches > kept->launches)
        *kept = *other;
}

/* Merge shapes with the same plan: the first keeps its place, and takes the extents with the most launches. */
static tj_status fold(cli_shapes *all, tj_error *err)
{
    const size_t count = all->count;
    size_t capacity = 2, *slot;                                        /* index + 1 of a kept shape; 0: none */
    char(*id)[TJ_PROBLEM_ID_BYTES] = malloc((count + 1) * sizeof *id); /* of the kept shapes */

    while (capacity < 2 * count)
        capacity *= 2;
    slot = calloc(capacity, sizeof *slot);
    all->count = 0;
    for (size_t i = 0; slot && id && i < count; i++) {
        char *const own = id[all->count];
        size_t at;

        tj_problem_id(&all->item[i].problem, own);
        at = number_of(own) % capacity;
        while (slot[at] && strcmp(id[slot[at] - 1], own) != 0)
            at = (at + 1) % capacity;
        if (slot[at]) {
            fold_into(&all->item[slot[at] - 1], &all->item[i]);
        } else {
            all->item[all->count] = all->item[i];
            slot[at] = ++all->count;
        }
    }
    free(slot);
    free(id);
    return all->count > 0 || count == 0 ? TJ_OK : tj_fail_memory(err, "a list of shapes");
}

cli_exit cli_read_shapes(const cli_call *call, const cli_request_options *options, const char *path, cli_shapes *all,
                         tj_error *err)
{
    for (size_t i = 0; i < call->operand_count; i++)
        if (add_shape(options, call->operand[i], (said){0}, all, err) != TJ_OK)
            return CLI_WORDS;
    if (path && read_file(path, options, all, err) != TJ_OK)
        return CLI_FAILED;
    return fold(all, err) == TJ_OK ? CLI_DONE : CLI_FAILED;
}
