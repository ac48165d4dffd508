/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* .npy files: arrays that are read, files that are refused and the messages, files that are written. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tilejit/status.h>

#include "npy.h"

typedef struct file {
    unsigned char bytes[4096];
    size_t size;
} file;

/* A file of this version with this header, padded with blanks to pad bytes, and data bytes 0, 1, 2, ... */
static file make_file(int version, const char *header, size_t data_bytes)
{
    file f = {.size = version == 1 ? 10 : 12};
    const size_t length = strlen(header);

    memcpy(f.bytes, "\x93NUMPY", 6);
    f.bytes[6] = (unsigned char)version;
    f.bytes[8] = (unsigned char)(length & 0xff);
    f.bytes[9] = (unsigned char)(length >> 8);
    memcpy(f.bytes + f.size, header, length);
    f.size += length;
    for (size_t i = 0; i < data_bytes; i++)
        f.bytes[f.size++] = (unsigned char)i;
    return f;
}

/* In memory of exactly its size, so that a sanitizer sees every byte read beyond it. */
static tj_status parse(const file *f, tj_npy *array, tj_error *err)
{
    unsigned char *exact = malloc(f->size ? f->size : 1);
    tj_status status;

    memcpy(exact, f->bytes, f->size);
    status = tj_npy_parse("M.npy", exact, f->size, array, err);
    free(exact);
    return status;
}

static char folder[] = "/tmp/tilejit-npy-XXXXXX";

static void make_folder(void)
{
    cr_assert(not(eq(ptr, mkdtemp(folder), NULL)));
}

static void remove_folder(void)
{
    char command[128];

    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", folder, folder);
    if (system(command) != 0)
        cr_log_warn("cannot remove %s", folder);
}

static const char *in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static tj_status write_npy(const char *path, const tj_npy *array, tj_error *err)
{
    tj_output file;
    tj_status status = tj_output_open(path, &file, err);

    if (status == TJ_OK)
        status = tj_npy_write(&file, array, err);
    tj_output_close(&file);
    return status;
}

static int files_in_folder(void)
{
    DIR *open_folder = opendir(folder);
    int count = 0;

    while (readdir(open_folder))
        count++;
    closedir(open_folder);
    return count - 2;
}

static void put_file(const char *path, const void *bytes, size_t size)
{
    FILE *out = fopen(path, "wb");

    cr_assert(eq(sz, fwrite(bytes, 1, size, out), size));
    fclose(out);
}

