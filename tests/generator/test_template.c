/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The template engine: each directive, and each way to get one wrong.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>

#include "template.h"

static const tj_template_file own[] = {
    {"test.cu", (const unsigned char *)"", 0},
    {"m.cuh", (const unsigned char *)"load(M, ld_m);\n#include \"deep.cuh\"  //@ with q for k\n", 53},
    {"deep.cuh", (const unsigned char *)"M_k[m0] += m;  //@ only m_k\n", 28}};

/* is_own: of an application, with the files above; otherwise of the library. */
static tj_status fill(const char *template, bool is_own, char **out, tj_error *err)
{
    tj_template_file file[sizeof own / sizeof own[0]];
    tj_template_params params = {0};
    tj_text text = TJ_TEXT_INIT(4096), list = TJ_TEXT_INIT(64);
    tj_status status, taken;

    tj_template_set_flag(&params, "yes", true);
    tj_template_set_flag(&params, "no", false);
    tj_template_set_int(&params, "width", 16);
    tj_template_set_int(&params, "WIDTH", 16);
    tj_template_set(&params, "none_t", "");
    tj_template_set(&params, "file", "parts/s4x2.cuh");
    tj_template_set(&params, "no_file", "");
    tj_template_set(&params, "n_q", "1");
    tj_template_set(&params, "m_q", "");
    tj_template_set(&params, "tiled", "tiled_f32");
    tj_text_append(&list, "a,\n#if b\nc)\n");
    tj_template_take_lines(&params, "list", &list);
    memcpy(file, own, sizeof own);
    file[0].bytes = (const unsigned char *)template;
    file[0].size = strlen(template);
    status = is_own ? tj_template_fill_own(file, sizeof file / sizeof file[0], &params, &text, err)
                    : tj_template_fill_text("test.cu", template, strlen(template), &params, &text, err);
    tj_template_drop(&params);
    taken = tj_text_take(&text, out, err);
    return status != TJ_OK ? status : taken;
}

