/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * tilejit matmul and run with types of 8 bits, integers, ways to compute and scales: right products of files, and words for what
 * does not go together.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shell.h"

static void assign_variables(char *assignments, size_t bytes)
{
    snprintf(assignments, bytes, "TILEJIT_EMULATOR='%s' TILEJIT_DRIVER=emulator", EMULATOR_PATH);
}

/* npy.sh has a shell function: npy FILE descr rows columns, with the elements from stdin. */
static void start(void)
{
    make_folder();
    cr_assert(
        eq(int,
           shell("cat >npy.sh <<'end'\n"
                 "npy() { printf '\\223NUMPY\\001\\000\\166\\000' >$1\n"
                 "printf '%%-117s\\n' \"{'descr': '$2', 'fortran_order': False, 'shape': ($3, $4), }\" >>$1; cat >>$1; }\n"
                 "end\n"),
           0),
        "%s", errors);
}

TestSuite(matmul_types, .init = start, .fini = remove_folder, .timeout = 250);

#define NPY ". ./npy.sh; "

static bool has_compiler(void)
{
    const bool has = shell("$T compile 8x8x8 --arch sm_90") == 0;

    if (!has)
        cr_assert(getenv("TILEJIT_REQUIRE_NVRTC") == NULL, "%s", errors);
    return has;
}

/* M = {{1, -2, 3}, {-128, 127, 0}} of s8, N = {{1, 255}, {2, 0}, {3, 4}} of u8: M . N = {{6, 267}, {126, -32640}}. */
#define INTEGERS                                                          \
    NPY "printf '\\001\\376\\003\\200\\177\\000' | npy M.npy '|i1' 2 3; " \
        "printf '\\001\\377\\002\\000\\003\\004' | npy N.npy '|u1' 3 2; "

static void expect_bytes_of(const char *name, const void *wanted, size_t bytes, const char *descr)
{
    static char file[OUTPUT_BYTES];
    const size_t size = read_text(name, file);

    cr_assert(gt(sz, size, bytes), "no %s: %s", name, errors);
    cr_expect(strstr(file + 10, descr) != NULL, "%s", file + 10);
    cr_expect(zero(int, memcmp(file + size - bytes, wanted, bytes)), "%s: %s", descr, out);
}

static void expect_bytes(const void *wanted, size_t bytes, const char *descr)
{
    expect_bytes_of("P.npy", wanted, bytes, descr);
}

Test(matmul_types, of_integers_come_from_files_and_go_to_them)
{
    static const int32_t sums[] = {6, 267, 126, -32640};
    static const int8_t saturated[] = {6, 127, 126, -128}, scaled[] = {3, 127, 1, -128};

    if (!has_compiler())
        return;
    cr_assert(eq(int, shell(INTEGERS "$T matmul M.npy N.npy -o P.npy"), 0), "%s", errors);
    cr_expect(strstr(out, "check      passed") != NULL, "%s", out);
    expect_bytes(sums, sizeof sums, "<i4");
    cr_assert(eq(int, shell(INTEGERS "$T matmul M.npy N.npy -o P.npy --p-dtype s8"), 0), "%s", errors);
    expect_bytes(saturated, sizeof saturated, "|i1");
    /* scales 0.5 and 0.01 of the rows of M: 3, 133.5; 1.26, -326.4 */
    cr_assert(eq(int,
                 shell(INTEGERS "printf '\\000\\000\\000\\077\\012\\327\\043\\074' | npy S.npy '<f4' 2 1; "
                                "$T matmul M.npy N.npy -o P.npy --p-dtype s8 --scale-m S.npy"),
                 0),
              "%s", errors);
    expect_bytes(scaled, sizeof scaled, "|i1");
}

