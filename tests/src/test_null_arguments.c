/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Every function that the library exports, with each pointer that it needs NULL in turn: an error with a message, or nothing,
 * and never a crash. The list is compared with the library's own, so that a new function without a line here is a failure.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <string.h>

#include <tilejit/tools.h>

/* In place of the pointers that are not NULL: nothing looks at them before all were asked for. */
static max_align_t junk[1024];
static int null_one; /* the number of the pointer that is NULL */
#define ARG(number) ((number) == null_one ? NULL : (void *)junk)

/*
 * The functions. REFUSES: a status, and the names of the pointers. ANSWERS: a value, the one for NULL, the last pointer's number.
 * SURVIVES: nothing to compare.
 */
/* clang-format off */
#define FUNCTIONS(REFUSES, ANSWERS, SURVIVES) \
    REFUSES(tj_choose_plan, (ARG(0), NULL, ARG(1), ARG(2), ARG(3), ARG(4), &err), "context", "problem", "device", "config", "plan") \
    ANSWERS(tj_plan_chosen_by, (ARG(0)), 0, 0) \
    REFUSES(tj_plan_prove, (ARG(0), ARG(1), ARG(2), 1, ARG(3), &err), "context", "plan", "problem", "proof") \
    REFUSES(tj_proof_write_case, (ARG(0), ARG(1), ARG(2), ARG(3), &err), "context", "plan", "proof", "folder") \
    REFUSES(tj_analyze, (ARG(0), ARG(1), NULL, 1, 1, ARG(2), &err), "facts", "problem", "analysis") \
    ANSWERS(tj_buffer_address, (ARG(0)), 0, 0) \
    REFUSES(tj_buffer_create, (ARG(0), 1, ARG(1), &err), "context", "buffer") \
    REFUSES(tj_buffer_create_in, (ARG(0), NULL, 1, ARG(1), &err), "context", "buffer") \
    REFUSES(tj_buffer_fill, (ARG(0), 1, &err), "buffer") \
    SURVIVES(tj_buffer_free, (NULL), 0) \
    REFUSES(tj_buffer_read, (ARG(0), 1, ARG(1), 1, &err), "buffer", "host") \
    REFUSES(tj_buffer_write, (ARG(0), 1, ARG(1), 1, &err), "buffer", "host") \
    REFUSES(tj_choose, (NULL, ARG(0), ARG(1), ARG(2), NULL, &err), "problem", "device", "config") \
    REFUSES(tj_context_choose_config, (ARG(0), ARG(1), ARG(2), ARG(3), NULL, &err), "context", "problem", "device", "config") \
    REFUSES(tj_epilogue_parse, (ARG(0), ARG(1), &err), "text", "epilogue") \
    SURVIVES(tj_epilogue_print, (ARG(0), ARG(1)), 1) \
    ANSWERS(tj_epilogue_pairs, (ARG(0)), 0, 0)         \
    ANSWERS(tj_epilogue_reduces, (ARG(0)), 0, 0)       \
    ANSWERS(tj_epilogue_find, (ARG(0), ARG(1)), -1, 1) \
    REFUSES(tj_epilogue_finish, (ARG(0), 0, ARG(1), &err), "expression", "epilogue") \
    ANSWERS(tj_expression_constant, (ARG(0), 1), -1, 0) \
    ANSWERS(tj_expression_operand, (ARG(0), ARG(1), 0, 0), -1, 1) \
    ANSWERS(tj_expression_output, (ARG(0), ARG(1), 0, 0), -1, 1) \
    ANSWERS(tj_expression_reduction, (ARG(0), ARG(1), TJ_BY_ROW, 0, TJ_REDUCE_SUM, 0), -1, 1) \
    ANSWERS(tj_expression_apply, (ARG(0), TJ_OP_ACC, 0, 0, 0), -1, 0) \
    REFUSES(tj_image_from_bytes, (ARG(0), ARG(1), ARG(2), 1, ARG(3), &err), "source", "target", "bytes", "image") \
    REFUSES(tj_image_to_bytes, (ARG(0), ARG(1), ARG(2), ARG(3), &err), "source", "image", "bytes", "size") \
    REFUSES(tj_pack_add, (ARG(0), ARG(1), NULL, ARG(2), &err), "pack", "problem", "target") \
    REFUSES(tj_pack_create, (ARG(0), NULL, ARG(1), &err), "context", "pack") \
    SURVIVES(tj_pack_free, (NULL), 0) \
    REFUSES(tj_pack_list, (ARG(0), 1, NULL, NULL, &err), "bytes", "visit") \
    REFUSES(tj_pack_print, (ARG(0), ARG(1), ARG(2), &err), "pack", "bytes", "size") \
    REFUSES(tj_pack_set_form, (ARG(0), 0, &err), "pack") \
    REFUSES(tj_pack_unpack, (ARG(0), ARG(1), 1, NULL, &err), "context", "bytes") \
    REFUSES(tj_compile, (ARG(0), ARG(1), ARG(2), ARG(3), &err), "context", "source", "target", "image") \
    REFUSES(tj_custom_evaluate, (ARG(0), ARG(1), ARG(2), ARG(3), &err), "family", "formula", "extent", "value") \
    REFUSES(tj_custom_generate, (ARG(0), ARG(1), ARG(2), &err), "config", "extent", "source") \
    SURVIVES(tj_custom_kernel_free, (NULL), 0) \
    REFUSES(tj_custom_launch, (ARG(0), NULL, ARG(1), NULL, &err), "kernel", "value") \
    REFUSES(tj_custom_load, (ARG(0), ARG(1), NULL, ARG(2), ARG(3), &err), "context", "family", "extent", "kernel") \
    REFUSES(tj_custom_prove, (ARG(0), ARG(1), NULL, ARG(2), 1, ARG(3), &err), "context", "family", "extent", "proof") \
    REFUSES(tj_custom_set_constant, (ARG(0), ARG(1), ARG(2), 0, NULL, &err), "kernel", "name", "source") \
    ANSWERS(tj_custom_source, (ARG(0)), 0, 0) \
    REFUSES(tj_custom_tune, (ARG(0), ARG(1), ARG(2), NULL, ARG(3), &err), "context", "family", "extent", "result") \
    REFUSES(tj_family_create, (ARG(0), ARG(1), &err), "spec", "family") \
    SURVIVES(tj_family_free, (NULL), 0) \
    REFUSES(tj_config_adapt, (ARG(0), ARG(1), ARG(2), &err), "facts", "problem", "config") \
    ANSWERS(tj_config_get, (ARG(0), ARG(1)), 0, 1) \
    REFUSES(tj_config_parse, (ARG(0), ARG(1), &err), "text", "config") \
    SURVIVES(tj_config_print, (ARG(0), ARG(1)), 1) \
    REFUSES(tj_config_resolve, (ARG(0), ARG(1), &err), "problem", "config") \
    REFUSES(tj_config_set, (ARG(0), ARG(1), ARG(2), &err), "config", "name", "value") \
    REFUSES(tj_context_neighbours, (ARG(0), ARG(1), ARG(2), NULL, NULL, &err), "context", "problem", "device") \
    REFUSES(tj_context_create, (NULL, ARG(0), &err), "context") \
    SURVIVES(tj_context_free, (NULL), 0) \
    ANSWERS(tj_context_pack_hits, (ARG(0), 0), 0, 0) \
    ANSWERS(tj_context_pack_name, (ARG(0), 0), 0, 0) \
    SURVIVES(tj_context_get_stats, (ARG(0), ARG(1)), 1) \
    SURVIVES(tj_context_trim, (ARG(0), 0, 0), 0) \
    SURVIVES(tj_convert, ((tj_type)1, ARG(0), (tj_type)1, ARG(1), 1), 1) \
    REFUSES(tj_device_count, (ARG(0), ARG(1), &err), "context", "count") \
    REFUSES(tj_device_current, (ARG(0), ARG(1), &err), "context", "facts") \
    REFUSES(tj_device_get, (ARG(0), 1, ARG(1), &err), "context", "facts") \
    REFUSES(tj_device_memory, (ARG(0), ARG(1), ARG(2), &err), "context", "free_bytes", "total_bytes") \
    REFUSES(tj_device_named, (ARG(0), ARG(1), &err), "target", "facts") \
    ANSWERS(tj_device_to_json, (ARG(0)), 0, 0) \
    REFUSES(tj_doctor, (ARG(0), ARG(1), NULL, &err), "context", "visit") \
    SURVIVES(tj_compute_get_facts, ((tj_compute)1), 0) \
    SURVIVES(tj_compute_name, ((tj_compute)1), 0) \
    REFUSES(tj_compute_parse, (ARG(0), ARG(1), &err), "name", "compute") \
    SURVIVES(tj_type_bytes, ((tj_type)1), 0) \
    SURVIVES(tj_type_count, (), 0) \
    SURVIVES(tj_type_get_facts, ((tj_type)1), 0) \
    SURVIVES(tj_type_name, ((tj_type)1), 0) \
    REFUSES(tj_type_parse, (ARG(0), ARG(1), &err), "name", "type") \
    REFUSES(tj_emulator_get, (ARG(0), ARG(1), &err), "context", "emulator") \
    REFUSES(tj_estimate, (ARG(0), ARG(1), ARG(2), ARG(3), &err), "facts", "problem", "config", "us") \
    SURVIVES(tj_family_at, (1), 0) \
    ANSWERS(tj_family_constraint, (ARG(0), 1), 0, 0) \
    SURVIVES(tj_family_count, (), 0) \
    SURVIVES(tj_family_find, (NULL), 0) \
    ANSWERS(tj_family_name, (ARG(0)), 0, 0) \
    ANSWERS(tj_family_param, (ARG(0), 1), 0, 0) \
    ANSWERS(tj_family_param_count, (ARG(0)), 0, 0) \
    ANSWERS(tj_family_summary, (ARG(0)), 0, 0) \
    SURVIVES(tj_fill_random, ((tj_type)1, ARG(0), 1, 1), 0) \
    REFUSES(tj_find_peaks, (ARG(0), 1, ARG(1), &err), "facts", "peaks") \
    REFUSES(tj_generate, (ARG(0), NULL, ARG(1), &err), "problem", "source") \
    ANSWERS(tj_image_compiler, (ARG(0)), 0, 0) \
    ANSWERS(tj_image_cubin, (ARG(0), NULL), 0, 0) \
    SURVIVES(tj_image_free, (NULL), 0) \
    ANSWERS(tj_image_key, (ARG(0)), 0, 0) \
    ANSWERS(tj_image_log, (ARG(0)), 0, 0) \
    REFUSES(tj_image_obtain, (ARG(0), ARG(1), ARG(2), ARG(3), &err), "context", "source", "target", "image") \
    ANSWERS(tj_image_origin, (ARG(0)), 0, 0) \
    ANSWERS(tj_image_pack, (ARG(0)), 0, 0) \
    ANSWERS(tj_image_ptx, (ARG(0), NULL), 0, 0) \
    SURVIVES(tj_image_resources, (ARG(0)), 0) \
    ANSWERS(tj_image_target, (ARG(0)), 0, 0) \
    SURVIVES(tj_kernel_free, (NULL), 0) \
    REFUSES(tj_kernel_copy_paths, (ARG(0), ARG(1), ARG(2), 1, NULL, &err), "kernel", "workspace", "paths") \
    ANSWERS(tj_kernel_path_count, (ARG(0)), 0, 0) \
    SURVIVES(tj_event_name, (TJ_EVENT_HIT), 0) \
    SURVIVES(tj_path_name, ((tj_path)1), 0) \
    REFUSES(tj_kernel_get_facts, (ARG(0), ARG(1), &err), "kernel", "facts") \
    REFUSES(tj_operands_set, (ARG(0), ARG(1), ARG(2), NULL, &err), "operands", "problem", "name") \
    REFUSES(tj_operands_set_number, (ARG(0), ARG(1), ARG(2), 1.0, &err), "operands", "problem", "name") \
    REFUSES(tj_kernel_launch, (ARG(0), ARG(1), NULL, &err), "kernel", "operands") \
    REFUSES(tj_kernel_load, (ARG(0), ARG(1), ARG(2), ARG(3), &err), "context", "source", "image", "kernel") \
    SURVIVES(tj_limit_name, ((tj_limit)1), 0) \
    REFUSES(tj_matmul, (ARG(0), ARG(1), ARG(2), NULL, &err), "context", "problem", "operands") \
    ANSWERS(tj_param_values, (ARG(0), ARG(1)), 0, 1) \
    ANSWERS(tj_plan_image, (ARG(0)), 0, 0) \
    ANSWERS(tj_plan_kernel, (ARG(0)), 0, 0) \
    SURVIVES(tj_plan_release, (ARG(0)), 0) \
    REFUSES(tj_plan_launch, (ARG(0), ARG(1), NULL, &err), "plan", "operands") \
    REFUSES(tj_plan_prepare, (ARG(0), ARG(1), NULL, ARG(2), &err), "context", "problem", "plan") \
    ANSWERS(tj_plan_source, (ARG(0)), 0, 0) \
    ANSWERS(tj_plan_workspace_bytes, (ARG(0)), 0, 0) \
    SURVIVES(tj_problem_canonical, (ARG(0)), 0) \
    SURVIVES(tj_problem_sum_order, (ARG(0)), 0) \
    REFUSES(tj_problem_check, (ARG(0), &err), "problem") \
    SURVIVES(tj_problem_print, (ARG(0), ARG(1)), 1) \
    ANSWERS(tj_problem_span, (ARG(0), TJ_MATRIX_M), -1, 0) \
    REFUSES(tj_operand_get_shape, (ARG(0), 0, ARG(1), &err), "problem", "shape") \
    REFUSES(tj_groups_check, (ARG(0), 1, ARG(1), &err), "problem", "offsets") \
    SURVIVES(tj_problem_strided, (ARG(0)), 0) \
    SURVIVES(tj_record_free, (NULL), 0) \
    REFUSES(tj_record_get_facts, (ARG(0), ARG(1), &err), "record", "facts") \
    REFUSES(tj_record_parse, (ARG(0), ARG(1), &err), "json", "record") \
    ANSWERS(tj_record_print, (ARG(0)), 0, 0) \
    ANSWERS(tj_record_problem, (ARG(0)), 0, 0) \
    REFUSES(tj_records_add, (ARG(0), NULL, &err), "records") \
    REFUSES(tj_records_add_trials, (ARG(0), ARG(1), &err), "records", "trials") \
    ANSWERS(tj_records_at, (ARG(0), 1), 0, 0) \
    ANSWERS(tj_records_count, (ARG(0)), 0, 0) \
    ANSWERS(tj_records_find, (ARG(0), ARG(1), ARG(2)), 0, 2) \
    SURVIVES(tj_records_free, (NULL), 0) \
    REFUSES(tj_records_keep, (ARG(0), ARG(1), NULL, &err), "context", "records") \
    REFUSES(tj_records_load, (ARG(0), ARG(1), &err), "context", "records") \
    REFUSES(tj_records_load_all, (ARG(0), ARG(1), ARG(2), &err), "context", "records", "passed_over") \
    REFUSES(tj_records_parse, (ARG(0), NULL, NULL, ARG(1), NULL, &err), "text", "records") \
    ANSWERS(tj_problem_to_json, (ARG(0)), 0, 0) \
    REFUSES(tj_problem_from_json, (ARG(0), ARG(1), &err), "json", "problem") \
    SURVIVES(tj_problem_id, (ARG(0), ARG(1)), 1) \
    ANSWERS(tj_problem_choice, (ARG(0), 0), 0, 0) \
    SURVIVES(tj_problem_field, (0), 0) \
    SURVIVES(tj_problem_get, (ARG(0), ARG(1), ARG(2)), 2) \
    REFUSES(tj_problem_set, (ARG(0), ARG(1), ARG(2), &err), "problem", "name", "value") \
    REFUSES(tj_tuning_class_of, (ARG(0), ARG(1), ARG(2), &err), "context", "device", "of") \
    ANSWERS(tj_records_print, (ARG(0), 1), 0, 0) \
    REFUSES(tj_trials_add, (ARG(0), ARG(1), NULL, &err), "trials", "text") \
    ANSWERS(tj_trials_count, (ARG(0)), 0, 0) \
    SURVIVES(tj_trials_device_name, (ARG(0)), 0) \
    SURVIVES(tj_trials_free, (NULL), 0) \
    REFUSES(tj_trials_parse, (ARG(0), ARG(1), &err), "text", "trials") \
    REFUSES(tj_trials_print, (ARG(0), ARG(1), &err), "trials", "text") \
    ANSWERS(tj_trials_problem, (ARG(0), 1, NULL), 0, 0) \
    REFUSES(tj_reference_check, (ARG(0), ARG(1), ARG(2), 1, 1, ARG(3), &err), "problem", "operands", "p", "report") \
    REFUSES(tj_repack, (ARG(0), ARG(1), ARG(2), 16, TJ_ORDER_REPACKED, NULL, &err), "context", "to", "from") \
    REFUSES(tj_repack_host, (ARG(0), ARG(1), 16, TJ_ORDER_REPACKED, &err), "to", "from") \
    REFUSES(tj_reference_product, (ARG(0), ARG(1), ARG(2), 1, &err), "problem", "operands", "p") \
    SURVIVES(tj_roofline, (ARG(0), (tj_pipe)1, 1), 0) \
    REFUSES(tj_search, (ARG(0), NULL, ARG(1), 1, ARG(2), ARG(3), &err), "problem", "first", "measurer", "result") \
    ANSWERS(tj_source_checks_text, (ARG(0)), 0, 0) \
    ANSWERS(tj_source_config, (ARG(0)), 0, 0) \
    SURVIVES(tj_source_free, (NULL), 0) \
    ANSWERS(tj_source_launch, (ARG(0)), 0, 0) \
    ANSWERS(tj_source_problem, (ARG(0)), 0, 0) \
    ANSWERS(tj_source_text, (ARG(0)), 0, 0) \
    REFUSES(tj_space_create, (ARG(0), NULL, NULL, ARG(1), &err), "problem", "space") \
    SURVIVES(tj_space_free, (NULL), 0) \
    ANSWERS(tj_space_next, (ARG(0), ARG(1)), 0, 1) \
    SURVIVES(tj_status_name, ((tj_status)1), 0) \
    SURVIVES(tj_status_text, ((tj_status)1), 0) \
    REFUSES(tj_store_clear, (ARG(0), 1, NULL, &err), "context") \
    REFUSES(tj_store_explain, (ARG(0), ARG(1), ARG(2), ARG(3), ARG(4), ARG(5), NULL, &err), "context", "source", "target", "key", "hit", "visit") \
    REFUSES(tj_store_list, (ARG(0), 1, ARG(1), NULL, &err), "context", "visit") \
    ANSWERS(tj_store_max_bytes, (ARG(0)), 0, 0) \
    ANSWERS(tj_store_path, (ARG(0)), 0, 0) \
    ANSWERS(tj_store_trouble, (ARG(0)), 0, 0) \
    REFUSES(tj_stream_create, (ARG(0), ARG(1), &err), "context", "stream") \
    SURVIVES(tj_stream_destroy, (ARG(0), NULL), 0) \
    REFUSES(tj_synchronize, (ARG(0), NULL, &err), "context") \
    SURVIVES(tj_term_at, (1), 0) \
    REFUSES(tj_target_for, (ARG(0), 1, 1, ARG(1), &err), "context", "target") \
    REFUSES(tj_targets, (ARG(0), ARG(1), &err), "context", "targets") \
    REFUSES(tj_time_launches, (ARG(0), ARG(1), ARG(2), NULL, NULL, ARG(3), &err), "context", "plan", "operands", "microseconds") \
    REFUSES(tj_tune, (ARG(0), ARG(1), NULL, ARG(2), &err), "context", "problem", "result") \
    REFUSES(tj_warm_up, (ARG(0), ARG(1), 1, NULL, NULL, &err), "context", "problems") \
    SURVIVES(tj_version, (), 0) \
    SURVIVES(tj_version_number, (), 0) \
    REFUSES(tj_widest_tile, (ARG(0), 1, 1, ARG(1), &err), "facts", "limits") \
    ANSWERS(tj_workbench_bytes, (ARG(0), TJ_MATRIX_M), 0, 0) \
    REFUSES(tj_workbench_check, (ARG(0), ARG(1), 0, 1, ARG(2), &err), "bench", "p", "report") \
    REFUSES(tj_workbench_create, (ARG(0), ARG(1), NULL, ARG(2), &err), "context", "problem", "bench") \
    REFUSES(tj_workbench_find_damage, (ARG(0), 0, NULL, ARG(1), &err), "bench", "reason") \
    REFUSES(tj_workbench_fit, (ARG(0), 1, &err), "bench") \
    SURVIVES(tj_workbench_free, (NULL), 0) \
    ANSWERS(tj_workbench_operands, (ARG(0)), 0, 0) \
    ANSWERS(tj_workbench_problem, (ARG(0)), 0, 0) \
    REFUSES(tj_workbench_read, (ARG(0), 0, ARG(1), &err), "bench", "p") \
    REFUSES(tj_workbench_read_operand, (ARG(0), 0, 0, ARG(1), &err), "bench", "to") \
    REFUSES(tj_workbench_reset, (ARG(0), &err), "bench")
