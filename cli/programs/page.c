/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page: the traced products as one HTML file, which fetches nothing and runs no script. A product is a block with two bars, so
 * that the page can be read on a telephone.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

enum { GAINS = 12 };

static const char STYLE[] =
    ":root{--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--paper:#ffffff;--theirs:#8a94a0;--ours:#0b6e4f}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b1;--line:#3d444d;--paper:#0d1117;--theirs:#6b7682;"
    "--ours:#4fc99a}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:60rem;background:var(--paper);"
    "color:var(--ink);font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.4rem;margin:.5rem 0}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{max-width:46rem;margin:.4rem 0}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:1rem 2rem;margin:1.2rem 0}"
    ".figures b{display:block;font-size:1.5rem}\n"
    ".soft{color:var(--soft)}code{font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}\n"
    "article{border-top:1px solid var(--line);padding:.7rem 0}article p{margin:.15rem 0}\n"
    ".bar{height:.55rem;margin:.2rem 0;border-radius:2px;min-width:2px}.theirs{background:var(--theirs)}"
    ".ours{background:var(--ours)}\n"
    ".key{display:inline-block;width:.8rem;height:.55rem;border-radius:2px;margin:0 .3rem 0 0}\n"
    "details{margin:.3rem 0;color:var(--soft)}summary{cursor:pointer}pre{margin:.4rem 0;white-space:pre-wrap;"
    "overflow-wrap:anywhere;font:12px/1.5 ui-monospace,monospace}\n";

static void put_bar(FILE *out, const char *side, double us, double most)
{
    if (us > 0 && most > 0)
        fprintf(out, "<div class=\"bar %s\" style=\"width:%d%%\" title=\"%s\"></div>\n", side, (int)(100 * us / most + 0.5),
                cli_duration(us).text);
}

static void put_name(FILE *out, const traced_product *product)
{
    char name[TJ_PROBLEM_TEXT_BYTES];

    if (product->is_known)
        tj_problem_print(&product->problem, name);
    fputs("<p><code>", out);
    cli_html_text(out, product->is_known ? name : product->what);
    fputs("</code></p>\n", out);
}

static void put_lines(FILE *out, const char *lines)
{
    char line[1024];

    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1) {
        (void)snprintf(line, sizeof line, "%.*s", (int)(end - lines), lines);
        cli_html_text(out, line);
        fputc('\n', out);
    }
}

static void put_stacks(FILE *out, const traced_product *product)
{
    const traced_stack *top[TRACED_STACKS];
    const size_t count = traced_stacks_top(product, top);

    if (count == 0)
        return;
    fputs("<details><summary>called from</summary>\n", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "<pre>%" PRId64 " calls\n", top[i]->count);
        put_lines(out, top[i]->python);
        put_lines(out, top[i]->c);
        fputs("</pre>\n", out);
    }
    fputs("</details>\n", out);
}

static void put_product(FILE *out, const traced_product *product, double most)
{
    const double calls = (double)product->calls;

    fputs("<article>\n", out);
    put_name(out, product);
    put_bar(out, "theirs", calls * product->us, most);
    put_bar(out, "ours", calls * product->ours_us, most);
    fprintf(out, "<p class=\"soft\">%" PRId64 " calls; cuBLAS %s", product->calls,
            product->us > 0 ? cli_duration(product->us).text : "not timed");
    if (product->ours_us > 0)
        fprintf(out, "; TileJIT %s by %s", cli_duration(product->ours_us).text, traced_by_word(product->by));
    if (product->ours_us > 0 && product->us > 0)
        fprintf(out, "; <b>%.2f times</b>", product->us / product->ours_us);
    if (!product->is_known) {
        fputs("; stays with cuBLAS: ", out);
        cli_html_text(out, product->why);
    }
    fputs("</p>\n", out);
    put_stacks(out, product);
    fputs("</article>\n", out);
}

static double gain(const traced_product *product)
{
    return traced_cublas_us(product) - traced_best_us(product);
}

static int by_gain(const void *a, const void *b)
{
    const double x = gain(*(const traced_product *const *)a), y = gain(*(const traced_product *const *)b);

    return (x < y) - (x > y);
}

/* The products that TileJIT would make faster, by the time that this saves. */
static void put_gains(FILE *out, const traced *all)
{
    const traced_product **item = malloc((all->count ? all->count : 1) * sizeof(void *));
    double rest = 0;
    size_t count = 0;

    for (size_t i = 0; item && i < all->count; i++)
        if (gain(&all->item[i]) > 0)
            item[count++] = &all->item[i];
    fputs("<h2>Gain, by product</h2>\n", out);
    if (count > 0)
        qsort(item, count, sizeof(void *), by_gain);
    else
        fputs("<p>TileJIT is not expected to be faster at any of them.</p>\n", out);
    for (size_t i = 0; i < count; i++) {
        if (i >= GAINS) {
            rest += gain(item[i]);
            continue;
        }
        fputs("<article>\n", out);
        put_name(out, item[i]);
        put_bar(out, "ours", gain(item[i]), gain(item[0]));
        fprintf(out, "<p class=\"soft\"><b>%s</b> of %s, %.2f times</p>\n</article>\n", cli_duration(gain(item[i])).text,
                cli_duration(traced_cublas_us(item[i])).text, item[i]->us / item[i]->ours_us);
    }
    if (rest > 0)
        fprintf(out, "<article><p class=\"soft\">%zu products more: <b>%s</b></p></article>\n", count - GAINS,
                cli_duration(rest).text);
    free(item);
}

static void put_page(FILE *out, const traced *all, const char *device)
{
    double cublas = 0, best = 0, most = 0;

    for (size_t i = 0; i < all->count; i++) {
        const traced_product *one = &all->item[i];

        cublas += traced_cublas_us(one);
        best += traced_best_us(one);
        most = traced_cublas_us(one) > most ? traced_cublas_us(one) : most;
        most = (double)one->calls * one->ours_us > most ? (double)one->calls * one->ours_us : most;
    }
    fprintf(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"><title>tilejit trace</title>\n<style>\n%s</style></head><body>\n<h1>",
        STYLE);
    cli_html_text(out, *all->program ? all->program : "no product");
    fputs(": its matrix products</h1>\n<p class=\"soft\">", out);
    cli_html_text(out, device);
    fprintf(out,
            "</p>\n<div class=\"figures\"><div><b>%s</b>by cuBLAS</div><div><b>%s</b>with TileJIT where it is faster</div>"
            "<div><b>%.2f</b>times as fast</div><div><b>%.1f s</b>the whole run</div></div>\n",
            cli_duration(cublas).text, cli_duration(best).text, cli_ratio(cublas, best), all->seconds);
    fputs(
        "<p>Times are those of the device, of all calls of a product. <span class=\"key theirs\"></span>cuBLAS, as the program "
        "ran. <span class=\"key ours\"></span>TileJIT, by a record of a tuning, by a measurement, or by its model.</p>\n",
        out);
    put_gains(out, all);
    fputs("<h2>Products, by time</h2>\n", out);
    for (size_t i = 0; i < all->count; i++)
        put_product(out, &all->item[i], most);
    fputs("</body></html>\n", out);
}

tj_status traced_page(const tj_output *to, const traced *all, const char *device, tj_error *err)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);

    if (out)
        put_page(out, all, device);
    if (!out || fclose(out) != 0)
        (void)tj_fail_memory(err, "the page");
    else
        (void)cli_write_output(to, bytes, size, err);
    free(bytes);
    return err->status;
}
