/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* tilejit matmul: files that fit, and files that do not. */
#include "command_test.h"

#include "matrix_file.h"

Test(command, matmul_names_arrays_that_do_not_fit)
{
    static const struct {
        const char *words, *said[2];
    } rows[] = {
        {"M.npy M.npy", {"5 x 3", "3 columns do not meet 5 rows"}},
        {"M.npy N.npy --transpose-m", {"5 x 3, transposed", "5 columns do not meet 3 rows"}},
        {"batch4.npy batch5.npy", {"4 x 5 x 3", "batches of 4 and 5"}},
        {"M.npy wide.npy", {"M.npy holds f32 and wide.npy holds f64", "add --dtype"}},
        {"M.npy N.npy --c M.npy", {"M.npy is 5 x 3", "P is 5 x 2"}},
        {"missing.npy N.npy", {"missing.npy", ""}},
        {"M.npy folder", {"folder", ""}},
        {"text.npy N.npy", {"text.npy", ""}},
        {"M.npy N.npy --boundary none", {"boundary check of j", ""}},
        {"empty.npy N.npy", {"j is 0", ""}},
        {"none.npy N.npy", {"nothing to multiply", "0 x 5 x 3"}},
        {"F.npy N.npy --c CF.npy --order C", {"CF.npy is in F order", "leave --order out"}},
        {"batch4.npy N.npy --order F", {"leave --order F out", ""}},
    };

    write_matrix("M.npy", TJ_F32, 2, 5, 3, 0, 0);
    write_matrix("N.npy", TJ_F32, 2, 3, 2, 0, 0);
    write_matrix("F.npy", TJ_F32, 2, 5, 3, 0, 1);
    write_matrix("CF.npy", TJ_F32, 2, 5, 2, 0, 1);
    write_matrix("wide.npy", TJ_F64, 2, 3, 2, 0, 0);
    write_matrix("batch4.npy", TJ_F32, 3, 4, 5, 3, 0);
    write_matrix("batch5.npy", TJ_F32, 3, 5, 3, 2, 0);
    write_matrix("empty.npy", TJ_F32, 2, 0, 3, 0, 0);
    write_matrix("none.npy", TJ_F32, 3, 0, 5, 3, 0);
    cr_assert(eq(int, shell("mkdir folder; echo hello > text.npy"), 0));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int code = shell("$T matmul %s -o P.npy", rows[i].words);

        cr_expect(eq(int, code, 1), "%s: %s", rows[i].words, errors);
        for (size_t s = 0; s < 2; s++)
            cr_expect(strstr(errors, rows[i].said[s]) != NULL, "%s: %s", rows[i].words, errors);
        cr_expect(not(exists("P.npy")), "%s", rows[i].words);
    }
}

Test(command, matmul_writes_p_only_if_it_passed)
{
    NEEDS_COMPILER();
    write_matrix("M.npy", TJ_F32, 2, 5, 3, 0, 0);
    write_matrix("N.npy", TJ_F32, 2, 3, 2, 0, 1);
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o P.npy --driver " FAKE_CUDA_PATH), 3), "%s%s", out, errors);
    cr_expect(not(exists("P.npy")));
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o P.npy --keep --driver " FAKE_CUDA_PATH), 3), "%s", errors);
    cr_expect(exists("P.npy"), "asked for");
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o missing/P.npy --no-check --driver " FAKE_CUDA_PATH), 1), "%s", errors);
    cr_expect(strstr(errors, "missing/P.npy") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o P.npy --compile-only --driver /nonexistent/libcuda.so"), 0), "%s",
              errors);
}

Test(command, matmul_takes_every_order_type_and_rank_the_files_have)
{
    static const struct {
        const char *words;
        tj_type dtype;
        int rank;
        int64_t shape[3];
        int is_fortran_order;
    } rows[] = {
        {"M.npy N.npy", TJ_F32, 2, {5, 2, 0}, 0},
        {"F.npy N.npy --order F", TJ_F32, 2, {5, 2, 0}, 1},
        {"N.npy M.npy --transpose-m --transpose-n", TJ_F32, 2, {2, 5, 0}, 0},
        {"batch4.npy N.npy", TJ_F32, 3, {4, 5, 2}, 0},
        {"M.npy wide.npy --dtype f64", TJ_F64, 2, {5, 2, 0}, 0},
        {"M.npy N.npy --dtype f16 --p-dtype f32", TJ_F32, 2, {5, 2, 0}, 0},
        {"M.npy N.npy --dtype bf16", TJ_BF16, 2, {5, 2, 0}, 0},
        {"M.npy N.npy --c CF.npy", TJ_F32, 2, {5, 2, 0}, 1},
        {"M.npy N.npy --any all --alpha 0.5", TJ_F32, 2, {5, 2, 0}, 0},
    };

    NEEDS_COMPILER();
    write_matrix("M.npy", TJ_F32, 2, 5, 3, 0, 0);
    write_matrix("N.npy", TJ_F32, 2, 3, 2, 0, 0);
    write_matrix("F.npy", TJ_F32, 2, 5, 3, 0, 1);
    write_matrix("CF.npy", TJ_F32, 2, 5, 2, 0, 1);
    write_matrix("wide.npy", TJ_F64, 2, 3, 2, 0, 0);
    write_matrix("batch4.npy", TJ_F32, 3, 4, 5, 3, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_npy p;
        tj_error err;
        char path[PATH_MAX];

        cr_assert(eq(int, shell("rm -f P.npy; $T matmul %s -o P.npy --no-check --driver " FAKE_CUDA_PATH, rows[i].words), 0),
                  "%s: %s", rows[i].words, errors);
        snprintf(path, sizeof path, "%s/P.npy", folder);
        cr_assert(eq(int, tj_npy_read(path, &p, &err), TJ_OK), "%s: %s", rows[i].words, err.message);
        cr_expect(eq(int, p.dtype, rows[i].dtype), "%s", rows[i].words);
        cr_expect(eq(int, p.rank, rows[i].rank), "%s", rows[i].words);
        cr_expect(eq(int, p.is_fortran_order, rows[i].is_fortran_order), "%s", rows[i].words);
        for (int d = 0; d < rows[i].rank; d++)
            cr_expect(eq(i64, p.shape[d], rows[i].shape[d]), "%s", rows[i].words);
        tj_npy_drop(&p);
    }
}
