/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvrtc_search: the places where libnvrtc may be. Lists folders; opens no library.
 */
#ifndef TJ_SRC_NVRTC_SEARCH_H
#define TJ_SRC_NVRTC_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tilejit/status.h>

/** The path that asks for a search without the places that variables name. */
#define TJ_NVRTC_SYSTEM "system"

/** Is the library looked for, rather than named? path: as given to tj_nvrtc_open. */
bool tj_nvrtc_is_searched(const char *path);

/** One library to try, or one place without a library. */
typedef struct tj_nvrtc_place {
    char *where;         /* for people: "CUDA_HOME=/opt/cuda" */
    char *library;       /* for dlopen: an absolute path or a soname; NULL: none */
    const char *note;    /* why there is none; static text */
    int major;           /* from the library's name; 0: unknown */
    bool only_if_loaded; /* look only among the libraries loaded in the process */
} tj_nvrtc_place;

typedef struct tj_nvrtc_places {
    tj_nvrtc_place *place;
    size_t count, capacity;
    bool is_out_of_memory;
} tj_nvrtc_places;

/**
 * List every place, in the order in which they are tried:
 *
 *     the given path (and then nothing else)
 *     libraries that the process has loaded            libnvrtc.so.13, .12, .11.2
 *     the loader's path, by the same names             LD_LIBRARY_PATH, ld.so.cache
 *     $CUDA_HOME, $CUDA_PATH                           lib64, lib, targets/x86_64-linux/lib
 *     $VIRTUAL_ENV, $CONDA_PREFIX                      lib; lib/python3x/site-packages/nvidia/{cu13/lib,cuda_nvrtc/lib}
 *     $XDG_DATA_HOME/tilejit (~/.local/share/tilejit)  python (scripts/demo.sh's environment), nvrtc (any of these layouts)
 *     /usr/local/cuda, /usr/local/cuda-*               newest first
 *     /usr/lib/x86_64-linux-gnu
 *
 * Within one folder the newest version comes first. The .alt. variants are never taken. A set-uid program reads no
 * variable. path NULL: search; TJ_NVRTC_SYSTEM: search, and read no variable. Errors: TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_nvrtc_places_list(const char *path, tj_nvrtc_places *places, tj_error *err);
void tj_nvrtc_places_drop(tj_nvrtc_places *places);

/**
 * All that a search depends on: if two stamps are equal, so are the results. files: the files in these places, by name, size
 * and time, with the variables and folders of the loader; loads: the number of libraries that the process has loaded. Zeros:
 * out of memory.
 */
typedef struct tj_nvrtc_stamp {
    uint64_t files, loads;
} tj_nvrtc_stamp;

tj_nvrtc_stamp tj_nvrtc_search_stamp(const char *path);

#endif