Test(template, fills_each_directive)
{
    static const struct {
        const char *template, *want;
        bool is_own;
    } rows[] = {
        {"plain\n", "plain\n"},
        {"no newline", "no newline\n"},
        {"constexpr int T = 99;  //@ width\n", "constexpr int T = 16;\n"},
        {"const int x = 4;    // why  //@ width\n", "const int x = 16;    // why\n"},
        {"void name(int a,  //@ tiled for name\n", "void tiled_f32(int a,\n"},
        {"//@ if yes\na\n//@ end\n", "a\n"},
        {"//@ if no\na\n//@ end\nb\n", "b\n"},
        {"//@ if no\na\n//@ else\nb\n//@ end\n", "b\n"},
        {"//@ if no\na\n//@ elif yes\nb\n//@ elif yes\nc\n//@ else\nd\n//@ end\n", "b\n"},
        {"//@ if yes\na\n//@ elif yes\nb\n//@ else\nc\n//@ end\n", "a\n"},
        {"  //@ if not no\na\n  //@ end\n", "a\n"},
        {"//@ if yes and no\na\n//@ end\n//@ if yes or no\nb\n//@ end\n", "b\n"},
        {"//@ if no and no or yes\na\n//@ end\n", "a\n"},
        {"//@ if yes and not no and width\na\n//@ end\n", "a\n"},
        {"//@ if yes\n//@ if no\na\n//@ else\nb\n//@ end\nc\n//@ end\n", "b\nc\n"},
        {"//@ if no\n//@ if yes\na\n//@ else\nb\n//@ end\n//@ end\nc\n", "c\n"},
        {"//@ if no\nint x = 1;  //@ unknown\n//@ end\n", ""},
        {"//@ if no\na\n//@ else\n//@| b\n//@ end\n", "b\n"},
        {"//@ if yes\na\n//@ else\n//@| b\n//@ end\n", "a\n"},
        {"    //@|     int x = 1;  //@ width\n", "        int x = 16;\n"},
        {"//@|\nb\n", "\nb\n"},
        {"a\n\n//@ if no\nb\n//@ end\n\nc\n", "a\n\nc\n"},
        {"//@ if no\n#include \"parts/none.cuh\"\n//@ end\n", ""},
        {"//@ if unset\na\n//@ elif not unset and yes\nb\n//@ end\n", "b\n"},
        {"// ab\n// a  //@ once\nb\n  // a  //@ once\nc // a  //@ once\n", "// ab\n// a\nb\nc // a\n"},
        {"//@ lines unset\n", ""},
        {"  //@ lines list\n", "  a,\n#if b\n  c)\n"},
        {"  //@ instead list\n  d)\n  //@ end\n", "  a,\n#if b\n  c)\n"},
        {"//@ instead unset\nd)\n//@ end\n", "d)\n"},
        {"//@ if no\n//@ instead list\nd)\n//@ end\n//@ end\n", ""},
        {"f(  //@ only no\n  //@ instead list\n  d)\n  //@ end\n);\ne\n", "e\n"},
        {"a;  //@ only yes\nb;  //@ only no\nc;  // why  //@ only unset or width\n", "a;\nc;  // why\n"},
        {"  //@| a;  //@ only yes\n//@| b;  //@ only no\n", "  a;\n"},
        {"// a  //@ only no\n#pragma unroll  //@ only no\nint b,  //@ only no\nint c)  //@ only no\nd\n", "d\n"},
        {"if (a)  //@ only no\n    b;  // ;\nif (c)  //@ only yes\n    d;\n", "if (c)\n    d;\n"},
        {"for (;;) {  //@ only no\n    a;\n}\nb;\n", "b;\n"},
        {"if (a) {  //@ only no\n    b(\"}\\\"\", '}');\n} else {\n    // }\n    c;\n}\nd;\n", "d;\n"},
        {"template <int N>  //@ only no\nint f(int a,\n      int b)\n{\n    return a;\n}\nd;\n", "d;\n"},
        {"f(a,  //@ only no\n  //@ if yes\n  b);\n  //@ else\n  //@| (c);\n  //@ end\nd;\n", "d;\n"},
        {"//@| for (;;) {  //@ only no\n//@|     a;\n//@| }\n//@| b;\n", "b;\n"},
        {"constexpr int WIDTH = 8, WM = 4;\n", "constexpr int WIDTH = 8, WM = 4;\n"},
        {"int x = a || b;  //@ yes || no  //@ only yes\n", "int x = a;\n"},
        {"int x = a || b;  //@ unknown || no  //@ only no\n", ""},
        {"template <bool B, typename t>  //@ no,\n", "template <typename t>\n"},
        {"template <bool B, int I, int J>  //@ , yes, no\n", "template <bool B, int I>\n"},
        {"constexpr int WIDTH = 4;  // why\nconstexpr int HEIGHT = WIDTH;\n",
         "constexpr int WIDTH = 16;  // why\nconstexpr int HEIGHT = WIDTH;\n"},
        {"    using none_t = int;  // none\n    constexpr bool IS_WIDTH = 1, WIDTH = 2;\n",
         "    constexpr bool IS_WIDTH = 1, WIDTH = 2;\n"},
        {"const int WIDTH = 4;\n", "const int WIDTH = 4;\n"},
        {"extern \"C\" __global__ void __launch_bounds__(8)\ntiled(\n    int tiled)\ntiled();\n",
         "extern \"C\" __global__ void __launch_bounds__(8)\ntiled_f32(\n    int tiled)\ntiled();\n"},
        {"extern \"C\" __global__ void tiled(int a)\n", "extern \"C\" __global__ void tiled_f32(int a)\n"},
        {"extern \"C\" __global__ void other(int a)\ntiled();\n", "extern \"C\" __global__ void other(int a)\ntiled();\n"},
        {"a\n#include \"parts/half.cuh\"  //@ no_file\nb\n", "a\nb\n"},
        {"#include \"parts/half.cuh\"  //@ only unset\nb\n", "b\n"},
        {"    #include \"m.cuh\"\n", "    load(M, ld_m);\n", true},
        {"if (a && b)  //@ yes && yes\n", "if (a && b)\n"},
        {"if (a && b)  //@ yes && no\n", "if (a)\n"},
        {"while (x <= a || b == y || c)  //@ no || yes and width || yes\n", "while (b == y || c)\n"},
        {"f(x, a && (b || c));  //@ yes && yes\n", "f(x, a && (b || c));\n"},
        {"f(x, a && (b || c));  //@ no && yes\n", "f(x, b || c);\n"},
        {"x += a[i && j] && f(b, c) ? d : e;  //@ no && yes\n", "x += a[j] && f(b, c) ? d : e;\n"},
        {"x = a >= b && f(c, {d}) ? g(h) : 0;  // why  //@ no && no\n", "x = g(h);  // why\n"},
        {"    if (a && b) {  //@ no && no\n", "    {\n"},
        {"return f(a, b, c);  //@ , no, yes\n", "return f(a, c);\n"},
        {"    //@| [&](t &a, bool b, int c) {  //@ , yes,\n", "    [&](t &a, bool b, int c) {\n"},
        {"//@ if no\nif (a && b)  //@ yes && unknown\n//@ end\n", ""},
        {"if (mark && k_end < k)  //@ yes && yes  //@ width for k\n", "if (mark && k_end < 16)\n"},
        {"for (i = 0; i < n; ++i)  //@ tiled for n  //@ width for 0\n", "for (i = 16; i < tiled_f32; ++i)\n"},
        {"  #include \"m.cuh\"  //@ with n for m, N for M\n", "  load(N, ld_n);\n  N_q[m0] += n;\n", true},
        {"  #include \"parts/dependents.cuh\"\n",
         "  // The next kernel may get ready from here on, where the device can do that; it waits for what this one stores.\n"
         "#if __CUDA_ARCH__ >= 900\n"
         "  asm volatile(\"griddepcontrol.launch_dependents;\");\n"
         "#endif\n\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_error err = {0};
        char *out = NULL;
        cr_expect(eq(int, fill(rows[i].template, rows[i].is_own, &out, &err), TJ_OK), "row %zu: %s", i, err.message);
        if (out)
            cr_expect(eq(str, out, (char *)rows[i].want), "row %zu", i);
        free(out);
    }
}

/* In name and value, m and M that are words, or pieces of words between underscores, become n and N; other letters stay. */
Test(template, sets_a_parameter_of_n_with_its_letters)
{
    tj_template_params params = {0};

    tj_template_set_of(&params, true, "m_from", "&M[m_line * ld_m] + m0");
    tj_template_set_of(&params, false, "m_from", "&M[m_line * ld_m] + m0");
    tj_template_set_of(&params, false, "M_PITCH", "M_LINE + Mds + mm_m");
    cr_expect(eq(str, params.param[0].name, "m_from"));
    cr_expect(eq(str, params.param[0].value, "&M[m_line * ld_m] + m0"));
    cr_expect(eq(str, params.param[1].name, "n_from"));
    cr_expect(eq(str, params.param[1].value, "&N[n_line * ld_n] + m0"));
    cr_expect(eq(str, params.param[2].name, "N_PITCH"));
    cr_expect(eq(str, params.param[2].value, "N_LINE + Mds + mm_n"));
}

Test(template, names_file_line_and_fault)
{
    static const struct {
        const char *template, *place, *fault;
        bool is_own;
    } rows[] = {
        {"a\n//@ if yes\nb\n", "test.cu:2:1", "no //@ end: \"//@ if yes\""},
        {"    //@ if yes\n        //@ if no\n    //@ end\n", "test.cu:1:5", "no //@ end"},
        {"//@ end\n", "test.cu:1", "no //@ if"},
        {"//@ else\n", "test.cu:1", "no //@ if"},
        {"//@ if yes\n//@ else\n//@ else\n//@ end\n", "test.cu:3", "already"},
        {"//@ if maybe\n//@ end\n", "test.cu:1", "no parameter", true},
        {"a;  //@ only maybe\n", "test.cu:1:14", "no parameter", true},
        {"//@ lines maybe\n", "test.cu:1", "no such lines", true},
        {"a;  //@ only\n", "test.cu:1", "expected a condition"},
        {"a\nf(b,  //@ only no\n  c\n", "test.cu:2", "does not end"},
        {"#include \"m.cuh\"  //@ with n\n", "test.cu:1", "WORD for WORD"},
        {"#include \"m.cuh\"  //@ with ld_n for ld_m\n", "test.cu:1", "WORD for WORD"},
        {"#include \"m.cuh\"  //@ with n for m N for M\n", "test.cu:1", "\",\" between words"},
        {"#include \"m.cuh\"  //@ with a for b, a for b, a for b, a for b, a for b, a for b, a for b, a for b, a for b\n",
         "test.cu:1", "too many words"},
        {"int x = m;  //@ with n for m\n", "test.cu:1", "for an #include"},
        {"#include \"parts/half.cuh\"  //@ maybe\n", "test.cu:1", "no such parameter"},
        {"//@ if yes yes\n//@ end\n", "test.cu:1", "expected"},
        {"//@ again 3\n", "test.cu:1", "unknown directive"},
        {"#include \"parts/none.cuh\"\n", "test.cu:1", "no such part"},
        {"//@ if yes\n//@ else or else\n//@ end\n", "test.cu:2", "nothing may follow"},
        {"//@ if yes\n//@ end yes\n", "test.cu:2", "nothing may follow"},
        {"//@| //@ if yes\n", "test.cu:1", "covered"},
        {"//@\n", "test.cu:1", "unknown directive"},
        {"//@ repeat\n//@ end\n", "test.cu:1", "a parameter that is a number"},
        {"//@ repeat kernel\n//@ end\n", "test.cu:1", "a parameter that is a number"},
        {"//@ repeat width\n//@ else\n//@ end\n", "test.cu:2", "no //@ if is open"},
        {"//@ instead list\nx\n", "test.cu:1", "this block has no //@ end"},
        {"//@ instead list\n//@ else\n//@ end\n", "test.cu:2", "already"},
        {"//@ repeat width\nx\n", "test.cu:1", "this block has no //@ end"},
        {"//@ if\n//@ end\n", "test.cu:1", "expected a condition"},
        {"//@ if not\n//@ end\n", "test.cu:1", "expected a condition"},
        {"//@ if yes and\n//@ end\n", "test.cu:1", "expected a condition"},
        {"int x = 1;  //@ unknown\n", "test.cu:1", "no such parameter"},
        {"int x;  //@ width\n", "test.cu:1", "= value;"},
        {"f(  //@ tiled for g\n", "test.cu:1", "not on this line"},
        {"fg(g_);  //@ tiled for g\n", "test.cu:1", "not on this line"},
        {"f(  //@ tiled for\n", "test.cu:1", "not on this line"},
        {"f(a);  //@ unknown  //@ tiled for a\n", "test.cu:1", "no such parameter"},
        {"if (a && b)  //@ yes && yes && yes\n", "test.cu:1", "a condition for each term"},
        {"if (a && b && c)  //@ yes && yes\n", "test.cu:1", "a condition for each term"},
        {"if (a || b)  //@ yes && no\n", "test.cu:1", "joined in this way"},
        {"if (a && b)  //@ no && no\n", "test.cu:1", "no term is left"},
        {"x = a && b ? c;  //@ no && no\n", "test.cu:1", "no term is left"},
        {"x = a && b ? c : d  //@ no && no\n", "test.cu:1", "do not end on this line"},
        {"if (a && b)  //@ yes && maybe\n", "test.cu:1", "no parameter", true},
        {"if (a && b)  //@ yes && no no\n", "test.cu:1", "expected \"and\""},
        {"f(a, b, c, d, e, f, g, h, i, j, k);  //@ , , , , , , , , , ,\n", "test.cu:1", "too many terms"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_error err = {0};
        char *out = NULL;
        cr_expect(ne(int, fill(rows[i].template, rows[i].is_own, &out, &err), TJ_OK), "row %zu", i);
        cr_expect(ne(ptr, strstr(err.message, rows[i].place), NULL), "row %zu: %s", i, err.message);
        cr_expect(ne(ptr, strstr(err.message, rows[i].fault), NULL), "row %zu: %s", i, err.message);
        free(out);
    }
}

Test(template, refuses_depth_and_width_beyond_its_bounds)
{
    char deep[17 * 12 + 1] = "", wide[600];
    char *out = NULL;
    tj_error err = {0};

    for (int i = 0; i < 17; i++)
        strcat(deep, "//@ if yes\n");
    cr_expect(eq(int, fill(deep, false, &out, &err), TJ_ERR_INTERNAL));
    cr_expect(ne(ptr, strstr(err.message, "test.cu:17"), NULL), "%s", err.message);
    free(out);
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    cr_expect(eq(int, fill(wide, false, &out, &err), TJ_ERR_INTERNAL));
    cr_expect(ne(ptr, strstr(err.message, "line too long"), NULL), "%s", err.message);
    free(out);
}

Test(template, names_a_template_that_is_not_built_in)
{
    tj_template_params params = {0};
    tj_text text = TJ_TEXT_INIT(4096);
    tj_error err = {0};

    cr_expect(eq(int, tj_template_fill("none.cu", &params, &text, &err), TJ_ERR_INTERNAL));
    cr_expect(ne(ptr, strstr(err.message, "none.cu"), NULL), "%s", err.message);
    tj_text_drop(&text);
}

Test(template, reports_lines_that_could_not_be_printed)
{
    tj_template_params params = {0};
    tj_text text = TJ_TEXT_INIT(4096), list = TJ_TEXT_INIT(4);
    tj_error err = {0};

    tj_text_append(&list, "too long\n");
    tj_template_take_lines(&params, "list", &list);
    cr_expect(ne(int, tj_template_fill_text("test.cu", "a\n", 2, &params, &text, &err), TJ_OK));
    cr_expect(ne(ptr, strstr(err.message, "test.cu: its parameters, or the lines"), NULL), "%s", err.message);
    tj_text_drop(&text);
    tj_template_drop(&params);
}

/* One that is lost would make a condition false, and the text another one. */
Test(template, reports_parameters_that_have_no_room)
{
    char too_long[TJ_TEMPLATE_VALUE_BYTES + 1] = "";
    tj_template_params params = {0};
    tj_text text = TJ_TEXT_INIT(4096);
    tj_error err = {0};

    for (int i = 0; i < TJ_TEMPLATE_MAX_PARAMS; i++)
        tj_template_set_int(&params, "width", i);
    cr_expect(eq(int, tj_template_fill_text("test.cu", "a\n", 2, &params, &text, &err), TJ_OK), "%s", err.message);
    tj_template_set_flag(&params, "one_more", true);
    cr_expect(eq(int, tj_template_fill_text("test.cu", "a\n", 2, &params, &text, &err), TJ_ERR_INTERNAL));
    cr_expect(ne(ptr, strstr(err.message, "parameters"), NULL), "%s", err.message);
    params = (tj_template_params){0};
    memset(too_long, '1', TJ_TEMPLATE_VALUE_BYTES);
    tj_template_set(&params, "width", too_long);
    cr_expect(eq(int, tj_template_fill_text("test.cu", "a\n", 2, &params, &text, &err), TJ_ERR_INTERNAL));
    tj_text_drop(&text);
}