/* The first two elements of k are scaled by 1 and 2, the third by 0.5 and 4. */
Test(matmul_types, of_weights_have_scales_along_k)
{
    static const float scaled[] = {1.5F, 558, 126, -65280};

    if (!has_compiler())
        return;
    cr_assert(
        eq(int,
           shell(INTEGERS "printf '\\000\\000\\200\\077\\000\\000\\000\\100\\000\\000\\000\\077\\000\\000\\200\\100' | npy "
                          "S.npy '<f4' 2 2; $T matmul M.npy N.npy -o P.npy --dtype f16 --n-dtype u8 --p-dtype f32 --scale-n "
                          "S.npy --scale-k 2"),
           0),
        "%s", errors);
    expect_bytes(scaled, sizeof scaled, "<f4");
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o P.npy --dtype f16 --n-dtype u8 --scale-n S.npy"), 1), "%s", errors);
    cr_expect(strstr(errors, "S.npy is 2 x 2, and k is 3: scales along k have a row for every --scale-k elements") != NULL,
              "%s", errors);
}

/* Bytes of two: along the columns, where they make an even number of them, and along k, where M says how many count. */
Test(matmul_types, of_weights_of_4_bits_are_files_of_bytes)
{
    static const float by_rows[] = {-409, -228, 523, -656}, by_cols[] = {-409, -228, 523};
    static const float along_k[] = {-209, -78, 223, -306};
    /* 21 a3 | 7f 58 | dc 96: 1 2 3 10, 15 7 8 5, 12 13 6 9 */
    static const float of_u4[] = {1 + 150 + 1200, 2 + 70 + 1300, 3 + 80 + 600, 10 + 50 + 900};
    static const float of_e2m1[] = {0.5F - 60 - 200, 1 + 60 - 300, 1.5F + 0 + 400, -1 + 30 - 50};

    if (!has_compiler())
        return;
    cr_assert(
        eq(int,
           shell(NPY "printf '\\001\\012\\144' | npy M.npy '|i1' 1 3; printf '\\041\\243\\177\\130\\334\\226' | npy N.npy "
                     "'|u1' 3 2; printf '\\361\\254\\162\\235\\203\\126' | npy T.npy '|u1' 3 2; "
                     "$T matmul M.npy N.npy -o P.npy --dtype f32 --n-dtype s4"),
           0),
        "%s", errors);
    expect_bytes(by_rows, sizeof by_rows, "<f4");
    cr_assert(eq(int, shell("$T matmul M.npy T.npy -o P.npy --dtype f32 --n-dtype s4 --transpose-n"), 0), "%s", errors);
    expect_bytes(by_cols, sizeof by_cols, "<f4");
    /* the first two elements of k scaled by 1, the third by 0.5 */
    cr_assert(
        eq(int,
           shell(NPY "printf '\\000\\000\\200\\077\\000\\000\\200\\077\\000\\000\\200\\077\\000\\000\\200\\077"
                     "\\000\\000\\000\\077\\000\\000\\000\\077\\000\\000\\000\\077\\000\\000\\000\\077' | npy S.npy '<f4' 2 4; "
                     "$T matmul M.npy N.npy -o P.npy --dtype f32 --n-dtype s4 --scale-n S.npy --scale-k 2"),
           0),
        "%s", errors);
    expect_bytes(along_k, sizeof along_k, "<f4");
    cr_expect(eq(int, shell("$T matmul N.npy M.npy -o P.npy --dtype f32 --n-dtype s4"), 1));
    cr_expect(strstr(errors, "M.npy holds s8: a file of s4 holds u8, of which each has two") != NULL, "%s", errors);
    cr_assert(eq(int, shell("$T matmul M.npy N.npy -o P.npy --dtype f32 --n-dtype u4"), 0), "%s", errors);
    expect_bytes(of_u4, sizeof of_u4, "<f4");
    cr_assert(eq(int, shell("$T matmul M.npy N.npy -o P.npy --dtype f32 --n-dtype e2m1"), 0), "%s", errors);
    expect_bytes(of_e2m1, sizeof of_e2m1, "<f4");
}

