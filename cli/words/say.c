/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say: messages, numbers, members of answers: text in and out.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

tj_status cli_fail(tj_error *err, tj_status status, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    (void)vsnprintf(err->message, sizeof err->message, format, values);
    va_end(values);
    for (char *c = err->message; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e)
            *c = '?';
    err->status = status;
    return status;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

tj_status cli_parse_int(const char *what, const char *text, int64_t low, int64_t high, int64_t *value, tj_error *err)
{
    const char *digit = text + (*text == '-');
    int64_t number = 0;
    bool is_large = false;

    if (!*text)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is empty: write a whole number", what);
    if (!*digit || strspn(digit, "0123456789") != strlen(digit))
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%s\": write a whole number in decimal digits", what, text);
    for (; *digit; digit++)
        is_large =
            is_large || __builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *digit - '0', &number);
    if (*text == '-')
        number = -number;
    if (is_large || number < low || number > high)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %s: it must be from %" PRId64 " to %" PRId64, what, text, low,
                        high);
    *value = number;
    return TJ_OK;
}

tj_status cli_parse_real(const char *what, const char *text, double *value, tj_error *err)
{
    static const char *const words[] = {"nan", "inf", "-inf", "+inf"};
    bool is_word = false, is_number = strspn(text, "0123456789.eE+-") == strlen(text);
    char *end = NULL;
    locale_t plain;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        is_word = is_word || strcmp(text, words[i]) == 0;
    if (!*text || (!is_word && !is_number))
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%s\": write a decimal number such as 0.5 or 1e-3, nan or inf",
                        what, text);
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for reading %s", what);
    *value = strtod_l(text, &end, plain);
    freelocale(plain);
    if (*end)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%s\": write a decimal number such as 0.5 or 1e-3, nan or inf",
                        what, text);
    if (is_number && !isfinite(*value))
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %s: too large for a double", what, text);
    if (is_number && *value == 0 && strspn(text, "+-.0") < strcspn(text, "eE"))
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %s: too small for a double", what, text);
    return TJ_OK;
}

tj_status cli_parse_shape(const char *text, int64_t extent[3], tj_error *err)
{
    static const char names[3] = {'j', 'k', 'l'};
    const char *start = text;
    size_t crosses = 0;

    for (const char *c = text; *c; c++)
        crosses += *c == 'x';
    if (crosses != 2)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                        "shape \"%.80s\": write jxkxl, such as 512x300x700 for M 512 x 300 and N 300 x 700", text);
    for (int i = 0; i < 3; i++) {
        char number[64], what[128];
        size_t length = strcspn(start, "x");
        tj_status status;

        (void)snprintf(what, sizeof what, "shape \"%.80s\": %c", text, names[i]);
        if (length >= sizeof number)
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s has %zu digits: the largest extent is 2147483647", what, length);
        memcpy(number, start, length);
        number[length] = '\0';
        status = cli_parse_int(what, number, i == 1 ? 0 : 1, INT32_MAX, &extent[i], err);
        if (status != TJ_OK)
            return status;
        start += length + 1;
    }
    return TJ_OK;
}

void cli_format_bytes(char *out, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;

    for (; value >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        value /= 1024;
    (void)snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void cli_format_age(char *out, int64_t seconds)
{
    if (seconds < 120)
        (void)snprintf(out, 32, "%d s", (int)(seconds < 0 ? 0 : seconds));
    else if (seconds < 120 * 60)
        (void)snprintf(out, 32, "%d min", (int)(seconds / 60));
    else if (seconds < 48 * 3600)
        (void)snprintf(out, 32, "%d h", (int)(seconds / 3600));
    else
        (void)snprintf(out, 32, "%" PRId64 " days", seconds / 86400);
}

void cli_format_rate(char *out, double per_s, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    size_t i = 0;

    for (; per_s >= 999.5 && i + 1 < sizeof prefixes / sizeof prefixes[0]; i++)
        per_s /= 1000;
    (void)snprintf(out, 32, per_s < 9.995 ? "%.2f %s%s" : per_s < 99.95 ? "%.1f %s%s" : "%.0f %s%s", per_s, prefixes[i], unit);
}

void cli_format_time(char *out, double us)
{
    static const char *const units[] = {"us", "ms", "s"};
    size_t i = 0;

    for (; us >= 999.5 && i < 2; i++)
        us /= 1000;
    (void)snprintf(out, 32, us < 9.995 ? "%.2f %s" : us < 99.95 ? "%.1f %s" : "%.0f %s", us, units[i]);
}

void cli_format_count(char *out, int64_t count)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRId64, count), at = 0;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            out[at++] = ' ';
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

/* ---- answers ------------------------------------------------------------------------------------------------------ */

/* A member that cannot be made for want of memory is left out: the exit code does not depend on it. */
static void set(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value);
}

void cli_set_text(json_t *object, const char *name, const char *text)
{
    json_t *value = json_string(text);
    char *copy = value ? NULL : strdup(text);

    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c > 0x7e)
            *c = '?';
    set(object, name, value ? value : json_string(copy ? copy : "?"));
    free(copy);
}

