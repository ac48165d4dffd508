/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (nothing can be preloaded there: program.c runs instead) */
/*
 * tilejit with and tilejit trace, as a user types them, with a program that multiplies by fakes of cuBLAS and cuBLASLt on the
 * emulator, and checks each product itself.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdbool.h>

#include <jansson.h>

#include "shell.h"

/* $P is the program linked with cuBLAS, $O the one that opens it or a plugin, $G, or a stub, $S. */
static void assign_variables(char *assignments, size_t bytes)
{
    snprintf(assignments, bytes,
             "TILEJIT_DRIVER=emulator TILEJIT_EMULATOR='%s' F='%s' L='%s' && export LD_LIBRARY_PATH=$F/cublas P=$F/blas_linked "
             "O=$F/blas_opens G=$F/libblas_plugin.so S=$F/libblas_stub.so",
             EMULATOR_PATH, BLAS_FOLDER, BLAS_LIBRARY);
}

TestSuite(blas, .init = make_folder, .fini = remove_folder, .timeout = 280);

static void must(const char *line, const char *expected)
{
    const int code = shell("%s", line);

    cr_expect(code == 0 && strstr(out, expected) != NULL && strstr(out, "WRONG") == NULL, "%s: %d\n%s%s", line, code, out,
              errors);
}

/* ---- interposition ---------------------------------------------------------------------------------------------------- */

Test(blas, a_preload_that_is_asked_for_nothing_changes_nothing)
{
    must("LD_PRELOAD=$L $P random 40 1", "40 products, 0 taken, 0 wrong");
    must("LD_PRELOAD=$L TILEJIT_BLAS=nonsense $O random 20 2", "20 products, 0 taken, 0 wrong");
    must("LD_PRELOAD=$L $O plugin $G random 20 3", "20 products, 0 taken, 0 wrong");
    must("LD_PRELOAD=$L $P symbols", "ok");
    must("$T with -- $P symbols", "ok");
}

Test(blas, a_preload_of_another_build_is_passed_over)
{
    NEEDS_COMPILER();
    must("mkdir other && cp $L other && LD_PRELOAD=$PWD/other/libtilejit_blas.so:libm.so.6 $T with -- sh -c 'echo $LD_PRELOAD'",
         "/libtilejit_blas.so:libm.so.6\n");
    cr_expect(strstr(out, "other") == NULL, "%s", out);
    must("LD_PRELOAD=$PWD/other/libtilejit_blas.so $T with --always -- $O random 2 1 wait", "2 products, 2 taken, 0 wrong");
}

Test(blas, products_of_all_kinds_are_taken_and_right)
{
    NEEDS_COMPILER();
    must(IS_NIGHTLY ? "$T with --always -- $P random 120 1 wait" : "$T with --always -- $P random 14 1 wait",
         IS_NIGHTLY ? "120 products, 120 taken, 0 wrong" : "14 products, 14 taken, 0 wrong");
}

Test(blas, a_library_that_the_program_opens_by_itself_is_found)
{
    NEEDS_COMPILER();
    must(IS_NIGHTLY ? "$T with --always -- $O random 120 21 wait" : "$T with --always -- $O random 4 2 wait",
         IS_NIGHTLY ? "120 products, 120 taken, 0 wrong" : "4 products, 4 taken, 0 wrong");
    must("$T with --always -- $O plugin $G random 4 3 wait", "4 products, 4 taken, 0 wrong");
}

Test(blas, of_two_libraries_each_gets_its_own_calls)
{
    must("$T with -- $O two $F/cublas/libcublas.so.12", "ok a call of the second");
    must("$T trace -- $O two $F/cublas/libcublas.so.12", "ok a call of the second");
    must("VERSION=12 $T with -- $O two $F/cublas/libcublas.so.12", "ok a call of the second"); /* opened by name and by path */
}

Test(blas, functions_that_open_the_library_at_their_first_call)
{
    must("$O stub $S", "ok a product through the stub");
    must("$T with -- $O stub $S", "ok a product through the stub");
    cr_expect(shell("$T trace -- $O stub $S") == 0 && strstr(out, "8 products of 1 kinds") != NULL, "%s%s", out, errors);
}