/* 1.5 * 2 in e4m3 and e5m2 (0x3c and 0x40), scaled by 0.5 and 4 as a whole, into e5m2: 6 is 0x46. */
Test(matmul_types, of_8_bit_floats_may_differ)
{
    static const uint8_t six = 0x46;

    if (!has_compiler())
        return;
    cr_assert(eq(int,
                 shell(NPY "printf '\\074' | npy M.npy '<V1' 1 1; printf '\\100' | npy N.npy '<f1' 1 1; "
                           "printf '\\000\\000\\000\\077' | npy half.npy '<f4' 1 1; printf '\\004' | npy four.npy '|i1' 1 1; "
                           "$T matmul M.npy N.npy -o P.npy --p-dtype e5m2 --scale-m half.npy --scale-n four.npy"),
                 0),
              "%s", errors);
    expect_bytes(&six, 1, "<f1");
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o P.npy --dtype f16 --json"), 0), "%s", errors);
    cr_expect(strstr(out, "\"n_dtype\": \"f16\"") != NULL, "%s", out);
    cr_expect(strstr(out, "\"scale_m\": \"none\"") != NULL, "%s", out);
}

/* e4m3 1, 2 by 2, 1 (0x38 and 0x40): 4, times 0.5 of M and 4 of N. */
#define BLOCKS                                                                                   \
    NPY "printf '\\070\\100' | npy M.npy '|u1' 1 2; printf '\\100\\070' | npy N.npy '|u1' 1 2; " \
        "printf '\\000\\000\\000\\077' | npy A.npy '<f4' 1 1; printf '\\000\\000\\200\\100' | npy B.npy '<f4' 1 1; "

/* 1, 2 of f16 by 5, 9 in a byte of u4, less a zero point of 3 in the lower half: 14, times 0.5 of f16. */
#define WEIGHTS                                                                                       \
    NPY "printf '\\000\\074\\000\\100' | npy M.npy '<f2' 1 2; printf '\\225' | npy N.npy '|u1' 1 1; " \
        "printf '\\003' | npy Z.npy '|u1' 1 1; printf '\\000\\070' | npy S.npy '<f2' 1 1; "

/* Files as quantisers write them: N is l x k, and bytes are what the format says. */
Test(matmul_types, and_scales_of_a_format_come_from_files)
{
    static const uint16_t eight = 0x4100, seven = 0x4700;

    if (!has_compiler())
        return;
    cr_assert(eq(int, shell(BLOCKS "$T matmul M.npy N.npy -o P.npy --format fp8_block --scale-m A.npy --scale-n B.npy"), 0),
              "%s", errors);
    expect_bytes(&eight, 2, "<V2");
    cr_assert(eq(int, shell(WEIGHTS "$T matmul M.npy N.npy -o P.npy --format w4g32z --scale-n S.npy --zero-n Z.npy"), 0), "%s",
              errors);
    expect_bytes(&seven, 2, "<f2");
}

/* 0 to 15 of u4, twice, along k, and of M 1 at k 9. */
#define THIRTY_TWO                                                                                      \
    NPY "{ head -c 18 /dev/zero; printf '\\000\\074'; head -c 44 /dev/zero; } | npy M.npy '<f2' 1 32; " \
        "printf '\\020\\062\\124\\166\\230\\272\\334\\376\\020\\062\\124\\166\\230\\272\\334\\376' | npy W.npy '|u1' 1 16; "

/* A weight is found where it was before it was repacked, and where it was not if nobody says so. */
Test(matmul_types, weights_are_repacked_and_back)
{
    static const uint16_t nine = 0x4880, ten = 0x4900;

    if (!has_compiler())
        return;
    cr_assert(
        eq(int, shell(THIRTY_TWO "$T repack W.npy -o R.npy --json && $T repack R.npy --undo -o B.npy && cmp W.npy B.npy"), 0),
        "%s", errors);
    cr_expect(strstr(out, "\"bytes\": 16") && strstr(out, "\"order\": \"repacked\""), "%s", out);
    cr_expect(strstr(out, "B.npy: 32 weights in natural order\n") != NULL, "%s", out);
    cr_assert(eq(int, shell("$T matmul M.npy R.npy -o P.npy --n-dtype u4 --transpose-n --repacked-n --json"), 0), "%s", errors);
    expect_bytes(&nine, 2, "<f2");
    cr_expect(strstr(out, "\"n_repacked\": true") != NULL, "%s", out);
    cr_assert(eq(int, shell("$T matmul M.npy R.npy -o P.npy --n-dtype u4 --transpose-n"), 0), "%s", errors);
    expect_bytes(&ten, 2, "<f2");
}

