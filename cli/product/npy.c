/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy: a .npy file is a magic word, a version, the length of a header, the header, the elements:
 *
 *     \x93NUMPY  1 0  118 0  {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n  elements
 *
 * The header is a Python dictionary. Its content is matched, never evaluated: three keys, a string, a truth value, a
 * tuple of numbers, in any order and with any blanks.
 *
 * Needs from the library only the names and sizes of its types, and base/ for the file.
 */
#include "npy.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"

enum {
    MAGIC_BYTES = 6,
    LONGEST_PREFIX = 12, /* magic, version, the length in 4 bytes */
    MOST_HEADER_BYTES = 1 << 20,
    MOST_TYPE_BYTES = 32, /* of a type's name that we read */
    ALIGNMENT = 64,       /* of the first element in the file */
    DIGITS_TO_GROW = 21   /* NumPy leaves room for the first axis to grow in place */
};

static const unsigned char magic[MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* ---- header ------------------------------------------------------------------------------------------------------- */

/* The content of a header. */
typedef struct header {
    char type[MOST_TYPE_BYTES]; /* as written; "[...]" for a list */
    int rank;                   /* any number; shape holds the first three extents */
    int64_t shape[3];
    bool is_fortran_order;
} header;

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || (*c->at >= '\t' && *c->at <= '\r')))
        c->at++;
}

/* Take one character, after blanks. */
static bool take(cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

/* Take a word that no letter or digit may follow. */
static bool take_word(cursor *c, const char *word)
{
    const size_t length = strlen(word);

    skip_blanks(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    if ((size_t)(c->end - c->at) > length && ((c->at[length] >= 'a' && c->at[length] <= 'z') || c->at[length] == '_'))
        return false;
    c->at += length;
    return true;
}

/* Take a quoted string without escapes, truncated to the room. */
static bool take_string(cursor *c, char out[MOST_TYPE_BYTES])
{
    size_t length = 0;
    char quote;

    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    quote = *c->at++;
    for (; c->at < c->end && *c->at != quote; c->at++) {
        if (*c->at == '\\' || *c->at == '\0' || *c->at == '\n')
            return false;
        if (length + 1 < MOST_TYPE_BYTES)
            out[length++] = *c->at;
    }
    out[length] = '\0';
    return take(c, quote);
}

static bool take_number(cursor *c, int64_t *value)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at < '0' || *c->at > '9')
        return false;
    for (*value = 0; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *c->at - '0', value))
            return false;
    if (c->at < c->end && *c->at == 'L') /* Python 2 wrote 3L */
        c->at++;
    return true;
}

/* A tuple: (), (3,), (3, 4), (3, 4,). Not (3): that is a number. */
static bool take_shape(cursor *c, header *h)
{
    bool has_comma = true;

    h->rank = 0;
    if (!take(c, '('))
        return false;
    while (!take(c, ')')) {
        int64_t extent;

        if (!has_comma || !take_number(c, &extent))
            return false;
        if (h->rank < 3)
            h->shape[h->rank] = extent;
        h->rank++;
        has_comma = take(c, ',');
    }
    return h->rank != 1 || has_comma;
}

/* A structured type is a list of tuples: skip it, since no such type can be used. Quotes may hold brackets. */
static bool skip_list(cursor *c)
{
    int depth = 0;
    char ignored[MOST_TYPE_BYTES];

    do {
        skip_blanks(c);
        if (c->at == c->end)
            return false;
        if (*c->at == '\'' || *c->at == '"') {
            if (!take_string(c, ignored))
                return false;
            continue;
        }
        depth += *c->at == '[' || *c->at == '(';
        depth -= *c->at == ']' || *c->at == ')';
        c->at++;
    } while (depth > 0);
    return true;
}

static bool take_type(cursor *c, header *h)
{
    skip_blanks(c);
    if (c->at < c->end && *c->at == '[') {
        strcpy(h->type, "[...]");
        return skip_list(c);
    }
    return take_string(c, h->type);
}

static bool take_truth(cursor *c, bool *value)
{
    *value = take_word(c, "True");
    return *value || take_word(c, "False");
}