Test(blas, calls_that_are_unusual_go_to_cublas)
{
    must("$T with --always -- $P edges", "ok a destroyed handle is refused by the library");
    must("$T trace -- $P edges", "ok a destroyed handle is refused by the library");
}

Test(blas, a_number_of_multiprocessors_holds)
{
    NEEDS_COMPILER();
    must("TILEJIT_LOG=info $T with --always -- $P share", "ok a large one is left to the library");
    cr_expect(strstr(errors, "stays with cuBLAS: its kernel does not keep to 1 multiprocessors") != NULL, "%s", errors);
}

Test(blas, factors_in_device_memory_are_read_by_the_kernel)
{
    NEEDS_COMPILER();
    must("$T with --always -- $P zeros", "ok factors of 0 hide what is no number");
}

Test(blas, a_product_that_cublas_refuses_is_not_taken)
{
    must("$T with --always -- $P refused", "ok a product that the library refuses");
}

/* CUDA 11 has neither sizes of 64 bits nor all attributes. */
Test(blas, other_releases_of_cublas_are_served)
{
    NEEDS_COMPILER();
    must("VERSION=11 $T with --always -- $O random 3 2 wait", "3 products, 3 taken, 0 wrong");
    must("VERSION=12 $T trace --json -- $O random 8 4 2>&1", "8 products, 0 taken, 0 wrong");
}

Test(blas, a_capture_records_a_kernel_that_is_there_and_waits_for_none)
{
    NEEDS_COMPILER();
    must("$T with --always -- $P capture", "ok the graph multiplies");
    must("$T with -- $P expected", "ok the graph multiplies");
    must("$T with --always -- $P workspace", "ok a new stream takes it away");
}

Test(blas, a_graph_has_the_workspace_that_the_handle_lacks)
{
    NEEDS_COMPILER();
    must("$T with --always -- $P graphs", "ok its memory is free again");
}

Test(blas, threads_and_forked_children)
{
    must("$T with -- $P threads", "4 threads, 0 wrong");
    must("$T with --always -- $P fork", "ok a child that does not");
    must("$T trace --json -- $P fork 2>err", "\"processes\": 2"); /* the child that used CUDA, and the parent */
}

Test(blas, the_faster_one_computes)
{
    NEEDS_COMPILER();
    must("$T with --verbose -- $P often", "ok the product is taken");
    cr_expect(strstr(errors, "cublasSgemm_v2 j16 k32 l24 f32: cuBLAS ") != NULL, "%s", errors);
}

Test(blas, the_second_run_begins_where_the_first_ended)
{
    NEEDS_COMPILER();
    must("$T with -- $P again", "the first call is left\n");
    must("grep -h -c tilejit_us store/v1/program-*", "1");
    must("$T with --verbose -- $P again patient", "the first call is taken\n80 calls, 80 taken, 0 wrong");
    cr_expect(strstr(errors, "compiling") == NULL && strstr(errors, "cuBLAS ") == NULL, "%s", errors);
    must("chmod -R a-w store && $T with -- $P again patient && chmod -R u+w store", "the first call is taken\n");
}

/* The device that is reset has another context then, with the same handle. */
#define ON_TWO_DEVICES "CUDA_EMULATOR_DEVICES='sm_90 sm_80' "

Test(blas, each_device_has_its_own_kernels_and_has_them_again_after_a_reset)
{
    NEEDS_COMPILER();
    must(ON_TWO_DEVICES "$T with -- $P contexts | grep -c '80 taken, 0 wrong'", "3\n");
    must("ls store/v1/program-* | wc -l", "2\n");
    must(ON_TWO_DEVICES "$T with -- $P contexts patient | grep -c 'the first call is taken'", "3\n");
    must(ON_TWO_DEVICES "$T trace -- $P contexts 2>&1", "903 products of 1 kinds");
}

/* The first processor that this process may use. */
#define ON_ONE_PROCESSOR "taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//') "