Test(matmul_types, what_cannot_be_repacked_is_named)
{
    static const char *const rows[][2] = {
        {NPY "head -c 24 /dev/zero | npy W.npy '|u1' 1 24; $T repack W.npy -o R.npy",
         "W.npy has stored rows of 24 bytes, and weights are repacked in blocks of 32 elements of k, 16 bytes"},
        {NPY "head -c 16 /dev/zero | npy W.npy '<f2' 1 8; $T repack W.npy -o R.npy",
         "W.npy holds f16: weights of 4 bits are bytes"},
        {NPY "head -c 16 /dev/zero | npy W.npy '|u1' 1 16; $T repack W.npy", "the weights have no file: add -o OUT.npy"},
        {"$T run 8x48x8 --dtype f16 --n-dtype s4 --transpose-n --repacked-n", "and k is 48: fill up M and N with zeros"},
        {"$T explain 8x64x8 --dtype f16 --n-dtype s4 --transpose-n --repacked-n --family skinny",
         "family skinny reads weights in their natural order"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(ne(int, shell("%s", rows[i][0]), 0), "%s", rows[i][0]);
        cr_expect(strstr(errors, rows[i][1]) != NULL, "%s: %s", rows[i][1], errors);
    }
}

/* (1, 2)^T of f16, whose product with its transpose is 1, 2, 2, 4; what is not written of a file is 0. */
Test(matmul_types, one_triangle_is_computed_and_written)
{
    static const uint16_t both[] = {0x3c00, 0x4000, 0x4000, 0x4400}, lower[] = {0x3c00, 0, 0x4000, 0x4400},
                          upper[] = {0x3c00, 0x4000, 0, 0x4400};
    static const struct {
        const char *name;
        const uint16_t *wanted;
    } rows[] = {{"both", both}, {"lower", lower}, {"upper", upper}};
    char command[200];

    if (!has_compiler())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(command, sizeof command,
                 NPY "printf '\\000\\074\\000\\100' | npy M.npy '<f2' 2 1; $T matmul M.npy M.npy -o P.npy --transpose-n "
                     "--symmetric %s --json",
                 rows[i].name);
        cr_assert(eq(int, shell("%s", command), 0), "%s", errors);
        expect_bytes(rows[i].wanted, 8, "<f2");
        cr_expect(strstr(out, rows[i].name) != NULL, "%s", out);
    }
    cr_expect(ne(int, shell("$T run 8x8x16 --symmetric both"), 0));
    cr_expect(strstr(errors, "P is 8 x 16, and a symmetric P is square") != NULL, "%s", errors);
    cr_expect(ne(int, shell("$T run 8x8x8 --symmetric left"), 0));
    cr_expect(strstr(errors, "symmetric is \"left\": use one of both, lower, upper") != NULL, "%s", errors);
}