Test(npy, reads_any_order_of_keys_and_any_blanks)
{
    static const struct {
        int version;
        const char *header;
    } rows[] = {
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n"},
        {1, "{'shape': (2, 3), 'descr': '<f4', 'fortran_order': False}"},
        {1, "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2,3)}\n"},
        {1, "  {  'fortran_order'  :  False  ,\t'shape'\n:\r( 2 , 3 , ) , 'descr' : '<f4' , } \n \n"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }"},
        {2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"},
        {3, "{'descr': '=f4', 'fortran_order': False, 'shape': (0002, 3), }"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const file f = make_file(rows[i].version, rows[i].header, 24);
        tj_error err = {0};
        tj_npy array;

        cr_assert(eq(int, parse(&f, &array, &err), TJ_OK), "row %zu: %s", i, err.message);
        cr_expect(eq(int, array.dtype, TJ_F32));
        cr_expect(eq(int, array.rank, 2));
        cr_expect(eq(i64, array.shape[0], 2));
        cr_expect(eq(i64, array.shape[1], 3));
        cr_expect(eq(int, array.is_fortran_order, 0));
        cr_expect(eq(sz, array.bytes, 24));
        cr_expect(zero(int, memcmp(array.data, f.bytes + f.size - 24, 24)));
        tj_npy_drop(&array);
    }
}

Test(npy, knows_its_types_in_both_byte_orders)
{
    static const struct {
        const char *type;
        tj_type dtype;
        size_t width;
        bool is_swapped;
    } rows[] = {{"<f4", TJ_F32, 4, false},       {"<f8", TJ_F64, 8, false},  {"<f2", TJ_F16, 2, false},
                {">f4", TJ_F32, 4, true},        {">f8", TJ_F64, 8, true},   {">f2", TJ_F16, 2, true},
                {"|V2", TJ_BF16, 2, false},      {"<V2", TJ_BF16, 2, false}, {">V2", TJ_BF16, 2, true},
                {"bfloat16", TJ_BF16, 2, false}, {"f4", TJ_F32, 4, false}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char header[128];
        file f;
        tj_error err = {0};
        tj_npy array;

        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': True, 'shape': (3, 2), }\n", rows[i].type);
        f = make_file(1, header, 6 * rows[i].width);
        cr_assert(eq(int, parse(&f, &array, &err), TJ_OK), "%s: %s", rows[i].type, err.message);
        cr_expect(eq(int, array.dtype, rows[i].dtype), "%s", rows[i].type);
        cr_expect(eq(int, array.is_fortran_order, 1));
        for (size_t b = 0; b < 6 * rows[i].width; b++) {
            const size_t element = b / rows[i].width * rows[i].width, byte = b % rows[i].width;
            const size_t from = element + (rows[i].is_swapped ? rows[i].width - 1 - byte : byte);

            cr_expect(eq(int, ((unsigned char *)array.data)[b], (int)from), "%s byte %zu", rows[i].type, b);
        }
        tj_npy_drop(&array);
    }
}

Test(npy, refuses_bad_files_in_words_that_help)
{
    static const struct {
        int version;
        const char *header;
        size_t data_bytes;
        tj_status status;
        const char *word;
    } rows[] = {
        {1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }", 48, TJ_ERR_UNSUPPORTED,
         "elements of type '<i8' (int64) are not taken: convert it with .astype('float64'); float32, float64,"},
        {1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }", 6, TJ_ERR_UNSUPPORTED, "(bool) are not taken"},
        {1, "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", 24, TJ_ERR_UNSUPPORTED, "Python objects"},
        {1, "{'descr': '<f16', 'fortran_order': False, 'shape': (2, 3), }", 96, TJ_ERR_UNSUPPORTED, "longdouble"},
        {1, "{'descr': '<c32', 'fortran_order': False, 'shape': (2, 3), }", 192, TJ_ERR_UNSUPPORTED,
         "(clongdouble) are not taken"},
        {1, "{'descr': '<U4', 'fortran_order': False, 'shape': (2, 3), }", 96, TJ_ERR_UNSUPPORTED, "text"},
        {1, "{'descr': '', 'fortran_order': False, 'shape': (2, 3), }", 24, TJ_ERR_UNSUPPORTED, "''"},
        {1, "{'descr': '\x01\xff', 'fortran_order': False, 'shape': (2, 3), }", 24, TJ_ERR_UNSUPPORTED, "'\\x01\\xff'"},
        {1, "{'descr': [('x', '<f4'), ('y]', '<i2', (2,))], 'fortran_order': False, 'shape': (2,), }", 16, TJ_ERR_UNSUPPORTED,
         "structured"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", 24, TJ_ERR_UNSUPPORTED, "has 1 dimension:"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4, TJ_ERR_UNSUPPORTED, "has 0 dimensions:"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 2, 3), }", 24, TJ_ERR_UNSUPPORTED, "has 4 dimensions:"},
        {1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2, 3), }", 24, TJ_ERR_UNSUPPORTED,
         "numpy.ascontiguousarray(M)"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 23, TJ_ERR_INVALID_ARGUMENT, "cut off"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 25, TJ_ERR_INVALID_ARGUMENT, "too long"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 0, TJ_ERR_INVALID_ARGUMENT, "need 93"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 0, TJ_ERR_INVALID_ARGUMENT,
         "63 bits"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807), }", 0, TJ_ERR_INVALID_ARGUMENT,
         "63 bits"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 9223372036854775808), }", 0, TJ_ERR_INVALID_ARGUMENT,
         "'shape'"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }", 24, TJ_ERR_INVALID_ARGUMENT, "'shape'"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", 24, TJ_ERR_INVALID_ARGUMENT, "'shape'"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3], }", 24, TJ_ERR_INVALID_ARGUMENT, "'shape'"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (6), }", 24, TJ_ERR_INVALID_ARGUMENT, "'shape'"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3.0), }", 24, TJ_ERR_INVALID_ARGUMENT, "'shape'"},
        {1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }", 24, TJ_ERR_INVALID_ARGUMENT, "'fortran_order'"},
        {1, "{'descr': '<f4', 'fortran_order': Falsey, 'shape': (2, 3), }", 24, TJ_ERR_INVALID_ARGUMENT, "'fortran_order'"},
        {1, "{'descr': f4, 'fortran_order': False, 'shape': (2, 3), }", 24, TJ_ERR_INVALID_ARGUMENT, "'descr'"},
        {1, "{'descr': '<f4', 'shape': (2, 3), }", 24, TJ_ERR_INVALID_ARGUMENT, "lacks"},
        {1, "{}", 24, TJ_ERR_INVALID_ARGUMENT, "lacks"},
        {1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, TJ_ERR_INVALID_ARGUMENT,
         "repeated"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", 24, TJ_ERR_INVALID_ARGUMENT, "unknown"},
        {1, "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3), }", 24, TJ_ERR_INVALID_ARGUMENT, "damaged"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } x", 24, TJ_ERR_INVALID_ARGUMENT,
         "after the dictionary"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", 24, TJ_ERR_INVALID_ARGUMENT, "damaged"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2", 24, TJ_ERR_INVALID_ARGUMENT, "'shape'"},
        {1, "", 24, TJ_ERR_INVALID_ARGUMENT, "not a dictionary"},
        {1, "__import__('os').system('false')", 24, TJ_ERR_INVALID_ARGUMENT, "not a dictionary"},
        {4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, TJ_ERR_UNSUPPORTED, "format 4.0"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const file f = make_file(rows[i].version, rows[i].header, rows[i].data_bytes);
        tj_error err = {0};
        tj_npy array;

        cr_expect(eq(int, parse(&f, &array, &err), rows[i].status), "%s", rows[i].header);
        cr_expect(not(eq(ptr, strstr(err.message, rows[i].word), NULL)), "%s: %s", rows[i].header, err.message);
        cr_expect(zero(int, strncmp(err.message, "M.npy: ", 7)), "%s", err.message);
        cr_expect(eq(ptr, array.data, NULL));
        cr_expect(eq(int, array.rank, 0));
    }
}