void cli_set_int(json_t *object, const char *name, int64_t value)
{
    set(object, name, json_integer(value));
}

void cli_set_real(json_t *object, const char *name, double value)
{
    set(object, name, isfinite(value) ? json_real(value) : json_null());
}

void cli_set_bool(json_t *object, const char *name, bool value)
{
    set(object, name, json_boolean(value));
}

static void set_dim(json_t *object, const char *name, const tj_dim *dim)
{
    if (dim->mode == TJ_DIM_ANY)
        cli_set_text(object, name, "any");
    else
        cli_set_int(object, name, dim->extent);
    if (dim->mode == TJ_DIM_ANY && dim->multiple_of > 1) {
        char member[32];

        (void)snprintf(member, sizeof member, "%s_multiple_of", name);
        cli_set_int(object, member, dim->multiple_of);
    }
}

json_t *cli_problem_json(const tj_problem *problem)
{
    tj_problem known = tj_problem_canonical(problem);
    json_t *object = json_object();
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"ld_m", known.m.ld},         {"ld_n", known.n.ld},         {"ld_p", known.p.ld},
                   {"stride_m", known.m.stride}, {"stride_n", known.n.stride}, {"stride_p", known.p.stride},
                   {"batch", known.batch}};

    set_dim(object, "j", &known.j);
    set_dim(object, "k", &known.k);
    set_dim(object, "l", &known.l);
    cli_set_text(object, "dtype", tj_type_name((tj_type)known.m.type));
    cli_set_text(object, "p_dtype", tj_type_name((tj_type)known.p.type));
    cli_set_text(object, "m_layout", known.m.layout == TJ_COL_MAJOR ? "col" : "row");
    cli_set_text(object, "n_layout", known.n.layout == TJ_COL_MAJOR ? "col" : "row");
    cli_set_text(object, "p_layout", known.p.layout == TJ_COL_MAJOR ? "col" : "row");
    cli_set_bool(object, "has_alpha", known.epilogue.has_alpha);
    cli_set_bool(object, "has_beta", known.epilogue.has_beta);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].value == TJ_ANY)
            cli_set_text(object, numbers[i].name, "any");
        else if (numbers[i].value == TJ_BROADCAST)
            cli_set_text(object, numbers[i].name, "broadcast");
        else if (tj_stride_is_pointers(numbers[i].value))
            cli_set_text(object, numbers[i].name, numbers[i].value == TJ_POINTERS ? "pointers" : "pointers16");
        else
            cli_set_int(object, numbers[i].name, numbers[i].value);
    }
    return object;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

tj_status cli_check_stdout(const cli_words *words, const char *option, const char *path, tj_error *err)
{
    if (!words->is_json || !path || !tj_output_is_stdout(path))
        return TJ_OK;
    return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--json and %s %.200s both write to stdout: name another file", option, path);
}

/* A report that nobody can see, for stderr is closed (main has put a stand-in there), is no failure of what is on stdout. */
static bool move_report(void)
{
    const int mode = fcntl(STDERR_FILENO, F_GETFL);
    const int to = mode >= 0 && (mode & O_ACCMODE) == O_RDONLY ? open("/dev/null", O_WRONLY | O_CLOEXEC) : STDERR_FILENO;
    const bool is_moved = fflush(stdout) == 0 && dup2(to, STDOUT_FILENO) >= 0;

    if (to > STDERR_FILENO)
        close(to);
    return is_moved;
}

tj_status cli_open_output(const char *path, tj_output *out, tj_error *err)
{
    tj_status status;

    *out = (tj_output){.folder = -1, .stream = -1};
    if (!path)
        return TJ_OK;
    status = tj_output_open(path, out, err);
    if (status == TJ_OK && out->is_stdout && !move_report())
        status = cli_fail(err, TJ_ERR_IO, "cannot tell the report and %s apart: %s", path, strerror(errno));
    return status;
}

tj_status cli_write_output(const tj_output *out, const void *bytes, size_t size, tj_error *err)
{
    const struct iovec piece = {(void *)bytes, size};
    const bool is_file = out->folder >= 0;
    tj_status status;

    if (is_file)
        cli_hold_signals();
    status = tj_output_write(out, &piece, 1, err);
    if (is_file)
        cli_release_signals();
    return status;
}

double cli_ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

double cli_measured_rate(const cli_case *one)
{
    return cli_ratio((double)one->analysis.counts.flop, one->median_us) * 1e6;
}

void cli_name_case(const cli_case *one, char out[CLI_NAME_BYTES])
{
    const tj_counts *c = &one->analysis.counts;
    const int width = tj_config_get(&one->config, "tile_width");
    const char *family = tj_family_name(one->config.family);

    if (width)
        (void)snprintf(out, CLI_NAME_BYTES, "%s %d%s", family, width,
                       tj_config_get(&one->config, "shared") == 2 ? " dynamic" : "");
    else
        (void)snprintf(out, CLI_NAME_BYTES, "%s %dx%dx%d", family, (int)c->block_rows, (int)c->block_cols, (int)c->phase.depth);
}