/* The column (1, i) times its conjugate transpose: 1, -i; i, 1. */
Test(matmul_types, one_triangle_of_a_hermitian_product_is_computed)
{
    static const float both[] = {1, 0, 0, -1, 0, 1, 1, 0}, lower[] = {1, 0, 0, 0, 0, 1, 1, 0},
                       upper[] = {1, 0, 0, -1, 0, 0, 1, 0};
    static const struct {
        const char *name;
        const float *wanted;
    } rows[] = {{"hermitian", both}, {"hermitian-lower", lower}, {"hermitian-upper", upper}};
    char command[300];

    if (!has_compiler())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(command, sizeof command,
                 NPY "printf '\\000\\000\\200\\077\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\200\\077' | "
                     "npy M.npy '<c8' 2 1; $T matmul M.npy M.npy -o P.npy --transpose-n --conj-n --symmetric %s --json",
                 rows[i].name);
        cr_assert(eq(int, shell("%s", command), 0), "%s", errors);
        expect_bytes(rows[i].wanted, sizeof both, "<c8");
        cr_expect(strstr(out, rows[i].name) != NULL, "%s", out);
    }
    cr_expect(ne(int, shell("$T run 8x8x8 --symmetric hermitian"), 0));
    cr_expect(strstr(errors, "P is Hermitian, and the product of f32 is real") != NULL, "%s", errors);
    cr_expect(ne(int, shell("$T run 8x8x8 --dtype c64 --symmetric both --conj-n"), 0));
    cr_expect(strstr(errors, "use hermitian") != NULL, "%s", errors);
    cr_expect(ne(int, shell("$T run 8x8x8 --dtype c64 --symmetric hermitian --alpha 1+1i"), 0));
    cr_expect(strstr(errors, "alpha has an imaginary part, and P is Hermitian") != NULL, "%s", errors);
    cr_expect(ne(int, shell("$T run 8x8x8 --conj-n"), 0));
    cr_expect(strstr(errors, "N is conjugated and holds f32, which are real") != NULL, "%s", errors);
}

/* 1 of f16 by 1, 2, -4, 0.5, whose largest is 4. */
#define ROW                                           \
    NPY "printf '\\000\\074' | npy M.npy '<f2' 1 1; " \
        "printf '\\000\\074\\000\\100\\000\\304\\000\\070' | npy N.npy '<f2' 1 4; "

/* P of e4m3 and the scales that the kernel finds: 4 / 448, and 2^-6, of which 4 / 2^-6 is 256. */
Test(matmul_types, of_a_quantised_p_have_scales_in_a_file)
{
    static const uint8_t values[] = {0x6e, 0x76, 0xfe, 0x66}, by_two[] = {0x68, 0x70, 0xf8, 0x60}, power = 121;
    static const float scale = 4.0F / 448;

    if (!has_compiler())
        return;
    cr_assert(eq(int, shell(ROW "$T matmul M.npy N.npy -o P.npy --p-dtype e4m3 --scale-p S.npy"), 0), "%s", errors);
    cr_expect(strstr(out, "S.npy: 1 x 1 scales of it, f32") != NULL, "%s", out);
    expect_bytes(values, sizeof values, "<V1");
    expect_bytes_of("S.npy", &scale, sizeof scale, "<f4");
    cr_assert(eq(int, shell("$T matmul M.npy N.npy -o P.npy --p-dtype e4m3 --scale-p S.npy --form-p e8m0:1x32"), 0), "%s",
              errors);
    expect_bytes(by_two, sizeof by_two, "<V1");
    expect_bytes_of("S.npy", &power, 1, "|u1");
}