/* The large product comes first in the note, of which 1 us is to be gained; of the small one, 90. */
Test(blas, the_kernel_that_saves_most_is_compiled_first)
{
    NEEDS_COMPILER();
    must("$T with -- $P both", "ok the small one is taken");
    must("find store -type f ! -name 'program-*' -delete && "
         "awk '/cublas_us/ { $2 = ++n == 1 ? \"10,\" : \"100,\" } /tilejit_us/ { $2 = n == 1 ? 9 : 10 } 1' "
         "store/v1/program-* > note && cp note store/v1/program-* && " ON_ONE_PROCESSOR "$T with --verbose -- $P both",
         "ok the small one is taken");
    cr_expect(strstr(errors, "_16x32x24") != NULL && strstr(errors, "_16x32x24") < strstr(errors, "_64x64x64"), "%s", errors);
}

/* Give the remembered product other times, in microseconds. */
#define REMEMBER(cublas, tilejit)                                                                                   \
    "sed -i 's/\"cublas_us\": .*,/\"cublas_us\": " cublas ",/; s/\"tilejit_us\": .*/\"tilejit_us\": " tilejit "/' " \
    "store/v1/program-* && "

Test(blas, what_was_decided_holds_while_times_do)
{
    NEEDS_COMPILER();
    must("$T with -- $P again", "80 taken, 0 wrong");
    must(REMEMBER("1000", "2000") "$T with --verbose -- $P again", "the first call is left\n300 calls, none taken, 0 wrong");
    cr_expect(strstr(errors, "compiling") == NULL, "%s", errors);
    must(REMEMBER("0.01", "0.1") "$T with --verbose -- $P again", "the first call is left\n");
    cr_expect(strstr(out, "80 taken, 0 wrong") != NULL && strstr(errors, ": TileJIT\n") != NULL,
              "cuBLAS is slower than it was: %s%s", out, errors);
    must(REMEMBER("0.01", "0.001") "$T with --verbose -- $P again patient", "the first call is taken\n");
    cr_expect(strstr(errors, "to be compared again") != NULL && strstr(errors, ": TileJIT\n") != NULL,
              "TileJIT is slower than it was: %s", errors);
    must("sed -i 's/\"config\": .*,/\"config\": \"naive\",/' store/v1/program-* && " REMEMBER(
             "0.01", "0.001") "$T with --verbose -- $P again",
         "300 calls, none taken");
    cr_expect(strstr(errors, "TileJIT is expected to take") != NULL, "another config's time says nothing: %s", errors);
}

Test(blas, a_note_that_is_damaged_or_of_another_program_is_as_none)
{
    NEEDS_COMPILER();
    must("$T with -- $P again", "80 taken, 0 wrong");
    must("sed -i 's/\"format\": 1/\"format\": 2/' store/v1/program-* && $T with -- $P again", "the first call is left\n");
    must("sed -i 's/ again/ often/' store/v1/program-* && $T with -- $P again", "the first call is left\n");
    must("truncate -s 100 store/v1/program-* && $T with -- $P again", "the first call is left\n");
    must("TILEJIT_CACHE_DIR=off $T with -- $P again", "80 taken, 0 wrong");
    must("$T with -- $P again patient", "the first call is taken\n");
}

Test(blas, processes_at_once_keep_the_products_of_all)
{
    must("for i in 1 2 3 4 5 6; do $T trace --json -- $P random 4 $i > trace$i 2>&1 & done; wait; "
         "grep -h -c cublas_us store/v1/program-*",
         "24\n");
    must("$T trace -- $P random 2 7 && grep -h -c cublas_us store/v1/program-*", "26\n");
    must("sed -i 's/\"seen_s\": .*,/\"seen_s\": 1,/' store/v1/program-* && $T trace -- $P random 3 8 && "
         "grep -h -c cublas_us store/v1/program-*",
         "3\n");
}

