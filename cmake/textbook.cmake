# SPDX-License-Identifier: Apache-2.0
# Pack the textbook's kernels for all shapes of textbook.csv: cmake -D COMMAND=tilejit -D OUTPUT=FILE -D NEEDED=ON|AUTO [-D NVRTC=FILE] -P textbook.cmake
#
# A build without NVRTC has no such pack (AUTO), or ends here (ON). An older NVRTC does not know the newest targets.
if(NVRTC)
    set(ENV{TILEJIT_NVRTC} ${NVRTC})
endif()
get_filename_component(folder ${COMMAND} DIRECTORY)
if(NOT "$ENV{LD_LIBRARY_PATH}" STREQUAL "") # an empty element would be the current folder
    string(APPEND folder ":$ENV{LD_LIBRARY_PATH}")
endif()
set(ENV{LD_LIBRARY_PATH} "${folder}") # the wheel's command looks for its library in the folder where it will be installed
set(lists sm_75,sm_80,sm_86,sm_89,sm_90,sm_100,sm_120 sm_75,sm_80,sm_86,sm_89,sm_90 sm_75,sm_80,sm_86)
foreach(targets IN LISTS lists)
    execute_process(COMMAND ${COMMAND} pack --shapes ${CMAKE_CURRENT_LIST_DIR}/textbook.csv --family tiled --target ${targets}
                            --no-cache --output ${OUTPUT}
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
    if(NOT failed)
        return()
    endif()
endforeach()
if(NEEDED STREQUAL "AUTO")
    file(REMOVE ${OUTPUT})
    message("no textbook.tjpack: ${why}")
else()
    message(FATAL_ERROR "TILEJIT_BUILD_TEXTBOOK is ON, and its kernels cannot be compiled. Make NVRTC known (pip install "
                        "nvidia-cuda-nvrtc, or TILEJIT_NVRTC), or build with TILEJIT_BUILD_TEXTBOOK=OFF: ${why}")
endif()