/* Scales of blocks without the name of a format: what --form-m and --form-n say of their files. */
Test(matmul_types, and_scales_of_a_form_come_from_files)
{
    static const float eight = 8, seven = 7;
    static const struct {
        const char *words, *said;
    } wrong[] = {
        {"--form-n f32:1x128", "--form-n describes a file that is missing: add --scale-n S.npy"},
        {"--scale-n B.npy --form-n f99:1x128", "f99"},
        {"--scale-n N.npy --form-n f32:1x128", "N.npy is 1 x 2: --form-n f32:1x128 takes 1 x 1 numbers of f32 there"},
        {"--scale-n B.npy --form-n f32:1x128 --format fp8_block", "both say how scales lie: leave one out"},
        {"--scale-n B.npy --zero-n Z.npy", "--zero-n needs a --format or --form-n that has it"},
        {"--scale-p -", "--scale-p - would mix the scales with the report"},
        {"--scale-p S.npy", "scale_p is set, and P is f32"},
    };

    cr_assert(eq(int,
                 shell(NPY "printf '\\070\\100' | npy M.npy '<V1' 1 2; printf '\\100\\070' | npy N.npy '<V1' 1 2; "
                           "printf '\\000\\000\\000\\077' | npy A.npy '<f4' 1 1; "
                           "printf '\\000\\000\\200\\100' | npy B.npy '<f4' 1 1"),
                 0),
              "%s", errors);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_expect(ne(int, shell("$T matmul M.npy N.npy -o P.npy --transpose-n %s", wrong[i].words), 0), "%s", wrong[i].words);
        cr_expect(strstr(errors, wrong[i].said) != NULL, "%s: %s", wrong[i].words, errors);
    }
    if (!has_compiler())
        return;
    cr_assert(eq(int,
                 shell("$T matmul M.npy N.npy -o P.npy --transpose-n --scale-m A.npy --form-m f32:1x128 --scale-n B.npy "
                       "--form-n f32:128x128:row-by-row"),
                 0),
              "%s", errors);
    expect_bytes(&eight, 4, "<f4");
    cr_assert(eq(int,
                 shell(WEIGHTS "$T matmul M.npy N.npy -o P.npy --n-dtype u4 --dtype f16 --p-dtype f32 --transpose-n --scale-n "
                               "S.npy --form-n f16:1x32:row-by-row:zero=u4 --zero-n Z.npy"),
                 0),
              "%s", errors);
    expect_bytes(&seven, 4, "<f4");
}

/* A format is an option like others: a column of lists, and a request that explain can describe. */
Test(matmul_types, of_a_format_are_an_option)
{
    cr_assert(eq(int, shell("$T explain 16x300x130 tiled --format nvfp4 --dtype f16 --device emulator:sm_90"), 0), "%s",
              errors);
    cr_expect(strstr(out, "scales     scales of N: e4m3:1x16:row-by-row:whole, 130 x 19 of e4m3\n"
                          "           scale of all of N: 1 x 1 of f32\n") != NULL,
              "%s", out);
    if (!has_compiler())
        return;
    cr_expect(eq(int,
                 shell("printf 'j,k,l,format\\n16,64,32,mxfp4\\n' >f.csv; $T pack --shapes f.csv -o f.pack --arch sm_90 "
                       "--family tiled"),
                 0),
              "%s", errors);
}

