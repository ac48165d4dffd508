/* SPDX-License-Identifier: Apache-2.0 */
#include "shapes.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"

typedef enum column {
    CATEGORY,
    J,
    K,
    L,
    BATCH,
    DTYPE,
    N_DTYPE,
    P_DTYPE,
    COMPUTE,
    M_LAYOUT,
    N_LAYOUT,
    P_LAYOUT,
    EPILOGUE,
    COLUMNS
} column;

static const char *const column_name[COLUMNS] = {"category", "j",        "k",       "l",       "batch",
                                                 "dtype",    "n_dtype",  "p_dtype", "compute", "m_layout",
                                                 "n_layout", "p_layout", "epilogue"};

/* The options that stand for a column, from DTYPE on, are called as those of the command. */
static const char *const option_name[SHAPE_OPTIONS] = {"--dtype",    "--n-dtype",  "--p-dtype", "--compute",
                                                       "--layout-m", "--layout-n", "--layout-p"};

_Static_assert(DTYPE + SHAPE_OPTIONS == EPILOGUE, "an option for each column between them");

/* Where we are, for messages, which column stands where, and what a line begins with. */
typedef struct reader {
    const char *path; /* or an option */
    int line;         /* below 0: none */
    column order[COLUMNS];
    int columns;
    tj_problem left_open;
    tj_error *err;
} reader;

__attribute__((format(printf, 2, 3))) static int fail(const reader *r, const char *format, ...)
{
    char what[TJ_ERROR_MESSAGE_BYTES - 80], line[16] = "";
    va_list values;

    va_start(values, format);
    (void)vsnprintf(what, sizeof what, format, values);
    va_end(values);
    if (r->line >= 0)
        (void)snprintf(line, sizeof line, ":%d", r->line);
    (void)snprintf(r->err->message, sizeof r->err->message, "%.60s%s: %s", r->path, line, what);
    return 0;
}

/* The next field of a line, without the blanks around it; NULL past the last. */
static char *next_field(char **rest)
{
    char *field = strsep(rest, ","), *end;

    if (!field)
        return NULL;
    field += strspn(field, " \t");
    for (end = field + strlen(field); end > field && isspace((unsigned char)end[-1]);)
        *--end = '\0';
    return field;
}

static int read_head(reader *r, char *head)
{
    char *remark = strstr(head, "  "), *field;

    if (remark)
        *remark = '\0';
    r->columns = 0;
    while ((field = next_field(&head))) {
        int c = 0;

        while (c < COLUMNS && strcmp(field, column_name[c]) != 0)
            c++;
        if (c == COLUMNS)
            return fail(r,
                        "no column \"%.40s\": category, j, k, l, batch, dtype, n_dtype, p_dtype, compute, m_layout, n_layout, "
                        "p_layout or epilogue",
                        field);
        for (int i = 0; i < r->columns; i++)
            if ((int)r->order[i] == c)
                return fail(r, "column \"%s\" twice", field);
        r->order[r->columns++] = (column)c;
    }
    for (int c = CATEGORY; c <= L; c++) {
        int i = 0;

        while (i < r->columns && (int)r->order[i] != c)
            i++;
        if (i == r->columns)
            return fail(r, "the head lacks the column \"%s\"", column_name[c]);
    }
    return 1;
}

static int read_number(const reader *r, column c, const char *field, int64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoll(field, &end, 10);
    if (end == field || *end || errno || *value < (c == K ? 0 : 1) || *value > INT32_MAX)
        return fail(r, "%s \"%.40s\" is no whole number from %d to 2147483647", column_name[c], field, c == K ? 0 : 1);
    return 1;
}

static int read_type(const reader *r, const char *field, int32_t *value)
{
    tj_type dtype;
    tj_error why;

    if (tj_type_parse(field, &dtype, &why) != TJ_OK)
        return fail(r, "%s", why.message);
    *value = (int32_t)dtype;
    return 1;
}