Test(blas, what_a_trace_timed_is_where_the_next_run_begins)
{
    NEEDS_COMPILER();
    cr_expect(shell("$T trace -- $P again") == 0);
    must("$T with --verbose -- $P again", "80 taken, 0 wrong");
    cr_expect(strstr(errors, "compiling") < strstr(errors, "cuBLAS "), "%s", errors);
    must("TILEJIT_LOG=info $T with --always -- $P again patient", "the first call is taken\n");
    (void)shell("$T trace -- $P again");
    cr_expect(strstr(out, "5.00 measured") != NULL, "the time of the second run: %s", out);
}

Test(blas, a_product_that_takes_little_time_is_not_worth_a_kernel)
{
    must("$T with --verbose -- $P random 4 1", "4 products, 0 taken, 0 wrong");
    cr_expect(strstr(errors, "compiling") == NULL, "%s", errors);
}

Test(blas, the_end_does_not_wait_for_a_compile)
{
    NEEDS_COMPILER();
    must("$T with --always -- $P exit 30", "ok the child");
    cr_expect(atoi(strchr(out, '\n') + 1) < 1000, "%s", out);
}

Test(blas, without_a_record_only_recorded_computes_nothing)
{
    must("TILEJIT_LOG=info $T with --only-recorded -- $P random 4 1", "4 products, 0 taken, 0 wrong");
    cr_expect(strstr(errors, "compiling") == NULL, "%s", errors);
}

/* ---- programs --------------------------------------------------------------------------------------------------------- */

Test(blas, the_program_keeps_its_arguments_exit_code_and_preloads)
{
    cr_expect(shell("$T with -- sh -c 'exit 7'") == 7);
    cr_expect(shell("$T with -- sh -c 'kill -TERM $$'") == 143);
    cr_expect(shell("$T trace -- sh -c 'exit 7'") == 7);
    cr_expect(strstr(errors, "sh ended with exit code 7") != NULL, "%s", errors);
    cr_expect(shell("$T trace -- sh -c 'kill -TERM $$'") == 143);
    must("$T with -- echo --json -- --always", "--json -- --always");
    must("LD_PRELOAD=libm.so.6 $T with -- sh -c 'echo $LD_PRELOAD'", "libtilejit_blas.so:libm.so.6");
}

static void fails(const char *line, int code, const char *message)
{
    const int got = shell("%s", line);

    cr_expect(got == code && strstr(errors, message) != NULL, "%s: %d\n%s", line, got, errors);
}

/* A program of somebody else with rights of its own: only root can make one. */
#define MAKE_SUID "cp $P suid; { chown 65534 suid && chmod 4755 suid; } 2> none || ln -sf $(command -v su) suid; "

Test(blas, what_cannot_be_done_is_said)
{
    fails("$T with", 2, "with needs a program after --: tilejit with -- python train.py");
    fails("$T trace $P", 2, "trace takes a program after --: tilejit trace -- ");
    fails("$T with --always --only-recorded -- $P", 2, "--always and --only-recorded exclude each other");
    fails("$T with -- ./absent", 1, "cannot run ./absent: no such program");
    fails(MAKE_SUID "$T with -- ./suid", 1, "for which the loader ignores what is preloaded");
    fails("printf '#!/usr/bin/env ./suid -x\\n' > script && chmod 755 script && $T trace -- ./script", 1,
          "./suid is set-uid or set-gid");
    must("cp $P own && chmod 4755 own && $T with -- ./own symbols", "ok"); /* its caller's own: the loader is as usual */
    fails("printf '\\177ELF\\2\\1\\1' > static && head -c 200 /dev/zero >> static && chmod 755 static && $T with -- ./static",
          1, "is linked statically");
    fails("sed 's#/ld-linux#/ld-musl-#' $P > musl && chmod 755 musl && $T with -- ./musl", 1, "is linked with musl");
    fails("printf '\\177ELF\\1\\1\\1' > narrow && head -c 200 /dev/zero >> narrow && chmod 755 narrow && $T with -- ./narrow",
          1, "is for another kind of processor");
    fails("$T trace --csv absent/file -- $P symbols", 1, "absent");
    cr_expect(strstr(out, "ok") == NULL, "the program ran before the file was known to be good: %s", out);
}