/* Read the dictionary, each of the three keys once and nothing after it. Returns NULL, or the error. */
static const char *read_dictionary(cursor *c, header *h)
{
    bool has_type = false, has_order = false, has_shape = false, has_comma = true;

    if (!take(c, '{'))
        return "its header is not a dictionary";
    while (!take(c, '}')) {
        char key[MOST_TYPE_BYTES];

        if (!has_comma || !take_string(c, key) || !take(c, ':'))
            return "its header is damaged";
        if (strcmp(key, "descr") == 0 && !has_type) {
            if (!(has_type = take_type(c, h)))
                return "its header has a damaged 'descr'";
        } else if (strcmp(key, "fortran_order") == 0 && !has_order) {
            if (!(has_order = take_truth(c, &h->is_fortran_order)))
                return "its header has a 'fortran_order' that is neither True nor False";
        } else if (strcmp(key, "shape") == 0 && !has_shape) {
            if (!(has_shape = take_shape(c, h)))
                return "its header has a 'shape' that is not a tuple of numbers";
        } else {
            return "its header has a key that is repeated or unknown";
        }
        has_comma = take(c, ',');
    }
    skip_blanks(c);
    if (c->at != c->end)
        return "its header goes on after the dictionary";
    if (!has_type || !has_order || !has_shape)
        return "its header lacks 'descr', 'fortran_order' or 'shape'";
    return NULL;
}

/* ---- meaning of a header ------------------------------------------------------------------------------------------- */

/* Unsupported types: NumPy's code, or the first letter of its codes, its name, and the remedy. */
static const struct refused {
    const char *code, *name, *remedy;
} refused[] = {{"i2", "int16", "convert it with .astype('float32')"},
               {"u2", "uint16", "convert it with .astype('float32')"},
               {"i8", "int64", "convert it with .astype('float64')"},
               {"u4", "uint32", "convert it with .astype('float64')"},
               {"u8", "uint64", "convert it with .astype('float64')"},
               {"b1", "bool", "convert it with .astype('uint8')"},
               {"f16", "longdouble", "convert it with .astype('float64')"},
               {"f12", "longdouble", "convert it with .astype('float64')"},
               {"c", "clongdouble", "convert it with .astype('complex128')"},
               {"[", "structured", "save one of its fields"},
               {"O", "Python objects", "save an array of numbers"},
               {"S", "text", "save an array of numbers"},
               {"U", "text", "save an array of numbers"},
               {"M", "times", "save an array of numbers"},
               {"m", "times", "save an array of numbers"},
               {"V", "raw bytes", "save an array of numbers"},
               {"", "not NumPy's", "save an array of numbers"}};

static const struct refused *find_refused(const char *code)
{
    const struct refused *one = refused;

    while (strcmp(code, one->code) != 0 && (strlen(one->code) > 1 || strncmp(code, one->code, strlen(one->code)) != 0))
        one++;
    return one;
}

static tj_status read_type(const char *name, const header *h, tj_npy *array, bool *is_swapped, tj_error *err)
{
    const tj_type_facts *facts;
    const bool has_order = h->type[0] != '\0' && strchr("<>=|", h->type[0]);
    const char *code = h->type + has_order;
    const bool is_big_endian_host = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

    *is_swapped = (h->type[0] == '<' && is_big_endian_host) || (h->type[0] == '>' && !is_big_endian_host);
    for (tj_type type = TJ_F32; (facts = tj_type_get_facts(type)); type++)
        if (strcmp(code, facts->numpy + 1) == 0 || (type == TJ_BF16 && strcmp(code, "bfloat16") == 0)) {
            array->dtype = type;
            return TJ_OK;
        }
    return tj_fail(err, TJ_ERR_UNSUPPORTED,
                   "%s: elements of type '%s' (%s) are not taken: %s; float32, float64, float16, bfloat16, float8_e4m3fn, "
                   "float8_e5m2, int8, uint8 and int32 are",
                   name, h->type, find_refused(code)->name, find_refused(code)->remedy);
}

/* Fill in everything but the elements. */
static tj_status interpret(const char *name, const header *h, int least_rank, tj_npy *array, bool *is_swapped, tj_error *err)
{
    const tj_status status = read_type(name, h, array, is_swapped, err);
    int64_t bytes;

    if (status != TJ_OK)
        return status;
    if (h->rank < least_rank || h->rank > 3)
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "%s: the array has %d dimension%s: a matrix has 2 and a batch of matrices 3; change it with "
                       "M.reshape(rows, columns)",
                       name, h->rank, h->rank == 1 ? "" : "s");
    if (h->rank == 3 && h->is_fortran_order)
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "%s: a batch (3 dimensions) in Fortran order is not supported: save numpy.ascontiguousarray(M)", name);
    array->rank = h->rank;
    array->is_fortran_order = h->is_fortran_order;
    bytes = (int64_t)tj_type_bytes(array->dtype);
    for (int i = 0; i < h->rank; i++) {
        array->shape[i] = h->shape[i];
        /* A zero anywhere empties the array, but must not hide extents that no address could reach. */
        if (__builtin_mul_overflow(bytes, h->shape[i] > 0 ? h->shape[i] : 1, &bytes))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "%s: shape (%lld, %lld%s is too large: its size in bytes does not fit 63 bits", name,
                           (long long)h->shape[0], (long long)(h->rank > 1 ? h->shape[1] : 1), h->rank == 3 ? ", ...)" : ")");
    }
    for (int i = 0; i < h->rank; i++)
        if (h->shape[i] == 0)
            bytes = 0;
    array->bytes = (size_t)bytes;
    return TJ_OK;
}