static int read_compute(const reader *r, const char *field, int32_t *value)
{
    tj_compute compute;
    tj_error why;

    if (tj_compute_parse(field, &compute, &why) != TJ_OK)
        return fail(r, "%s", why.message);
    *value = (int32_t)compute;
    return 1;
}

static int read_layout(const reader *r, column c, const char *field, int16_t *value)
{
    if (strcmp(field, "row") != 0 && strcmp(field, "col") != 0)
        return fail(r, "%s \"%.40s\" is neither row nor col", column_name[c], field);
    *value = field[0] == 'c' ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    return 1;
}

static int read_field(const reader *r, column c, const char *field, shape *s)
{
    if (c > L && *field == '\0')
        return 1; /* the default */
    switch (c) {
    case CATEGORY:
        if (*field == '\0' || strlen(field) >= sizeof s->category || strpbrk(field, "\"<>&"))
            return fail(r, "category \"%.40s\" is empty, longer than %zu bytes or has one of \"<>&", field,
                        sizeof s->category - 1);
        strcpy(s->category, field);
        return 1;
    case J:
        return read_number(r, c, field, &s->problem.j.extent);
    case K:
        return read_number(r, c, field, &s->problem.k.extent);
    case L:
        return read_number(r, c, field, &s->problem.l.extent);
    case BATCH:
        return read_number(r, c, field, &s->problem.batch);
    case DTYPE:
        return read_type(r, field, &s->problem.m.type);
    case N_DTYPE:
        return read_type(r, field, &s->problem.n.type);
    case P_DTYPE:
        return read_type(r, field, &s->problem.p.type);
    case COMPUTE:
        return read_compute(r, field, &s->problem.compute);
    case M_LAYOUT:
        return read_layout(r, c, field, &s->problem.m.layout);
    case N_LAYOUT:
        return read_layout(r, c, field, &s->problem.n.layout);
    case P_LAYOUT:
        return read_layout(r, c, field, &s->problem.p.layout);
    default:
        return strcmp(field, "none") == 0 || fail(r, "epilogue \"%.40s\" is not measured yet: none", field);
    }
}

/* "-bf16", "-e4m3xe5m2-f16", "-tf32": of M, of N where it is another, of P where it is not M's usual one; and how it is summed. */
static void name_types(const tj_problem *p, char text[32])
{
    const tj_type_facts *m = tj_type_get_facts((tj_type)p->m.type);
    const int names_n = p->n.type != p->m.type, names_p = p->p.type != m->product, names_compute = p->compute != m->compute;
    const int names_m = p->m.type != TJ_F32 || names_n || names_p;

    (void)snprintf(text, 32, "%s%s%s%s%s%s%s%s", names_m ? "-" : "", names_m ? m->name : "", names_n ? "x" : "",
                   names_n ? tj_type_name((tj_type)p->n.type) : "", names_p ? "-" : "",
                   names_p ? tj_type_name((tj_type)p->p.type) : "", names_compute ? "-" : "",
                   names_compute ? tj_compute_name((tj_compute)p->compute) : "");
}

static void name_shape(shape *s)
{
    const tj_problem *p = &s->problem;
    char batch[32] = "", types[32], layouts[8] = "";

    if (p->batch > 1)
        (void)snprintf(batch, sizeof batch, "b%lld", (long long)p->batch);
    name_types(p, types);
    if (p->m.layout || p->n.layout || p->p.layout)
        (void)snprintf(layouts, sizeof layouts, "-%c%c%c", p->m.layout ? 'c' : 'r', p->n.layout ? 'c' : 'r',
                       p->p.layout ? 'c' : 'r');
    (void)snprintf(s->name, sizeof s->name, "%lldx%lldx%lld%s%s%s", (long long)p->j.extent, (long long)p->k.extent,
                   (long long)p->l.extent, batch, types, layouts);
}