Test(blas, a_run_without_a_product_ends_with_the_reason)
{
    must("$T with -- $O idle libm.so.6", "");
    cr_expect(strcmp(errors, "tilejit: no product of this program was intercepted: it loaded no cuBLAS\n") == 0, "%s", errors);
    must("$T with -- $O idle libcublasLt.so.13", "");
    cr_expect(strstr(errors, "/libcublasLt.so.13 was loaded, but none of its products") != NULL, "%s", errors);
    must("$T with -- $O idle $S", "");
    cr_expect(strstr(errors, "/libblas_stub.so has functions of cuBLAS inside, whose calls cannot be reached") != NULL, "%s",
              errors);
    must("$T with -- $P random 1 1", "1 products");
    must("$T with -- sh -c '$P random 1 1; true'", "1 products"); /* it is not the shell's to say */
    cr_expect(strstr(errors, "no product") == NULL, "%s", errors);
    fails("$T trace -- true", 1, "no product was seen. true: it loaded no cuBLAS");
    fails("$T trace -- sh -c '$O idle libcublas.so.13; true'", 1, "no product was seen. blas_opens: /");
    fails("$T trace -- sh -c 'LD_PRELOAD= $P random 1 1; kill -9 $$'", 137, "ended with exit code 137");
    fails("$T trace -- env -u LD_PRELOAD -u TILEJIT_BLAS $P random 1 1", 1, "since no process was reached to its end");
}

Test(blas, doctor_says_whether_a_program_is_reached)
{
    (void)shell("$T doctor -- $P");
    cr_expect(strstr(out, "OK       preload   /") != NULL && strstr(out, "/libtilejit_blas.so, for tilejit with") != NULL, "%s",
              out);
    cr_expect(strstr(out, "OK       program   the loader preloads the library into /") != NULL, "%s", out);
    fails(MAKE_SUID "$T doctor -- ./suid", 1, "missing");
    cr_expect(strstr(out, "missing  program   ./suid is set-uid") != NULL, "%s", out);
    (void)shell("TILEJIT_BLAS=with $T doctor");
    cr_expect(strstr(out, "note     preload   TILEJIT_BLAS is set, and LD_PRELOAD does not name") != NULL, "%s", out);
    (void)shell("mkdir other && cp $L other && LD_PRELOAD=$PWD/other/libtilejit_blas.so $T doctor");
    cr_expect(strstr(out, "note     preload   LD_PRELOAD names another libtilejit_blas.so") != NULL, "%s", out);
    fails("mkdir old && cp $(dirname $L)/libtilejit.so.0 old && sed 's/TILEJIT_BLAS [0-9]/TILEJIT_BLAS 9/' $L > "
          "old/libtilejit_blas.so && LD_LIBRARY_PATH=$PWD/old $T doctor -- $P",
          1, "missing");
    cr_expect(strstr(out, "missing  preload   /") != NULL && strstr(out, "is of version 9.") != NULL, "%s", out);
}

/* ---- traces ----------------------------------------------------------------------------------------------------------- */

Test(blas, a_trace_counts_and_times_each_product)
{
    json_error_t where;
    json_t *answer, *list, *one;
    size_t index;

    shell("$T trace --json -- $P random 12 1");
    answer = json_loads(out, 0, &where);
    cr_assert(answer != NULL, "%s: %s", where.text, out);
    cr_expect_eq(json_integer_value(json_object_get(answer, "processes")), 1);
    list = json_object_get(answer, "products");
    cr_expect_eq(json_array_size(list), 12U);
    json_array_foreach(list, index, one)
    {
        cr_expect_eq(json_integer_value(json_object_get(one, "calls")), 4);
        cr_expect_eq(json_integer_value(json_object_get(one, "timed")), 4);
        cr_expect(json_number_value(json_object_get(one, "cublas_us")) > 0);
        cr_expect(json_number_value(json_object_get(one, "tilejit_us")) > 0);
        cr_expect_str_eq(json_string_value(json_object_get(one, "by")), "model");
        cr_expect(json_object_get(one, "problem") != NULL);
    }
    json_decref(answer);
    cr_expect(strstr(errors, "12 products, 0 taken, 0 wrong") != NULL, "the program's stdout goes to stderr: %s", errors);
}