/* clang-format on */

static void expect_refusal(const char *function, const char *argument, tj_status status, const tj_error *err)
{
    char whole[120];

    snprintf(whole, sizeof whole, "%s was called with %s = NULL: it must not be NULL", function, argument);
    cr_expect(eq(int, status, TJ_ERR_INVALID_ARGUMENT), "%s(%s)", function, argument);
    cr_expect(eq(int, err->status, TJ_ERR_INVALID_ARGUMENT), "%s(%s)", function, argument);
    cr_expect(eq(str, (char *)err->message, whole));
}

static void expect_answer(const char *function, intptr_t given, intptr_t expected)
{
    cr_expect(given == expected, "%s answers %ld where pointer %d is NULL", function, (long)given, null_one);
}

#define CALL_REFUSING(function, arguments, ...)                                                            \
    static const char *const names_##function[] = {__VA_ARGS__};                                           \
    for (null_one = 0; null_one < (int)(sizeof names_##function / sizeof *names_##function); null_one++) { \
        tj_error err = {TJ_OK, ""};                                                                        \
        memset(junk, 0, sizeof junk);                                                                      \
        const tj_status status = function arguments;                                                       \
        expect_refusal(#function, names_##function[null_one], status, &err);                               \
    }
#define CALL_ANSWERING(function, arguments, answer, last) \
    for (null_one = 0; null_one <= (last); null_one++)    \
        expect_answer(#function, (intptr_t)function arguments, answer);
#define CALL_SURVIVING(function, arguments, last)      \
    for (null_one = 0; null_one <= (last); null_one++) \
        (void)function arguments;

Test(null_arguments, are_refused_in_words_by_every_function)
{
    FUNCTIONS(CALL_REFUSING, CALL_ANSWERING, CALL_SURVIVING)
}

#define NAME(function, ...) #function,
/* The last take no pointer. */
static const char *const tested[] = {FUNCTIONS(NAME, NAME, NAME) "tj_records_create", "tj_trials_create"};
enum { TESTED = sizeof tested / sizeof tested[0] };

Test(null_arguments, are_tested_of_every_function_that_the_library_exports)
{
    FILE *list = popen("nm -D --defined-only '" LIBRARY_PATH "'", "r");
    char line[200], kind, name[100];
    size_t exported = 0;

    cr_assert(list != NULL);
    while (fgets(line, sizeof line, list)) {
        size_t i = 0;

        if (sscanf(line, "%*s %c %99[^@\n]", &kind, name) != 2 || kind != 'T')
            continue;
        exported++;
        while (i < TESTED && strcmp(tested[i], name) != 0)
            i++;
        cr_expect(i < TESTED, "%s is exported and has no line here", name);
    }
    cr_expect(eq(int, pclose(list), 0));
    cr_expect(eq(sz, exported, (size_t)TESTED));
}

/* The counterpart of NULL: what may be NULL is taken. */
Test(null_arguments, of_no_elements_may_be)
{
    tj_convert(TJ_F32, NULL, TJ_F16, NULL, 0);
    tj_fill_random(TJ_F32, NULL, 0, 1);
    cr_expect(tj_family_find(NULL) == NULL);
}

/* Reserved fields of each struct that a program fills in. Operands: test_kernel.c. */
Test(reserved_fields, must_be_0)
{
    tj_problem problem = TJ_PROBLEM_INIT(8, 8, 8, TJ_F32);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_error err = {TJ_OK, ""};

    config.reserved = 6;
    cr_expect(eq(int, tj_generate(&problem, &config, &source, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "reserved is 6") != NULL, "%s", err.message);
    problem.scale[TJ_MATRIX_M].k = 7; /* reserved without scales */
    cr_expect(eq(int, tj_generate(&problem, NULL, &source, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "scale_m.type is 0") != NULL, "%s", err.message);
}
