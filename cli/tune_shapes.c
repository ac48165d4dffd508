/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune_shapes: which shapes to tune: words such as 512x300x700, and the lines of files.
 */
#include "tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* batch: 0: as the words say. */
static tj_status add_shape(const cli_words *words, const char *text, int64_t batch, tune_shapes *all, tj_error *err)
{
    tune_shape *larger = realloc(all->item, (all->count + 1) * sizeof *larger), *added;
    cli_words own = *words;
    cli_request request;
    tj_status status;

    if (!larger)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for a list of shapes");
    all->item = larger;
    own.family = NULL; /* says where to look, not what to take */
    if (batch > 0)
        own.batch = batch;
    status = cli_read_request(&own, text, &request, err);
    if (status != TJ_OK)
        return status;
    added = &larger[all->count++];
    memset(added, 0, sizeof *added);
    added->problem = request.problem;
    cli_print_shape(&request.known, added->text);
    return TJ_OK;
}

/* "category,j,k,l,batch", "j,k,l", or "jxkxl"; '#' begins a comment. */
static tj_status add_line(const cli_words *words, char *line, tune_shapes *all, tj_error *err)
{
    char *field[8], text[80], *rest = line;
    size_t count = 0, first;
    int64_t batch = 0;

    line[strcspn(line, "#\r\n")] = '\0';
    if (line[strspn(line, " \t")] == '\0')
        return TJ_OK;
    while (count < 8 && (field[count] = strsep(&rest, ",")))
        count++;
    if (count == 1)
        return add_shape(words, field[0], 0, all, err);
    first = strspn(field[0], "0123456789") == strlen(field[0]) ? 0 : 1;
    if (count < first + 3)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.80s has %zu fields: write category,j,k,l,batch or j,k,l or jxkxl",
                        field[0], count);
    if (count > first + 4)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                        "\"%.80s\" after the batch: types and layouts are options, for all shapes", field[first + 4]);
    if (count > first + 3 && cli_parse_int("batch", field[first + 3], 1, INT32_MAX, &batch, err) != TJ_OK)
        return err->status;
    (void)snprintf(text, sizeof text, "%.20sx%.20sx%.20s", field[first], field[first + 1], field[first + 2]);
    return add_shape(words, text, batch, all, err);
}

tj_status tune_read_shapes(const cli_words *words, tune_shapes *all, tj_error *err)
{
    FILE *file;
    char *line = NULL;
    size_t capacity = 0;
    tj_status status = TJ_OK;
    int number = 0;

    for (size_t i = 0; i < words->operand_count && status == TJ_OK; i++)
        status = add_shape(words, words->operand[i], 0, all, err);
    if (status != TJ_OK || !words->shapes)
        return status;
    file = fopen(words->shapes, "re");
    if (!file)
        return cli_fail(err, TJ_ERR_IO, "cannot open %.200s: %s", words->shapes, strerror(errno));
    while (status == TJ_OK && getline(&line, &capacity, file) >= 0) {
        tj_error why = {TJ_OK, ""};

        number++;
        status = add_line(words, line, all, &why);
        if (status != TJ_OK)
            (void)cli_fail(err, status, "%.100s, line %d: %.250s", words->shapes, number, why.message);
    }
    if (status == TJ_OK && ferror(file))
        status = cli_fail(err, TJ_ERR_IO, "cannot read %.200s: %s", words->shapes, strerror(errno));
    free(line);
    (void)fclose(file);
    return status;
}