Test(matmul_types, that_do_not_go_together_are_told_in_words)
{
    static const struct {
        const char *line, *words;
    } rows[] = {
        {INTEGERS "$T matmul M.npy N.npy -o P.npy --alpha 0.5", "alpha is 5.000e-1"},
        {INTEGERS "$T matmul M.npy N.npy -o P.npy --p-dtype e4m3", "but P is e4m3: such a P may be f32"},
        {INTEGERS "$T matmul M.npy N.npy -o P.npy --compute f32", "compute is f32 but M is s8 and N is u8: use s32"},
        {INTEGERS "$T matmul M.npy N.npy -o P.npy --scale-m N.npy", "N.npy is 3 x 2: scales of M are 2 x 1, or 1 x 1"},
        {INTEGERS "$T matmul M.npy N.npy -o P.npy --scale-n N.npy", "N.npy is 3 x 2: scales of N are 1 x 2, or 1 x 1"},
        {NPY "head -c 6 /dev/zero | npy M.npy '|i1' 2 3; head -c 48 /dev/zero | npy N.npy '<f8' 3 2; $T matmul M.npy N.npy -o "
             "P.npy",
         "M.npy holds s8 and N.npy holds f64: add --dtype"},
        {NPY "head -c 24 /dev/zero | npy M.npy '<i4' 2 3; head -c 24 /dev/zero | npy N.npy '<i4' 3 2; $T matmul M.npy N.npy -o "
             "P.npy",
         "M is s32, which only P and C may be"},
        {"$T run 8x8x8 --dtype s32", "M is s32, which only P and C may be: use f32"},
        {"$T run 8x8x8 --dtype f16 --compute tf32", "compute is tf32 but M and N are f16: use f32"},
        {"$T run 8x8x8 --dtype bf16 --compute f32_split", "compute is f32_split but M and N are bf16: use f32"},
        {"$T run 8x8x8 --config planes", "family planes multiplies f32 with compute f32_split"},
        {"$T run 8x8x8 --dtype e4m3 --n-dtype s8",
         "M is e4m3 but N is s8: give both one type, e4m3 and e5m2, s8 and u8, f32 and f16 or bf16, or one of them weights of"},
        {"$T run 8x8x8 --compute f17", "no way to compute is named \"f17\": use f32, f64, tf32, s32, f32_split or f32_fp8"},
        {"$T run 8x8x8 --scale-m all", "use one of one, each, along-k"},
        {"$T run 8x8x8 --dtype f16 --n-dtype s8 --scale-k 4", "--scale-k is 4 and there are no scales along k"},
        {"$T run 8x8x8 --dtype f16 --n-dtype s8 --scale-n along-k",
         "there is no scale_k: give it the elements of k for each scale, such as 32"},
        {"$T run 8x8x8 --dtype f64 --scale-m one", "products of f64 take no scales"},
        {"$T run 8x8x8 --scale-m f32:1xmany", "or TYPE:ROWSxK, such as f32:128x128:row-by-row"},
        {"$T run 8x8x8 --scale-m e5m2:1x32", "scale_m.type is 6 (e5m2): scales are"},
        {"$T run 8x8x8 --format fp9",
         "--format is \"fp9\": use one of fp8_block, fp8_block_1d, mxfp8, mxfp4, mxfp4_w4a4, nvfp4, nvfp4_w4a4, "},
        {BLOCKS "$T matmul M.npy N.npy -o P.npy --format fp8_block --scale-m A.npy",
         "--format fp8_block needs --scale-n: add a file with 1 x 1 numbers of f32"},
        {BLOCKS "$T matmul M.npy N.npy -o P.npy --format fp8_block --scale-m M.npy --scale-n B.npy",
         "M.npy is 1 x 2: --format fp8_block takes 1 x 1 numbers of f32 there"},
        {BLOCKS "$T matmul M.npy N.npy -o P.npy --format fp8_block --scale-m A.npy --scale-n B.npy --zero-n B.npy",
         "--format fp8_block takes no --zero-n: leave it out"},
        {WEIGHTS "$T matmul M.npy N.npy -o P.npy --format w4g32z --scale-n S.npy",
         "--format w4g32z needs --zero-n: add a file with 1 x 2 numbers of u4"},
        {WEIGHTS "$T matmul M.npy N.npy -o P.npy --format w4g32z --scale-n S.npy --zero-n S.npy",
         "S.npy holds f16: a file of u4"},
        {WEIGHTS "$T matmul M.npy N.npy -o P.npy --zero-n Z.npy", "--zero-n needs a --format or --form-n that has it: add one"},
        {WEIGHTS "$T matmul M.npy N.npy -o P.npy --format w4g32z --scale-k 32", "and --format w4g32z says it: leave it out"},
        {"$T run 8x8x8 --dtype u8 --family simt", "family simt takes matrices of f32, f64, f16 or bf16, and M is u8"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int code = shell("%s", rows[i].line);

        cr_expect(code == 1 || code == 2, "%s: %d", rows[i].line, code);
        cr_expect(strstr(errors, rows[i].words) != NULL, "%s: %s", rows[i].line, errors);
    }
}

/* ---- expressions as epilogues --------------------------------------------------------------------------------------- */

/* M = {{1}, {2}} and N = {{1, -1}} of f32: M . N = {{1, -1}, {2, -2}}. bias = {{0.5, 0.5}}, gain = {{1}, {2}}. */
#define REALS                                                                                  \
    NPY "printf '\\000\\000\\200\\077\\000\\000\\000\\100' | tee gain | npy M.npy '<f4' 2 1; " \
        "printf '\\000\\000\\200\\077\\000\\000\\200\\277' | npy N.npy '<f4' 1 2; "            \
        "printf '\\000\\000\\000\\077\\000\\000\\000\\077' | npy bias.npy '<f4' 1 2; npy gain.npy '<f4' 2 1 <gain; "

Test(matmul_types, epilogues_take_files_and_numbers)
{
    static const float biased[] = {1.5F, 0, 2.5F, 0}, leaky[] = {1, -0.5F, 4, -2}, gated[] = {-1, -4}, added[] = {2, -2, 4, -4};

    if (!has_compiler())
        return;
    cr_assert(eq(int, shell(REALS "$T matmul M.npy N.npy -o P.npy --epilogue 'relu(acc + bias[col])' --with bias=bias.npy"), 0),
              "%s", errors);
    cr_expect(strstr(out, "check      passed") != NULL, "%s", out);
    expect_bytes(biased, sizeof biased, "(2, 2)");
    cr_assert(eq(int,
                 shell("$T matmul M.npy N.npy -o P.npy --epilogue 'select(acc > 0, acc, slope * acc) * gain[row]' "
                       "--with slope=0.5,gain=gain.npy"),
                 0),
              "%s", errors);
    expect_bytes(leaky, sizeof leaky, "(2, 2)");
    cr_assert(eq(int, shell("$T matmul M.npy N.npy -o P.npy --epilogue 'relu(acc[2*col]) * acc[2*col+1]'"), 0), "%s", errors);
    expect_bytes(gated, sizeof gated, "(2, 1)");
    cr_assert(eq(int,
                 shell("$T matmul M.npy N.npy -o P.npy && mv P.npy C.npy && "
                       "$T matmul M.npy N.npy -o P.npy --epilogue 'acc + c' --c C.npy"),
                 0),
              "%s", errors);
    expect_bytes(added, sizeof added, "(2, 2)");
}

Test(matmul_types, epilogues_that_miss_something_say_what)
{
    static const struct {
        const char *words, *said;
    } rows[] = {
        {"--epilogue 'acc + bias[col]'", "names bias: add --with bias=FILE.npy"},
        {"--epilogue 'slope * acc'", "names slope: add --with slope=NUMBER"},
        {"--epilogue 'acc + gain[row]' --with gain=bias.npy", "bias.npy is 1 x 2: operand gain is 2 x 1"},
        {"--epilogue 'acc' --with bias=bias.npy", "bias"},
        {"--epilogue 'acc + bias[col]' --with bias=missing.npy", "missing.npy"},
        {"--epilogue 'acc + bias[col]' --with bias=bias.npy,bias=gain.npy", "gives bias two values"},
        {"--epilogue 'slope * acc' --with slope=1,slope=1", "gives slope two values"},
        {"--epilogue 'acc + bias[col]' --with bias=bias.npy,", "--with has \"\": write slope=0.1"},
        {"--epilogue 'acc + bias[col]' --with ,bias=bias.npy", "--with has \"\": write slope=0.1"},
        {"--epilogue 'acc + c'", "add --c C.npy"},
        {"--epilogue 'relu(acc)' --c bias.npy", "does not name c"},
        {"--epilogue 'pre[row, col] = acc; relu(acc)'", "leave that output out"},
        {"--epilogue 'gelu(acc + 3x)'", "column 13: "},
        {"--epilogue 'acc[2*col] * acc[2*col+1]' --transpose-n", "3 columns|do not meet|l is 1: give N an even number"},
    };

    cr_assert(eq(int, shell(REALS "true"), 0), "%s", errors);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int code = shell("$T matmul M.npy N.npy -o P.npy %s", rows[i].words);
        char *end, said[128];
        bool is_said = false;

        snprintf(said, sizeof said, "%s", rows[i].said);
        for (char *one = strtok_r(said, "|", &end); one; one = strtok_r(NULL, "|", &end))
            is_said |= strstr(errors, one) != NULL;
        cr_expect(code == 1 || code == 2, "%s: %d", rows[i].words, code);
        cr_expect(is_said, "%s: %s", rows[i].words, errors);
    }
}
