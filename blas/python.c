/* SPDX-License-Identifier: Apache-2.0 */
#include "python.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "loader.h"

enum { MOST_FRAMES = 16 };

/* They are in Python's stable interface; PyFrame_GetBack is not, but every Python since 3.9 has it. Objects are pointers. */
/* clang-format off */
#define FUNCTIONS(X)                                                                    \
    X(int, Py_IsInitialized, (void))                                                    \
    X(void *, PyGILState_GetThisThreadState, (void))                                    \
    X(int, PyGILState_Ensure, (void))                                                   \
    X(void, PyGILState_Release, (int state))                                            \
    X(void *, PyEval_GetFrame, (void))                                                  \
    X(void *, PyFrame_GetBack, (void *frame))                                           \
    X(void *, PyFrame_GetCode, (void *frame))                                           \
    X(int, PyFrame_GetLineNumber, (void *frame))                                        \
    X(void *, PyObject_GetAttrString, (void *object, const char *name))                 \
    X(const char *, PyUnicode_AsUTF8AndSize, (void *text, long *size))                  \
    X(void, PyErr_Fetch, (void **type, void **value, void **traceback))                 \
    X(void, PyErr_Restore, (void *type, void *value, void *traceback))                  \
    X(void, Py_IncRef, (void *object))                                                  \
    X(void, Py_DecRef, (void *object))
/* clang-format on */

typedef struct python {
#define MEMBER(type, name, parameters) type(*name) parameters;
    FUNCTIONS(MEMBER)
#undef MEMBER
    int (*is_finalizing)(void); /* NULL: this Python does not say */
} python;

static struct {
    python calls;
    atomic_bool is_found;
} self;

/* An interpreter that the program links is global; that of a program which opens libpython need not be. */
static int look_at_object(struct dl_phdr_info *object, size_t bytes, void *payload)
{
    const char *slash = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;

    (void)bytes;
    if (!slash || strncmp(slash, "/libpython", 10) != 0)
        return 0;
    *(const char **)payload = object->dlpi_name;
    return 1;
}

/* false: there is none. */
static bool find_home(void **home)
{
    const char *path = NULL;

    *home = RTLD_DEFAULT; /* which is NULL */
    if (blas_dlsym()(RTLD_DEFAULT, "PyGILState_Ensure"))
        return true;
    (void)dl_iterate_phdr(look_at_object, &path);
    return path && (*home = dlopen(path, RTLD_LAZY | RTLD_NOLOAD));
}

static void find(void *home, const char *name, void *function)
{
    void *symbol = blas_dlsym()(home, name);

    memcpy(function, &symbol, sizeof symbol);
}

/* NULL: there is none, yet. Several threads may find the same. */
static const python *find_python(void)
{
    python found;
    void *home;

    if (atomic_load_explicit(&self.is_found, memory_order_acquire))
        return &self.calls;
    if (!find_home(&home))
        return NULL;
#define FIND(type, name, parameters) \
    find(home, #name, &found.name);  \
    if (!found.name)                 \
        return NULL;
    FUNCTIONS(FIND)
#undef FIND
    find(home, "Py_IsFinalizing", &found.is_finalizing); /* 3.13 */
    if (!found.is_finalizing)
        find(home, "_Py_IsFinalizing", &found.is_finalizing);
    self.calls = found;
    atomic_store_explicit(&self.is_found, true, memory_order_release);
    return &self.calls;
}

const void *blas_python_base(void)
{
    const python *py = find_python();
    Dl_info home;
    void *place;

    if (!py)
        return NULL;
    memcpy(&place, &py->PyGILState_Ensure, sizeof place);
    return dladdr(place, &home) ? home.dli_fbase : NULL;
}

/* A text member of a code object, copied. */
static void read_text(const python *py, void *code, const char *name, char *to, size_t bytes)
{
    void *text = py->PyObject_GetAttrString(code, name);
    const char *utf8 = text ? py->PyUnicode_AsUTF8AndSize(text, NULL) : NULL;

    (void)snprintf(to, bytes, "%s", utf8 ? utf8 : "?");
    if (text)
        py->Py_DecRef(text);
}

static size_t print_frame(const python *py, void *frame, char *text, size_t bytes)
{
    void *code = py->PyFrame_GetCode(frame);
    char file[512], name[128];
    int length;

    read_text(py, code, "co_filename", file, sizeof file);
    read_text(py, code, "co_name", name, sizeof name);
    py->Py_DecRef(code);
    length = snprintf(text, bytes, "%s:%d %s\n", file, py->PyFrame_GetLineNumber(frame), name);
    if (length > 0 && (size_t)length < bytes)
        return (size_t)length;
    text[0] = '\0';
    return 0;
}

void blas_python_stack(char *text, size_t bytes)
{
    const python *py = find_python();
    void *frame, *error[3];
    size_t used = 0;
    int lock;

    text[0] = '\0';
    if (!py || !py->Py_IsInitialized() || (py->is_finalizing && py->is_finalizing()) || !py->PyGILState_GetThisThreadState())
        return;
    lock = py->PyGILState_Ensure();
    py->PyErr_Fetch(&error[0], &error[1], &error[2]); /* of the call that the program is in */
    frame = py->PyEval_GetFrame();
    if (frame)
        py->Py_IncRef(frame);
    for (int i = 0; frame; i++) {
        const size_t length = i < MOST_FRAMES ? print_frame(py, frame, text + used, bytes - used) : 0;
        void *caller = length > 0 ? py->PyFrame_GetBack(frame) : NULL;

        used += length;
        py->Py_DecRef(frame);
        frame = caller;
    }
    py->PyErr_Restore(error[0], error[1], error[2]);
    py->PyGILState_Release(lock);
}
