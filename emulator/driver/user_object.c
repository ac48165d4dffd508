/* SPDX-License-Identifier: Apache-2.0 */
/* user_object: things of a program's own that live as long as the graphs which refer to them. */
#include "driver.h"

#include <limits.h>
#include <stdlib.h>

enum { NO_DESTRUCTOR_SYNC = 1, MOVE = 1 };

static void drop(emu_user_object *object, size_t references)
{
    object->references -= references;
    if (object->references)
        return;
    emu_call_unlocked(object->destructor);
    emu_handle_drop(&object->object);
    free(object);
}

/* ---- references of graphs ------------------------------------------------------------------------------------------ */

static emu_hold *find(const emu_holds *holds, const emu_user_object *object)
{
    for (size_t i = 0; i < holds->count; i++)
        if (holds->hold[i].object == object)
            return &holds->hold[i];
    return NULL;
}

/* References that exist already. false: out of memory. */
static bool add(emu_holds *holds, emu_user_object *object, size_t references)
{
    emu_hold *known = find(holds, object), *larger;

    if (known) {
        known->references += references;
        return true;
    }
    larger = realloc(holds->hold, (holds->count + 1) * sizeof *larger);
    if (!larger)
        return false;
    holds->hold = larger;
    holds->hold[holds->count++] = (emu_hold){object, references};
    return true;
}

bool emu_holds_copy(emu_holds *to, const emu_holds *from)
{
    for (size_t i = 0; i < from->count; i++) {
        if (!add(to, from->hold[i].object, 1))
            return false;
        from->hold[i].object->references++;
    }
    return true;
}

void emu_holds_drop(emu_holds *holds)
{
    for (size_t i = 0; i < holds->count; i++)
        drop(holds->hold[i].object, holds->hold[i].references);
    free(holds->hold);
    *holds = (emu_holds){NULL, 0};
}

/* ---- functions ----------------------------------------------------------------------------------------------------- */

CUresult EMU_EXPORT cuUserObjectCreate(CUuserObject *object, void *data, CUhostFn destroy, unsigned references, unsigned flags)
{
    const CUresult result = emu_enter_driver();
    emu_user_object *made;
    emu_callback *destructor;

    if (result != CUDA_SUCCESS)
        return result;
    if (!object || !destroy || !references || references > INT_MAX || flags != NO_DESTRUCTOR_SYNC)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    made = calloc(1, sizeof *made);
    destructor = calloc(1, sizeof *destructor);
    if (!made || !destructor || !emu_handle_new(&made->object, O_USER_OBJECT)) {
        free(made);
        free(destructor);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *destructor = (emu_callback){destroy, data, NULL};
    made->destructor = destructor;
    made->references = references;
    *object = made->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuUserObjectRetain(CUuserObject object, unsigned count)
{
    CUresult result;
    emu_user_object *known = emu_enter_object(O_USER_OBJECT, object, &result);

    if (!known)
        return result;
    if (!count || count > INT_MAX)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    known->references += count;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuUserObjectRelease(CUuserObject object, unsigned count)
{
    CUresult result;
    emu_user_object *known = emu_enter_object(O_USER_OBJECT, object, &result);

    if (!known)
        return result;
    if (!count || count > known->references)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    drop(known, count);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags)
{
    CUresult result;
    emu_graph *known = emu_enter_object(O_GRAPH, graph, &result);
    emu_user_object *held;

    if (!known)
        return result;
    held = emu_handle_get(O_USER_OBJECT, object);
    if (!held || !count || count > INT_MAX || (flags & ~(unsigned)MOVE) || (flags & MOVE && count > held->references))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (!add(&known->holds, held, count))
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    if (!(flags & MOVE))
        held->references += count;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count)
{
    CUresult result;
    emu_graph *known = emu_enter_object(O_GRAPH, graph, &result);
    emu_user_object *object_held;
    emu_hold *hold;

    if (!known)
        return result;
    object_held = emu_handle_get(O_USER_OBJECT, object);
    hold = object_held ? find(&known->holds, object_held) : NULL;
    if (!hold || !count || count > hold->references)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    hold->references -= count;
    if (!hold->references)
        *hold = known->holds.hold[--known->holds.count];
    drop(object_held, count);
    return emu_leave(CUDA_SUCCESS);
}