static int read_shape(const reader *r, char *line, shape *s)
{
    tj_error why;
    int i = 0;
    char *field;

    *s = (shape){.problem = r->left_open};
    for (; (field = next_field(&line)); i++) {
        if (i == r->columns)
            return fail(r, "\"%.40s\" is one field too many: the head has %d", field, r->columns);
        if (!read_field(r, r->order[i], field, s))
            return 0;
    }
    /* What may be left out stands at the end of the line. */
    for (; i < r->columns; i++)
        if (r->order[i] <= L)
            return fail(r, "the field \"%s\" is missing", column_name[r->order[i]]);
    if (tj_problem_check(&s->problem, &why) != TJ_OK)
        return fail(r, "%s", why.message);
    s->problem = tj_problem_canonical(&s->problem);
    name_shape(s);
    return 1;
}

static int add_shape(const reader *r, const shape *s, shape_list *list)
{
    shape *larger;

    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i].name, s->name) == 0)
            return fail(r, "%s is there already", s->name);
    larger = realloc(list->item, (list->count + 1) * sizeof *larger);
    if (!larger)
        return fail(r, "out of memory");
    list->item = larger;
    list->item[list->count++] = *s;
    return 1;
}

static int read_lines(reader *r, FILE *file, shape_list *list)
{
    char text[1024];

    while (fgets(text, sizeof text, file)) {
        char *line = text + strspn(text, " \t");
        const int is_remark = *line == '#';
        shape s;

        r->line++;
        if (!strchr(text, '\n') && !feof(file))
            return fail(r, "longer than %zu bytes", sizeof text - 2);
        line[strcspn(line, "\r\n")] = '\0';
        line += strspn(line, "# \t");
        if (list->count == 0 && strncmp(line, "category,", 9) == 0) {
            if (!read_head(r, line))
                return 0;
        } else if (*line && !is_remark) {
            if (!read_shape(r, line, &s) || !add_shape(r, &s, list))
                return 0;
        }
    }
    return list->count > 0 || fail(r, "no shapes");
}

int shapes_find_option(const char *name)
{
    for (int i = 0; i < SHAPE_OPTIONS; i++)
        if (strcmp(name, option_name[i]) == 0)
            return i;
    return -1;
}

static int read_options(const char *const left_open[SHAPE_OPTIONS], tj_problem *problem, tj_error *err)
{
    shape s = {.problem = TJ_PROBLEM_INIT(1, 1, 1, TJ_F32)};

    for (int i = 0; i < SHAPE_OPTIONS; i++) {
        const reader r = {.path = option_name[i], .line = -1, .err = err};

        if (left_open[i] && !read_field(&r, (column)(DTYPE + i), left_open[i], &s))
            return 0;
    }
    *problem = s.problem;
    return 1;
}

static int read_from(FILE *file, const char *path, const char *const left_open[SHAPE_OPTIONS], shape_list *list, tj_error *err)
{
    reader r = {.path = path, .order = {CATEGORY, J, K, L, BATCH}, .columns = 5, .err = err};

    if (read_options(left_open, &r.left_open, err) && read_lines(&r, file, list))
        return 1;
    free(list->item);
    *list = (shape_list){NULL, 0};
    return 0;
}

int shapes_read(const char *path, const char *const left_open[SHAPE_OPTIONS], shape_list *list, tj_error *err)
{
    FILE *file = fopen(path, "r");
    int is_read;

    *list = (shape_list){NULL, 0};
    if (!file) {
        (void)snprintf(err->message, sizeof err->message, "cannot read %.120s: %s", path, strerror(errno));
        return 0;
    }
    is_read = read_from(file, path, left_open, list, err);
    fclose(file);
    return is_read;
}

int shapes_draw(const char *words, const char *const left_open[SHAPE_OPTIONS], shape_list *list, tj_error *err)
{
    char *lines = draw_shapes(words, err);
    FILE *file = lines ? fmemopen(lines, strlen(lines), "r") : NULL;
    int is_read = 0;

    *list = (shape_list){NULL, 0};
    if (file) {
        is_read = read_from(file, "--draw", left_open, list, err);
        fclose(file);
    } else if (lines) {
        (void)snprintf(err->message, sizeof err->message, "cannot read what was drawn: %s", strerror(errno));
    }
    free(lines);
    return is_read;
}
