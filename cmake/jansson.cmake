# SPDX-License-Identifier: Apache-2.0
# The target jansson::jansson, from the first of these that is there: the project around this one, jansson's own CMake package, or the
# header and the library where CMake or pkg-config find them. It is installed too, for those who link the static library.
if(TARGET jansson AND NOT TARGET jansson::jansson)
    add_library(jansson::jansson ALIAS jansson)
endif()
if(NOT TARGET jansson::jansson)
    find_package(jansson CONFIG QUIET)
endif()
if(NOT TARGET jansson::jansson)
    # pkg-config speaks of the machine that builds, unless it is told another.
    if(NOT CMAKE_CROSSCOMPILING OR DEFINED ENV{PKG_CONFIG_LIBDIR})
        find_package(PkgConfig QUIET)
        if(PkgConfig_FOUND)
            pkg_check_modules(TILEJIT_PC_JANSSON QUIET jansson)
        endif()
    endif()
    find_path(JANSSON_INCLUDE_DIR jansson.h HINTS ${TILEJIT_PC_JANSSON_INCLUDEDIR})
    find_library(JANSSON_LIBRARY jansson HINTS ${TILEJIT_PC_JANSSON_LIBDIR})
    mark_as_advanced(JANSSON_INCLUDE_DIR JANSSON_LIBRARY)
    if(JANSSON_INCLUDE_DIR AND JANSSON_LIBRARY)
        add_library(jansson::jansson UNKNOWN IMPORTED GLOBAL)
        set_target_properties(jansson::jansson PROPERTIES IMPORTED_LOCATION ${JANSSON_LIBRARY}
                                                          INTERFACE_INCLUDE_DIRECTORIES ${JANSSON_INCLUDE_DIR})
    endif()
endif()
