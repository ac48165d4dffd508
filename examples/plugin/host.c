/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: opens two plug-ins at once, closes one and opens it again, and forks; each multiplies as if it were alone.
 *
 * usage: host PLUGIN_A PLUGIN_B [DRIVER [NVRTC]]
 * Exit code: 0 done, 1 anything else.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin.h"

typedef struct plugin {
    void *library;
    gemm_open_fn *open;
    gemm_multiply_fn *multiply;
    gemm_close_fn *close;
} plugin;

static char **given; /* driver and NVRTC */

static void must(const char *what, const char *wrong)
{
    if (!wrong)
        return;
    fprintf(stderr, "host: %s: %s\n", what, wrong);
    exit(1);
}

static void *find(void *library, const char *name)
{
    void *function = dlsym(library, name);

    must(name, function ? NULL : "is not there");
    return function;
}

/* RTLD_GLOBAL: were TileJIT's functions exported, the second plug-in would call those of the first. */
static plugin load(const char *path)
{
    plugin p = {.library = dlopen(path, RTLD_NOW | RTLD_GLOBAL)};
    void *function[3];

    must(path, p.library ? NULL : dlerror());
    function[0] = find(p.library, "gemm_open"), function[1] = find(p.library, "gemm_multiply"),
    function[2] = find(p.library, "gemm_close");
    memcpy(&p.open, &function[0], sizeof p.open);
    memcpy(&p.multiply, &function[1], sizeof p.multiply);
    memcpy(&p.close, &function[2], sizeof p.close);
    must("opening", p.open(given[0], given[1]));
    return p;
}

static void unload(plugin *p)
{
    p->close(); /* frees the context: no thread and no callback of the library is left */
    must("closing", dlclose(p->library) == 0 ? NULL : dlerror());
}

/* A child that was forked before the first use of CUDA works; one that was forked after it is refused, and harms nobody. */
static void multiply_in_child(const char *path, int is_late, plugin *late)
{
    const pid_t child = fork();
    int status;

    if (child == 0) {
        const char *wrong;

        if (is_late) {
            wrong = late->multiply();
            _exit(wrong && strstr(wrong, "fork") ? 0 : 1);
        }
        plugin p = load(path);
        must("in the child", p.multiply());
        unload(&p);
        _exit(0);
    }
    must("child", waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "failed");
}

int main(int argc, char **argv)
{
    char *none[] = {NULL, NULL};

    if (argc < 3) {
        fprintf(stderr, "usage: host PLUGIN_A PLUGIN_B [DRIVER [NVRTC]]\n");
        return 1;
    }
    if (argc > 3)
        none[0] = argv[3];
    if (argc > 4 && argv[4][0])
        none[1] = argv[4];
    given = none;
    multiply_in_child(argv[1], 0, NULL);

    plugin a = load(argv[1]), b = load(argv[2]);

    must("a", a.multiply());
    must("b", b.multiply());
    multiply_in_child(argv[1], 1, &a);
    must("a after the fork", a.multiply());
    unload(&a);
    must("b without a", b.multiply());
    a = load(argv[1]);
    must("a again", a.multiply());
    unload(&b);
    unload(&a);
    puts("two plug-ins, closed and opened again, with forks between");
    return 0;
}