Test(blas, a_trace_is_a_list_of_shapes_and_a_page)
{
    static char text[OUTPUT_BYTES];

    NEEDS_COMPILER();
    must("$T trace --csv shapes.csv --html page.html -- $P random 3 5", "cuBLAS us");
    cr_expect(strstr(out, "12 products of 3 kinds") != NULL, "%s", out);
    must("$T warm-up --shapes shapes.csv", "3");
    read_text("page.html", text);
    cr_expect(strstr(text, "<meta name=\"viewport\"") != NULL && strstr(text, "prefers-color-scheme:dark") != NULL);
    cr_expect(strstr(text, "http") == NULL && strstr(text, "<script") == NULL, "%s", text);
    cr_expect(strstr(text, "4 calls; cuBLAS ") != NULL && strstr(text, "</html>") != NULL, "%s", text);
    cr_expect(strstr(text, "<h2>Gain, by product</h2>") < strstr(text, "<h2>Products, by time</h2>"), "%s", text);
    must("$T tune --shapes shapes.csv --evaluations 2", "3");
}

Test(blas, a_trace_names_the_kind_of_a_product)
{
    must("$T trace -- $P random 40 1", " symmetric=");
    cr_expect(strstr(out, " conj-") != NULL && strstr(out, " c128 ") != NULL, "%s", out);
}

Test(blas, a_trace_says_which_stacks_call_a_product)
{
    json_error_t where;
    json_t *answer, *product, *stacks;

    must("$T trace --stacks --html page.html -- $P random 1 1", "        4 calls\n            blas_linked+0x");
    must("grep -c '<details>' page.html", "1");
    if (shell("command -v python3") != 0)
        return;
    for (int i = 0; i < 2; i++) {
        shell("$T trace --stacks --json -- python3 %s/tests/blas/program.py %s", TJ_SOURCE_DIR, i ? "locked" : "");
        answer = json_loads(out, 0, &where);
        cr_assert(answer != NULL, "%s: %s%s", where.text, out, errors);
        product = json_array_get(json_object_get(answer, "products"), 0);
        stacks = json_object_get(product, "stacks");
        cr_expect_eq(json_integer_value(json_object_get(product, "calls")), 9);
        cr_expect_eq(json_array_size(stacks), 2U, "%s", out);
        cr_expect_eq(json_integer_value(json_object_get(json_array_get(stacks, 0), "count")), 6);
        cr_expect_eq(json_integer_value(json_object_get(json_array_get(stacks, 1), "count")), 3);
        json_decref(answer);
        cr_expect(strstr(out, "program.py:19 multiply\",\n") != NULL && strstr(out, "program.py:23 first\",\n") != NULL &&
                      strstr(out, "program.py:27 second\",\n") != NULL && strstr(out, "threading.py:") != NULL,
                  "%s", out);
        cr_expect(strstr(out, "_PyEval_EvalFrameDefault") == NULL, "the interpreter's own frames are left out: %s", out);
    }
}

Test(blas, calls_in_a_capture_are_counted_and_not_timed)
{
    cr_expect(shell("$T trace -- $P capture") == 1); /* nothing is taken, as the program expects */
    cr_expect(strstr(out, "of them were captured into graphs") != NULL, "%s", out);
}

Test(blas, products_that_tilejit_cannot_compute_are_listed_with_the_reason)
{
    static const char *const reasons[] = {"alpha is 0",
                                          "is known to be as precise",
                                          "of 2 products: the products of one call differ in size",
                                          "integers or complex numbers with more than alpha",
                                          "attribute 21 of",
                                          "attribute 27 of",
                                          "attribute 29 of"};

    must("$T trace -- $P edges", "an extent is 0");
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        cr_expect(strstr(out, reasons[i]) != NULL, "%s: %s", reasons[i], out);
}
