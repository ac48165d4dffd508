/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file: the output file that the user names, or stdout.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "words.h"

static const cli_option own[] = {
    {"output", CLI_TEXT, 0,
     "Write to this file; - is stdout, and the report then goes to stderr. A file is replaced as a whole or not at all.",
     "file", .letter = 'o'},
    {NULL},
};

const cli_group cli_output_group = {"Output", own};

tj_status cli_check_stdout(const cli_call *call, const char *option, const char *path, tj_error *err)
{
    if (!call->is_json || !path || !tj_output_is_stdout(path))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--json and %s %.200s both write to stdout: name another file", option, path);
}

/*
 * If stderr is closed (main has put a placeholder there), nobody sees the report; that is not a failure of the output on
 * stdout.
 */
static bool move_report(void)
{
    const int mode = fcntl(STDERR_FILENO, F_GETFL);
    const int to = mode >= 0 && (mode & O_ACCMODE) == O_RDONLY ? open("/dev/null", O_WRONLY | O_CLOEXEC) : STDERR_FILENO;
    const bool is_moved = fflush(stdout) == 0 && dup2(to, STDOUT_FILENO) >= 0;

    if (to > STDERR_FILENO)
        close(to);
    return is_moved;
}

tj_status cli_open_output(cli_call *call, const char *path, tj_error *err)
{
    tj_status status = path ? tj_output_open(path, &call->file, err) : TJ_OK;

    if (path && status == TJ_OK && call->file.is_stdout && !move_report())
        status = tj_fail(err, TJ_ERR_IO, "cannot tell the report and %s apart: %s", path, strerror(errno));
    return status;
}

void cli_begin_file(const tj_output *out)
{
    if (out->folder >= 0)
        cli_hold_signals();
}

void cli_end_file(const tj_output *out)
{
    if (out->folder >= 0)
        cli_release_signals();
}

tj_status cli_write_output(const tj_output *out, const void *bytes, size_t size, tj_error *err)
{
    const struct iovec piece = {(void *)bytes, size};
    tj_status status;

    cli_begin_file(out);
    status = tj_output_write(out, &piece, 1, err);
    cli_end_file(out);
    return status;
}