/* Read the first bytes of a file: the lengths of prefix and header. */
static tj_status read_prefix(const char *name, const unsigned char *bytes, size_t size, size_t *prefix, size_t *length,
                             tj_error *err)
{
    if (size < MAGIC_BYTES || memcmp(bytes, magic, MAGIC_BYTES) != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s: is not a .npy file: it %s; write one with numpy.save", name,
                       size == 0 ? "is empty" : "does not begin with \\x93NUMPY");
    if (size < MAGIC_BYTES + 4)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s: ends after %lld bytes, within its header", name, (long long)size);
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "%s: .npy format %d.%d is not supported: 1.0, 2.0 and 3.0 are", name, bytes[6],
                       bytes[7]);
    *prefix = bytes[6] == 1 ? 10 : 12;
    if (size < *prefix)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s: ends after %lld bytes, within its header", name, (long long)size);
    *length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1)
        *length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (*length > MOST_HEADER_BYTES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s: claims a header of %lld bytes: more than %d are not read", name,
                       (long long)*length, MOST_HEADER_BYTES);
    return TJ_OK;
}

static tj_status read_header(const char *name, const char *text, size_t length, int least_rank, tj_npy *array, bool *is_swapped,
                             tj_error *err)
{
    cursor c = {text, text + length};
    header h = {.rank = 0};
    const char *trouble = read_dictionary(&c, &h);

    if (trouble)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s: %s; write the file again with numpy.save", name, trouble);
    return interpret(name, &h, least_rank, array, is_swapped, err);
}

static tj_status wrong_size(const char *name, const tj_npy *array, size_t offset, long long size, tj_error *err)
{
    const long long wanted = (long long)offset + (long long)array->bytes;

    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s: holds %lld bytes where its shape and type need %lld: it is %s", name,
                   size, wanted, size < wanted ? "cut off" : "too long");
}

/* malloc promises memory that does not exist, and a pipe may fill it until the process is killed. */
static tj_status allocate(const char *name, tj_npy *array, tj_error *err)
{
    const uint64_t present = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE);

    array->data = array->bytes <= present ? malloc(array->bytes > 0 ? array->bytes : 1) : NULL;
    return array->data
               ? TJ_OK
               : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "%s: no memory for its %llu bytes", name, (unsigned long long)array->bytes);
}

static void swap_bytes(tj_npy *array)
{
    const size_t width = tj_type_bytes(array->dtype);
    unsigned char *data = array->data;

    for (size_t i = 0; i < array->bytes; i += width)
        for (size_t low = i, high = i + width - 1; low < high; low++, high--) {
            const unsigned char byte = data[low];

            data[low] = data[high];
            data[high] = byte;
        }
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* A file, or, where in is NULL, bytes in memory. */
typedef struct source {
    const char *name;
    tj_input *in;
    const unsigned char *bytes;
    int64_t size; /* total; -1: unknown until its end */
    size_t used;
    int least_rank; /* minimum rank of the array */
} source;

static tj_status take_bytes(source *s, void *out, size_t wanted, size_t *got, tj_error *err)
{
    if (s->in)
        return tj_input_read(s->in, out, wanted, got, err);
    *got = (size_t)s->size - s->used < wanted ? (size_t)s->size - s->used : wanted;
    if (*got > 0)
        memcpy(out, s->bytes + s->used, *got);
    s->used += *got;
    return TJ_OK;
}

/* A wrong size that is known is reported before memory is allocated. On failure *array is all zero. */
static tj_status read_array(source *from, tj_npy *array, tj_error *err)
{
    const char *name = from->name;
    unsigned char first[LONGEST_PREFIX] = {0};
    size_t prefix = 0, length = 0, got, more = 0;
    char *text = NULL, extra;
    bool is_swapped = false;
    tj_status status = take_bytes(from, first, 10, &got, err);

    memset(array, 0, sizeof *array);
    if (status == TJ_OK && got == 10 && first[6] > 1)
        status = take_bytes(from, first + 10, 2, &more, err);
    if (status == TJ_OK)
        status = read_prefix(name, first, got + more, &prefix, &length, err);
    if (status == TJ_OK && !(text = malloc(length + 1)))
        status = tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "%s: no memory for its header", name);
    if (status == TJ_OK)
        status = take_bytes(from, text, length, &got, err);
    if (status == TJ_OK && got < length)
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s: ends after %lld bytes, within its header", name,
                         (long long)prefix + (long long)got);
    if (status == TJ_OK)
        status = read_header(name, text, length, from->least_rank, array, &is_swapped, err);
    if (status == TJ_OK && from->size >= 0 && (uint64_t)from->size != prefix + length + array->bytes)
        status = wrong_size(name, array, prefix + length, from->size, err);
    if (status == TJ_OK)
        status = allocate(name, array, err);
    if (status == TJ_OK)
        status = take_bytes(from, array->data, array->bytes, &got, err);
    if (status == TJ_OK && got < array->bytes)
        status = wrong_size(name, array, prefix + length, (long long)prefix + (long long)length + (long long)got, err);
    if (status == TJ_OK)
        status = take_bytes(from, &extra, 1, &got, err);
    if (status == TJ_OK && got > 0)
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "%s: goes on after the %lld bytes that its shape and type need: it is too long", name,
                         (long long)prefix + (long long)length + (long long)array->bytes);
    if (status == TJ_OK && is_swapped)
        swap_bytes(array);
    free(text);
    if (status != TJ_OK)
        tj_npy_drop(array);
    return status;
}

