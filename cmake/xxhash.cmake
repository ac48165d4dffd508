# SPDX-License-Identifier: Apache-2.0
# The target tj_xxhash: the header of xxHash, whose functions are compiled in, so that no library of it is linked.
if(TARGET xxHash::xxhash)
    add_library(tj_xxhash INTERFACE)
    target_include_directories(tj_xxhash SYSTEM INTERFACE $<TARGET_PROPERTY:xxHash::xxhash,INTERFACE_INCLUDE_DIRECTORIES>)
else()
    find_path(XXHASH_INCLUDE_DIR xxhash.h)
    mark_as_advanced(XXHASH_INCLUDE_DIR)
    if(XXHASH_INCLUDE_DIR)
        add_library(tj_xxhash INTERFACE)
        target_include_directories(tj_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
    endif()
endif()
