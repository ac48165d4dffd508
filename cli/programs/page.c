/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page: the traced products as one HTML file, which fetches nothing and runs no script. A product is a block with two bars, so
 * that the page can be read on a telephone.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

static const char STYLE[] =
    ":root{--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--paper:#ffffff;--theirs:#8a94a0;--ours:#0b6e4f}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b1;--line:#3d444d;--paper:#0d1117;--theirs:#6b7682;"
    "--ours:#4fc99a}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:60rem;background:var(--paper);"
    "color:var(--ink);font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.4rem;margin:.5rem 0}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{max-width:46rem;margin:.4rem 0}\n"
    ".figures{display:flex;flex-wrap:wrap;gap:1rem 2.5rem;margin:1rem 0}.figures b{display:block;font-size:1.5rem}\n"
    ".soft{color:var(--soft)}code{font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}\n"
    "article{border-top:1px solid var(--line);padding:.7rem 0}article p{margin:.15rem 0}\n"
    ".bar{height:.55rem;margin:.2rem 0;border-radius:2px;min-width:2px}.theirs{background:var(--theirs)}"
    ".ours{background:var(--ours)}\n";

static void put_bar(FILE *out, const char *side, double us, double most)
{
    if (us > 0 && most > 0)
        fprintf(out, "<div class=\"bar %s\" style=\"width:%d%%\" title=\"%s\"></div>\n", side, (int)(100 * us / most + 0.5),
                cli_duration(us).text);
}

static void put_product(FILE *out, const traced_product *product, double most)
{
    const double calls = (double)product->calls;
    char name[TJ_PROBLEM_TEXT_BYTES];

    fputs("<article>\n<p><code>", out);
    if (product->is_known)
        tj_problem_print(&product->problem, name);
    cli_html_text(out, product->is_known ? name : product->what);
    fputs("</code></p>\n", out);
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
    fputs("</p>\n</article>\n", out);
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
    fputs("<p>Times are those of the device, of all calls of a product. Grey: cuBLAS, as the program ran. Green: TileJIT, by a "
          "record of a tuning, by a measurement, or by its model.</p>\n<h2>Products, by time</h2>\n",
          out);
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
