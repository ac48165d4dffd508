/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The format that golden variants are kept in: small diffs as they should be, and those that are refused. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "text_diff.h"

Test(text_diff, is_as_short_as_can_be_and_gives_the_text_back)
{
    static const struct {
        const char *base, *text, *diff;
    } rows[] = {
        {"a\nb\nc\n", "a\nb\nc\n", ""},
        {"a\nb\nc\n", "a\nB\nc\n", "@@\n-b\n+B\n"},
        {"a\nb\nc\n", "a\nc\n", "@@\n-b\n"},
        {"a\nb\nc\n", "0\na\nb\nc\n", "@@\n+0\n"},           /* at the beginning, without an anchor */
        {"a\nb\nc\n", "a\nb\n0\nc\n", "@@\n+0\n c\n"},       /* before the line below it, if that is enough */
        {"c\na\nc\n", "c\na\n0\nc\n", "@@\n a\n+0\n"},       /* else after the line above it */
        {"a\nb\n// c\n", "a\nb\n0\n// c\n", "@@\n b\n+0\n"}, /* code rather than a comment */
        {"a\n\na\n", "a\n\na\n0\n", "@@\n\n a\n+0\n"},       /* an empty line that is kept has no sign */
        {"a\nb\na\nb\n", "a\nb\na\n", "@@\n b\n a\n-b\n"},   /* neither the first b nor the first a */
        {"a\nb\n", "", "@@\n-a\n-b\n"},
        {"", "a\nb\n", "@@\n+a\n+b\n"},
        {"a1\n}\nb1\n", "a2\n}\nb2\n", "@@\n-a1\n-}\n-b1\n+a2\n+}\n+b2\n"}, /* a brace does not part what belongs together */
        {"a\n// b\n  // c\nd\n", "a\nd\n", "@@\n-//...\n"},                 /* a removed comment is not quoted */
        {"// a\nb\n// c\nd\n", "// a\nb\nd\n", "@@\n-//...\n d\n"},         /* nor taken for an earlier one */
        {"a\n// b\n// c\nd\n", "a\n// b\nd\n", "@@\n-// c\n"},              /* unless a part of it is kept */
        {"a\n// b\nc\n// d\ne\n", "a\nC\ne\n", "@@\n-//...\n-c\n-//...\n+C\n"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char fault[128], *diff = text_diff_make(rows[i].base, rows[i].text);
        char *text = text_diff_apply(rows[i].base, diff, fault);

        cr_expect(eq(str, diff, (char *)rows[i].diff), "row %zu", i);
        cr_assert(ne(ptr, text, NULL), "row %zu: %s", i, fault);
        cr_expect(eq(str, text, (char *)rows[i].text), "row %zu", i);
        free(text);
        free(diff);
    }
}

Test(text_diff, refuses_what_does_not_apply)
{
    static const char *const rows[][2] = {
        {"a\n", "line 1 begins with none of \"@@\", ' ', '-' and '+'"},
        {"@@\n-a\n@@ -1 +1 @@\n", "line 3 begins with none of \"@@\", ' ', '-' and '+'"},
        {"@@\n-x\n", "the base has no place for the hunk at line 1"},
        {"@@\n-b\n@@\n-a\n", "the base has no place for the hunk at line 3"}, /* hunks stand in the order of the base */
        {"@@\n a\n-c\n", "the base has no place for the hunk at line 1"},
        {"@@\n-//...\n", "the base has no place for the hunk at line 1"},
        {"-a\n", "line 1 begins with none of \"@@\", ' ', '-' and '+'"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char fault[128];

        cr_expect(eq(ptr, text_diff_apply("a\nb\nc\n", rows[i][0], fault), NULL), "row %zu", i);
        cr_expect(eq(str, fault, (char *)rows[i][1]), "row %zu", i);
    }
}