Test(npy, refuses_every_shortened_file)
{
    const file whole = make_file(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);

    for (size_t size = 0; size < whole.size; size++) {
        file f = whole;
        tj_error err = {0};
        tj_npy array;

        f.size = size;
        cr_expect(eq(int, parse(&f, &array, &err), TJ_ERR_INVALID_ARGUMENT), "%zu bytes", size);
        cr_expect(ne(int, err.message[0], 0));
    }
}

Test(npy, never_fails_badly_on_a_changed_byte)
{
    const file whole = make_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
    int read = 0;

    for (size_t at = 0; at < whole.size; at++)
        for (int byte = 0; byte < 256; byte++) {
            file f = whole;
            tj_error err = {0};
            tj_npy array;

            f.bytes[at] = (unsigned char)byte;
            if (parse(&f, &array, &err) == TJ_OK) {
                const int64_t count = array.shape[0] * array.shape[1] * (array.rank == 3 ? array.shape[2] : 1);

                cr_assert(eq(sz, array.bytes, (size_t)count * tj_type_bytes(array.dtype)));
                read++;
            } else {
                cr_assert(ne(int, err.message[0], 0));
            }
            tj_npy_drop(&array);
        }
    cr_assert(ge(int, read, 24 * 256));
}

Test(npy, refuses_a_header_of_more_than_a_mebibyte)
{
    file f = make_file(2, "{}", 0);
    tj_error err = {0};
    tj_npy array;

    f.bytes[8] = 1, f.bytes[9] = 0, f.bytes[10] = 0x10, f.bytes[11] = 0;
    cr_expect(eq(int, parse(&f, &array, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(not(eq(ptr, strstr(err.message, "1048577"), NULL)), "%s", err.message);
}

static tj_npy example(tj_type dtype, int rank, int64_t a, int64_t b, int64_t c, int is_fortran_order)
{
    tj_npy array = {dtype, rank, {a, b, c}, is_fortran_order, NULL, 0};

    array.bytes = (size_t)(a * b * (rank == 3 ? c : 1)) * tj_type_bytes(dtype);
    array.data = malloc(array.bytes + 1);
    for (size_t i = 0; i < array.bytes; i++)
        ((unsigned char *)array.data)[i] = (unsigned char)(i * 37 + 200); /* NaN payloads among them */
    return array;
}

Test(npy, writes_what_it_reads, .init = make_folder, .fini = remove_folder)
{
    for (int dtype = TJ_F32; dtype <= tj_type_count(); dtype++)
        for (int kind = 0; kind < 4; kind++) {
            tj_npy array = example((tj_type)dtype, kind == 2 ? 3 : 2, kind == 3 ? 0 : 5, 3, 4, kind == 1), copy;
            const char *path = in_folder("a.npy");
            tj_error err = {0};
            struct stat facts;

            cr_assert(eq(int, write_npy(path, &array, &err), TJ_OK), "%s", err.message);
            cr_assert(eq(int, tj_npy_read(path, &copy, &err), TJ_OK), "%s", err.message);
            const bool is_bytes = strcmp(tj_type_get_facts((tj_type)dtype)->numpy, "|u1") == 0; /* of types without a code */

            cr_expect(eq(int, copy.dtype, is_bytes ? TJ_U8 : array.dtype));
            cr_expect(eq(int, copy.rank, array.rank));
            cr_expect(eq(int, copy.is_fortran_order, array.is_fortran_order));
            cr_expect(zero(int, memcmp(copy.shape, array.shape, (size_t)array.rank * sizeof array.shape[0])));
            cr_expect(eq(sz, copy.bytes, array.bytes));
            cr_expect(zero(int, memcmp(copy.data, array.data, array.bytes)));
            stat(path, &facts);
            cr_expect(eq(sz, ((size_t)facts.st_size - array.bytes) % 64, 0));
            cr_expect(eq(int, files_in_folder(), 1), "nothing is left next to the file");
            tj_npy_drop(&array);
            tj_npy_drop(&copy);
        }
}

Test(npy, agrees_with_numpy, .init = make_folder, .fini = remove_folder)
{
    char command[512], name[128], type[8];
    int rank, fortran, files = 0, status;
    FILE *list;

    snprintf(command, sizeof command, "python3 '%s/tests/cli/npy_with_numpy.py' make %s", TJ_SOURCE_DIR, folder);
    status = system(command);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
        fprintf(stderr, "SKIPPED: npy.agrees_with_numpy: there is no NumPy here\n");
        remove_folder(); /* Criterion runs no .fini after a skip */
        cr_skip_test("there is no NumPy here");
    }
    cr_assert(eq(int, status, 0));
    list = fopen(in_folder("list.txt"), "r");
    while (fscanf(list, "%100s %7s %d %d", name, type, &rank, &fortran) == 4) {
        char path[300], copy[300];
        tj_error err = {0};
        tj_npy array;

        snprintf(path, sizeof path, "%s/%s.npy", folder, name);
        snprintf(copy, sizeof copy, "%s/%s.copy.npy", folder, name);
        cr_assert(eq(int, tj_npy_read(path, &array, &err), TJ_OK), "%s", err.message);
        cr_expect(zero(int, strcmp(type, tj_type_name(array.dtype))), "%s", name);
        cr_expect(eq(int, array.rank, rank), "%s", name);
        cr_expect(eq(int, array.is_fortran_order, fortran), "%s", name);
        for (int i = 0; i < rank; i++) {
            long long extent = -1;

            cr_assert(eq(int, fscanf(list, "%lld", &extent), 1));
            cr_expect(eq(i64, array.shape[i], extent), "%s", name);
        }
        cr_assert(eq(int, write_npy(copy, &array, &err), TJ_OK), "%s", err.message);
        tj_npy_drop(&array);
        files++;
    }
    fclose(list);
    cr_expect(ge(int, files, 3 * 19 * 4));
    snprintf(command, sizeof command, "python3 '%s/tests/cli/npy_with_numpy.py' compare %s", TJ_SOURCE_DIR, folder);
    cr_expect(eq(int, system(command), 0));
}

Test(npy, names_what_it_cannot_open, .init = make_folder, .fini = remove_folder)
{
    const file f = make_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
    const struct {
        const char *name, *word;
        tj_status status;
    } rows[] = {{"absent.npy", "No such file", TJ_ERR_NOT_FOUND},   {"folder", "is a folder", TJ_ERR_IO},
                {"pipe", "no program writes", TJ_ERR_IO},           {"secret.npy", "Permission denied", TJ_ERR_IO},
                {"empty.npy", "is empty", TJ_ERR_INVALID_ARGUMENT}, {"short.npy", "cut off", TJ_ERR_INVALID_ARGUMENT}};

    put_file(in_folder("secret.npy"), f.bytes, f.size);
    chmod(in_folder("secret.npy"), 0);
    put_file(in_folder("empty.npy"), f.bytes, 0);
    put_file(in_folder("short.npy"), f.bytes, f.size - 1);
    mkdir(in_folder("folder"), 0700);
    mkfifo(in_folder("pipe"), 0600);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_error err = {0};
        tj_npy array;

        if (geteuid() == 0 && strcmp(rows[i].name, "secret.npy") == 0)
            continue; /* root reads everything */
        cr_expect(eq(int, tj_npy_read(in_folder(rows[i].name), &array, &err), rows[i].status), "%s", rows[i].name);
        cr_expect(not(eq(ptr, strstr(err.message, rows[i].word), NULL)), "%s", err.message);
        cr_expect(not(eq(ptr, strstr(err.message, rows[i].name), NULL)), "%s", err.message);
        cr_expect(eq(ptr, array.data, NULL));
    }
}

Test(npy, reads_from_a_pipe_that_comes_in_pieces)
{
    const file f = make_file(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);

    for (size_t surplus = 0; surplus < 2; surplus++) {
        int ends[2];
        tj_error err = {0};
        tj_npy array;
        char path[32];

        cr_assert(eq(int, pipe(ends), 0));
        if (fork() == 0) {
            close(ends[0]);
            for (size_t i = 0; i < f.size; i++)
                if (write(ends[1], f.bytes + i, 1) != 1)
                    _exit(1);
            if (surplus && write(ends[1], "x", 1) != 1)
                _exit(1);
            _exit(0);
        }
        close(ends[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        if (surplus) {
            cr_expect(eq(int, tj_npy_read(path, &array, &err), TJ_ERR_INVALID_ARGUMENT));
            cr_expect(not(eq(ptr, strstr(err.message, "too long"), NULL)), "%s", err.message);
        } else {
            cr_expect(eq(int, tj_npy_read(path, &array, &err), TJ_OK), "%s", err.message);
            cr_expect(eq(sz, array.bytes, 24));
        }
        tj_npy_drop(&array);
        close(ends[0]);
        wait(NULL);
    }
}

Test(npy, uses_standard_input_and_output_for_a_dash, .init = make_folder, .fini = remove_folder)
{
    tj_npy array = example(TJ_F16, 2, 3, 2, 0, 1), copy;
    const char *path = in_folder("dash.npy");
    const int saved_out = dup(1), saved_in = dup(0);
    tj_status written, read;

    dup2(open(path, O_WRONLY | O_CREAT, 0600), 1);
    written = write_npy("-", &array, NULL);
    dup2(saved_out, 1);
    dup2(open(path, O_RDONLY), 0);
    read = tj_npy_read("-", &copy, NULL);
    dup2(saved_in, 0);
    cr_assert(eq(int, written, TJ_OK));
    cr_assert(eq(int, read, TJ_OK));
    cr_expect(zero(int, memcmp(copy.data, array.data, array.bytes)));
    cr_expect(eq(int, copy.is_fortran_order, 1));
    tj_npy_drop(&array);
    tj_npy_drop(&copy);
}

Test(npy, says_so_where_memory_runs_out_and_asks_for_none_where_the_file_is_too_short, .init = make_folder,
     .fini = remove_folder)
{
    file f = make_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1073741824, 1073741823), }\n", 24);
    int ends[2];
    char path[32];
    tj_error err = {0};
    tj_npy array;

    put_file(in_folder("huge.npy"), f.bytes, f.size);
    cr_expect(eq(int, tj_npy_read(in_folder("huge.npy"), &array, &err), TJ_ERR_INVALID_ARGUMENT), "%s", err.message);
    cr_expect(not(eq(ptr, strstr(err.message, "cut off"), NULL)), "%s", err.message);

    cr_assert(eq(int, pipe(ends), 0));
    cr_assert(eq(int, (int)write(ends[1], f.bytes, f.size), (int)f.size));
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
#if !UNDER_SANITIZER /* it aborts where malloc would fail */
    cr_expect(eq(int, tj_npy_read(path, &array, &err), TJ_ERR_OUT_OF_MEMORY), "%s", err.message);
    cr_expect(not(eq(ptr, strstr(err.message, "9223372028264841216"), NULL)), "%s", err.message);
#endif
    close(ends[0]);
}

Test(npy, leaves_nothing_half_written, .init = make_folder, .fini = remove_folder)
{
    tj_npy small = example(TJ_F32, 2, 2, 2, 0, 0), large = example(TJ_F32, 2, 300, 300, 0, 0), copy;
    const char *path = in_folder("p.npy");
    const struct rlimit limit = {4096, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    tj_error err = {0};

    cr_assert(eq(int, write_npy(path, &small, &err), TJ_OK), "%s", err.message);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    cr_expect(eq(int, write_npy(path, &large, &err), TJ_ERR_IO));
    setrlimit(RLIMIT_FSIZE, &none);
    cr_expect(not(eq(ptr, strstr(err.message, "p.npy"), NULL)), "%s", err.message);
    cr_expect(not(eq(ptr, strstr(err.message, "File too large"), NULL)), "%s", err.message);
    cr_expect(eq(int, files_in_folder(), 1));
    cr_assert(eq(int, tj_npy_read(path, &copy, &err), TJ_OK), "the old file is still there: %s", err.message);
    cr_expect(eq(sz, copy.bytes, small.bytes));
    tj_npy_drop(&copy);
    tj_npy_drop(&small);
    tj_npy_drop(&large);
}

Test(npy, names_what_it_cannot_write, .init = make_folder, .fini = remove_folder)
{
    tj_npy array = example(TJ_F32, 2, 2, 2, 0, 0), wrong = array;
    tj_error err = {0};

    mkdir(in_folder("folder"), 0700);
    cr_expect(eq(int, write_npy(in_folder("absent/p.npy"), &array, &err), TJ_ERR_IO));
    cr_expect(not(eq(ptr, strstr(err.message, "absent/p.npy: its folder does not exist"), NULL)), "%s", err.message);
    cr_expect(eq(int, write_npy(in_folder("folder"), &array, &err), TJ_ERR_IO));
    cr_expect(not(eq(ptr, strstr(err.message, "folder: it is a folder"), NULL)), "%s", err.message);
    cr_expect(eq(int, write_npy("/dev/full", &array, &err), TJ_ERR_IO));
    cr_expect(not(eq(ptr, strstr(err.message, "cannot write /dev/full: No space left"), NULL)), "%s", err.message);
    cr_expect(eq(int, write_npy("/dev/null", &array, &err), TJ_OK), "a device is written as it is");
    wrong.bytes++;
    cr_expect(eq(int, write_npy(in_folder("p.npy"), &wrong, &err), TJ_ERR_INVALID_ARGUMENT));
    wrong = array;
    wrong.rank = 1;
    cr_expect(eq(int, write_npy(in_folder("p.npy"), &wrong, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, files_in_folder(), 1));
    tj_npy_drop(&array);
}

Test(npy, writes_through_a_link_and_keeps_permissions, .init = make_folder, .fini = remove_folder)
{
    tj_npy array = example(TJ_F32, 2, 2, 2, 0, 0);
    char target[256];
    struct stat facts;

    snprintf(target, sizeof target, "%s", in_folder("target.npy"));
    put_file(target, "old", 3);
    cr_assert(eq(int, chmod(target, 0604), 0));
    cr_assert(eq(int, symlink("target.npy", in_folder("link.npy")), 0));
    umask(027);
    cr_expect(eq(int, write_npy(in_folder("link.npy"), &array, NULL), TJ_OK));
    lstat(in_folder("link.npy"), &facts);
    cr_expect(ne(int, S_ISLNK(facts.st_mode), 0));
    stat(target, &facts);
    cr_expect(eq(int, (int)facts.st_size, 128 + 16));
    cr_expect(eq(int, (int)(facts.st_mode & 0777), 0604));
    cr_expect(eq(int, write_npy(in_folder("new.npy"), &array, NULL), TJ_OK));
    stat(in_folder("new.npy"), &facts);
    cr_expect(eq(int, (int)(facts.st_mode & 0777), 0640), "what any new file gets");
    cr_expect(eq(int, files_in_folder(), 3));
    tj_npy_drop(&array);
}
