/* SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

tj_status cli_write_array(const tj_output *out, const tj_npy *array, tj_error *err)
{
    tj_status status;

    cli_begin_file(out);
    status = tj_npy_write(out, array, err);
    cli_end_file(out);
    return status;
}
