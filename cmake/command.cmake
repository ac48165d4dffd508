# SPDX-License-Identifier: Apache-2.0
# The command, and the man page and completions, which are generated from its tables.

# Rooms that see those below them, the public headers, and base/ for files, JSON, numbers and errors.
function(cli_room name)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/${name}/*.c)
    add_library(tj_cli_${name} OBJECT ${sources})
    target_include_directories(tj_cli_${name} PUBLIC cli/${name} base)
    target_link_libraries(tj_cli_${name} PUBLIC tj_public tj_options Threads::Threads ${ARGN} PRIVATE tj_warnings)
endfunction()

cli_room(words)
cli_room(product tj_cli_words)
cli_room(bench tj_cli_product ${CMAKE_DL_LIBS})
cli_room(tune tj_cli_product)
cli_room(pack tj_cli_product)
cli_room(programs tj_cli_product)
cli_room(look tj_cli_programs)
cli_room(fleet tj_cli_tune)
target_include_directories(tj_cli_fleet PRIVATE ${PROJECT_SOURCE_DIR}/fleet/interface)
set(cli_objects $<TARGET_OBJECTS:tj_cli_words> $<TARGET_OBJECTS:tj_cli_product> $<TARGET_OBJECTS:tj_cli_look> $<TARGET_OBJECTS:tj_cli_bench> $<TARGET_OBJECTS:tj_cli_tune> $<TARGET_OBJECTS:tj_cli_pack>
    $<TARGET_OBJECTS:tj_cli_programs> $<TARGET_OBJECTS:tj_cli_fleet>)
add_executable(tilejit_cli cli/main.c base/component.c base/executable.c base/error.c base/fs.c base/input.c base/json.c base/nearest.c base/output.c base/printable.c base/text.c ${cli_objects})
target_include_directories(tilejit_cli PRIVATE cli/words cli/product cli/look base)
target_link_libraries(tilejit_cli PRIVATE tilejit::tilejit tj_options tj_warnings Threads::Threads m ${CMAKE_DL_LIBS})
set_target_properties(tilejit_cli PROPERTIES OUTPUT_NAME tilejit)

# The man page, the completions and --help come from the same tables, so a tilejit that runs on this machine prints them: the one being
# built, under CMAKE_CROSSCOMPILING_EMULATOR if that is set, or else, for another processor, a second one built for this machine.
set(TILEJIT_HOST_COMMAND "" CACHE FILEPATH "If you cross-compile: a tilejit of the same version that runs here. Default: it is built")
set(printer tilejit_cli)
set(printer_needs tilejit_cli)
if(CMAKE_CROSSCOMPILING AND TILEJIT_HOST_COMMAND)
    execute_process(COMMAND ${TILEJIT_HOST_COMMAND} --version OUTPUT_VARIABLE printed)
    string(STRIP "${printed}" printed)
    if(NOT printed MATCHES "(^| )${PROJECT_VERSION}$")
        message(FATAL_ERROR "TILEJIT_HOST_COMMAND is ${TILEJIT_HOST_COMMAND}, which says that it is \"${printed}\": "
                            "name a tilejit ${PROJECT_VERSION} that runs on this machine")
    endif()
    set(printer ${TILEJIT_HOST_COMMAND})
elseif(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    set(host ${PROJECT_BINARY_DIR}/host)
    set(printer ${host}/tilejit)
    set(forget --unset=CC --unset=CFLAGS --unset=LDFLAGS --unset=CMAKE_TOOLCHAIN_FILE --unset=PKG_CONFIG_LIBDIR --unset=PKG_CONFIG_SYSROOT_DIR)
    add_custom_command(
        OUTPUT ${printer}
        COMMAND ${CMAKE_COMMAND} -E env ${forget} ${CMAKE_COMMAND} -G ${CMAKE_GENERATOR} -S ${PROJECT_SOURCE_DIR} -B ${host}
                -DBUILD_SHARED_LIBS=OFF -DTILEJIT_BUILD_EMULATOR=OFF -DTILEJIT_INSTALL=OFF -DTILEJIT_BUILD_TESTS=OFF -DTILEJIT_BUILD_GPU_TESTS=OFF
        COMMAND ${CMAKE_COMMAND} --build ${host} --target tilejit_cli
        DEPENDS tilejit_cli
        COMMENT "Building a tilejit for this machine, which prints the man page"
        VERBATIM)
    set(printer_needs ${printer})
endif()

# The man page lies where man looks for it once the build tree is in PATH.
set(man_page ${PROJECT_BINARY_DIR}/man/man1/tilejit.1)
set(completions ${PROJECT_BINARY_DIR}/completions)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man/man1 ${completions})
add_custom_command(
    OUTPUT ${man_page} ${completions}/tilejit ${completions}/_tilejit ${completions}/tilejit.fish
    COMMAND ${printer} man > ${man_page}
    COMMAND ${printer} completion bash > ${completions}/tilejit
    COMMAND ${printer} completion zsh > ${completions}/_tilejit
    COMMAND ${printer} completion fish > ${completions}/tilejit.fish
    DEPENDS ${printer_needs}
    VERBATIM)
add_custom_target(tilejit_texts ALL DEPENDS ${man_page})

# The kernels that a quick first call launches (docs/first-call.md), for the targets that this machine's NVRTC knows.
if(TILEJIT_BUILD_TEXTBOOK)
    set(textbook ${PROJECT_BINARY_DIR}/textbook.tjpack)
    add_custom_command(
        OUTPUT ${textbook}.stamp
        COMMAND ${CMAKE_COMMAND} -D COMMAND=$<IF:$<STREQUAL:${printer},tilejit_cli>,$<TARGET_FILE:tilejit_cli>,${printer}> -D OUTPUT=${textbook}
                -D NEEDED=${TILEJIT_BUILD_TEXTBOOK} -D NVRTC=${TILEJIT_TEXTBOOK_NVRTC} -P ${PROJECT_SOURCE_DIR}/cmake/textbook.cmake
        COMMAND ${CMAKE_COMMAND} -E touch ${textbook}.stamp
        DEPENDS ${printer_needs} ${PROJECT_SOURCE_DIR}/cmake/textbook.cmake ${PROJECT_SOURCE_DIR}/cmake/textbook.csv
        COMMENT "Compiling the textbook's kernels for all shapes"
        VERBATIM)
    add_custom_target(tilejit_textbook ALL DEPENDS ${textbook}.stamp)
endif()
