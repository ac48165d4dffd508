/* SPDX-License-Identifier: Apache-2.0 */
#include "readers.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(TJ_READER_STRIPES == 64, "a bit for each stripe, and the upper 6 bits of a hash");

tj_readers *tj_readers_create(void)
{
    tj_readers *readers = aligned_alloc(TJ_CACHE_LINE, sizeof *readers);

    if (readers)
        memset(readers, 0, sizeof *readers);
    return readers;
}

void tj_readers_free(tj_readers *readers)
{
    free(readers);
}

bool tj_grace_is_over(tj_readers *readers, tj_grace *grace)
{
    const unsigned phase = atomic_load(&readers->phase) & 1;

    for (int p = 0; p < 2; p++)
        for (int i = 0; i < TJ_READER_STRIPES; i++)
            if (grace->awaited[p] >> i & 1 && atomic_load(&readers->stripe[i].inside[p]) == 0)
                grace->awaited[p] &= ~(UINT64_C(1) << i);
    if (grace->awaited[phase])
        atomic_fetch_add(&readers->phase, 1);
    return !grace->awaited[0] && !grace->awaited[1];
}
