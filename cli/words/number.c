/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number: parse numbers, the same in every locale, and print them for people.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "words.h"

tj_status cli_parse_int(const char *what, const char *text, int64_t low, int64_t high, int64_t *value, tj_error *err)
{
    const char *digits = text + (*text == '-');
    int64_t number;

    if (!*text)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is empty: write a whole number", what);
    if (!*digits || digits[strspn(digits, "0123456789")])
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%s\": write a whole number in decimal digits", what, text);
    if (!tj_parse_int(text, &number) || number < low || number > high)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %s: it must be from %" PRId64 " to %" PRId64, what, text, low,
                       high);
    *value = number;
    return TJ_OK;
}

static bool is_word(const char *text)
{
    return strcmp(text, "nan") == 0 || strcmp(text + (*text == '-' || *text == '+'), "inf") == 0;
}

tj_status cli_parse_real(const char *what, const char *text, double *value, tj_error *err)
{
    const bool is_number = *text && strspn(text, "0123456789.eE+-") == strlen(text);
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *end;

    if (!plain)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for reading %s", what);
    *value = strtod_l(text, &end, plain);
    freelocale(plain);
    if ((!is_number && !is_word(text)) || *end)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%s\": write a decimal number such as 0.5 or 1e-3, nan or inf",
                       what, text);
    if (is_number && !isfinite(*value))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %s: too large for a double", what, text);
    if (is_number && *value == 0 && strspn(text, "+-.0") < strcspn(text, "eE"))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %s: too small for a double", what, text);
    return TJ_OK;
}

tj_status cli_parse_complex(const char *what, const char *text, cli_real *number, tj_error *err)
{
    enum { NUMBER_BYTES = 64 };
    const size_t length = strlen(text);
    char part[NUMBER_BYTES] = "";
    size_t sign = length > 0 ? length - 1 : 0; /* of the imaginary part */
    tj_status status = TJ_OK;

    number->value = number->imaginary = 0;
    if (length == 0 || length >= NUMBER_BYTES || !strchr("ij", text[length - 1]))
        return cli_parse_real(what, text, &number->value, err);
    while (sign > 0 && (!strchr("+-", text[sign]) || strchr("eE", text[sign - 1])))
        sign--;
    (void)snprintf(part, sizeof part, "%.*s", (int)sign, text);
    if (sign > 0)
        status = cli_parse_real(what, part, &number->value, err);
    (void)snprintf(part, sizeof part, "%.*s", (int)(length - 1 - sign), text + sign);
    if (strcmp(part, "") == 0 || strcmp(part, "+") == 0 || strcmp(part, "-") == 0)
        strcat(part, "1");
    return status == TJ_OK ? cli_parse_real(what, part, &number->imaginary, err) : status;
}

tj_status cli_parse_shape(const char *text, int64_t extent[3], tj_error *err)
{
    static const char names[3] = {'j', 'k', 'l'};
    const char *start = text;
    size_t crosses = 0;

    for (const char *c = text; *c; c++)
        crosses += *c == 'x';
    if (crosses != 2)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "shape \"%.80s\": write jxkxl, such as 512x300x700 for M 512 x 300 and N 300 x 700", text);
    for (int i = 0; i < 3; i++) {
        char number[64], what[128];
        size_t length = strcspn(start, "x");
        tj_status status;

        (void)snprintf(what, sizeof what, "shape \"%.80s\": %c", text, names[i]);
        if (length >= sizeof number)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s has %zu digits: the largest extent is 2147483647", what, length);
        memcpy(number, start, length);
        number[length] = '\0';
        status = cli_parse_int(what, number, i == 1 ? 0 : 1, INT32_MAX, &extent[i], err);
        if (status != TJ_OK)
            return status;
        start += length + 1;
    }
    return TJ_OK;
}

__attribute__((format(printf, 1, 2))) static cli_amount amount(const char *format, ...)
{
    cli_amount made;
    va_list values;

    va_start(values, format);
    (void)vsnprintf(made.text, sizeof made.text, format, values);
    va_end(values);
    return made;
}

cli_amount cli_bytes(int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;

    for (; value >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        value /= 1024;
    return amount("%.*f %s", unit ? 1 : 0, value, units[unit]);
}

cli_amount cli_age(int64_t seconds)
{
    if (seconds < 120)
        return amount("%d s", (int)(seconds < 0 ? 0 : seconds));
    if (seconds < 120 * 60)
        return amount("%d min", (int)(seconds / 60));
    if (seconds < 48 * 3600)
        return amount("%d h", (int)(seconds / 3600));
    return amount("%" PRId64 " days", seconds / 86400);
}

/* Scale to the unit with the fewest digits before the point; print three digits. */
static cli_amount scaled(double value, const char *const *units, size_t count, const char *unit)
{
    for (; value >= 999.5 && count > 1; count--, units++)
        value /= 1000;
    return amount("%.*f %s%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, *units, unit);
}

cli_amount cli_rate(double per_s, const char *unit)
{
    return scaled(per_s, (const char *const[]){"", "k", "M", "G", "T", "P"}, 6, unit);
}

cli_amount cli_duration(double us)
{
    return scaled(us, (const char *const[]){"us", "ms", "s"}, 3, "");
}

cli_amount cli_grouped(int64_t count)
{
    const cli_amount digits = amount("%" PRId64, count);
    const size_t length = strlen(digits.text);
    cli_amount grouped = {""};

    for (size_t i = 0, at = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits.text[i - 1] != '-')
            grouped.text[at++] = ' ';
        grouped.text[at++] = digits.text[i];
    }
    return grouped;
}

double cli_ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}