tj_status tj_npy_parse(const char *name, const unsigned char *bytes, size_t size, tj_npy *array, tj_error *err)
{
    return read_array(&(source){name, NULL, bytes, (int64_t)size, 0, 2}, array, err);
}

static tj_status read_file(const char *path, int least_rank, tj_npy *array, tj_error *err)
{
    tj_input in;
    tj_status status = tj_input_open(path, &in, err);

    memset(array, 0, sizeof *array);
    if (status == TJ_OK)
        status = read_array(&(source){in.name, &in, NULL, in.size, 0, least_rank}, array, err);
    tj_input_close(&in);
    return status;
}

tj_status tj_npy_read(const char *path, tj_npy *array, tj_error *err)
{
    return read_file(path, 2, array, err);
}

tj_status tj_npy_read_operand(const char *path, tj_npy *array, tj_error *err)
{
    return read_file(path, 1, array, err);
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

/* Make the header that numpy.save writes. Returns the size of prefix and header together, a multiple of ALIGNMENT. */
static size_t make_header(const tj_npy *array, char out[512])
{
    char extent[24];
    size_t length = 10, total;

    length += (size_t)snprintf(out + length, 512 - length, "{'descr': '%s', 'fortran_order': %s, 'shape': (",
                               tj_type_get_facts(array->dtype)->numpy, array->is_fortran_order ? "True" : "False");
    for (int i = 0; i < array->rank; i++)
        length += (size_t)snprintf(out + length, 512 - length, i > 0 ? ", %lld" : "%lld", (long long)array->shape[i]);
    length += (size_t)snprintf(out + length, 512 - length, "), }");
    /* The axis that grows when elements are appended. */
    total =
        length + DIGITS_TO_GROW -
        (size_t)snprintf(extent, sizeof extent, "%lld", (long long)array->shape[array->is_fortran_order ? array->rank - 1 : 0]);
    total += ALIGNMENT - (total + 1) % ALIGNMENT + 1;
    memset(out + length, ' ', total - length);
    out[total - 1] = '\n';
    memcpy(out, magic, MAGIC_BYTES);
    out[6] = 1;
    out[7] = 0;
    out[8] = (char)((total - 10) & 0xff);
    out[9] = (char)((total - 10) >> 8);
    return total;
}

static tj_status check_array(const char *path, const tj_npy *array, tj_error *err)
{
    int64_t bytes = (int64_t)tj_type_bytes(array->dtype);

    if (bytes == 0 || (array->rank != 2 && array->rank != 3) || (array->rank == 3 && array->is_fortran_order))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s: an array of type %d and rank %d cannot be written: use rank 2, or 3 in C order", path,
                       (int)array->dtype, array->rank);
    for (int i = 0; i < array->rank; i++)
        if (array->shape[i] < 0 || __builtin_mul_overflow(bytes, array->shape[i], &bytes))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s: extent %lld of the array to write is not valid", path,
                           (long long)array->shape[i]);
    if ((uint64_t)bytes != array->bytes || (bytes > 0 && !array->data))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s: the array to write has %llu bytes where its shape needs %lld", path,
                       (unsigned long long)array->bytes, (long long)bytes);
    return TJ_OK;
}

tj_status tj_npy_write(const tj_output *out, const tj_npy *array, tj_error *err)
{
    char head[512];
    const tj_status status = check_array(out->path, array, err);

    if (status != TJ_OK)
        return status;
    return tj_output_write(out, (struct iovec[]){{head, make_header(array, head)}, {array->data, array->bytes}}, 2, err);
}

void tj_npy_drop(tj_npy *array)
{
    free(array->data);
    memset(array, 0, sizeof *array);
}
