# SPDX-License-Identifier: Apache-2.0
# What is installed, and what is made for it: the command with its man page and completions, and how other builds find the library.

# Relative, so that an installation may be moved.
file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
file(RELATIVE_PATH lib_from_prefix ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH include_from_prefix ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})

# What is installed is linked with the RUNPATH that it keeps. CMake would otherwise end that of the build tree in a colon, to have room for
# the change, and to the loader the empty element behind it is the current folder. So the command is linked twice: for either place.
add_executable(tilejit_installed $<TARGET_OBJECTS:tilejit_cli> ${cli_objects})
target_link_libraries(tilejit_installed PRIVATE tilejit tj_options PkgConfig::JANSSON Threads::Threads m)
set_target_properties(tilejit_installed PROPERTIES OUTPUT_NAME tilejit RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/installed
                                                   INSTALL_RPATH "$ORIGIN/${lib_from_bin}" LINKER_LANGUAGE C)
set_target_properties(tilejit cuda_emulator tilejit_installed PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)

# The man page, the completions and --help come from the same tables. The man page lies where man looks for it once the build
# tree is in PATH.
set(man_page ${PROJECT_BINARY_DIR}/man/man1/tilejit.1)
set(completions ${PROJECT_BINARY_DIR}/completions)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man/man1 ${completions})
add_custom_command(
    OUTPUT ${man_page} ${completions}/tilejit ${completions}/_tilejit ${completions}/tilejit.fish
    COMMAND tilejit_cli man > ${man_page}
    COMMAND tilejit_cli completion bash > ${completions}/tilejit
    COMMAND tilejit_cli completion zsh > ${completions}/_tilejit
    COMMAND tilejit_cli completion fish > ${completions}/tilejit.fish
    DEPENDS tilejit_cli
    VERBATIM)
add_custom_target(man ALL DEPENDS ${man_page})

install(TARGETS tilejit EXPORT tilejit-targets)
install(TARGETS tilejit_static EXPORT tilejit-static-targets)
install(TARGETS tilejit_installed)
install(TARGETS cuda_emulator LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilejit)
if(TARGET tilejit_fleet)
    set_target_properties(tilejit_fleet PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS tilejit_fleet LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilejit)
endif()
install(FILES emulator/include/cuda_emulator.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/tilejit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${completions}/tilejit DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completions}/_tilejit DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completions}/tilejit.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY fleet/deploy DESTINATION ${CMAKE_INSTALL_DOCDIR}/fleet)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES bench/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
install(DIRECTORY bench/shapes bench/results DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench) # the data of what docs/ says

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tilejit)
install(EXPORT tilejit-targets NAMESPACE tilejit:: DESTINATION ${package})
install(EXPORT tilejit-static-targets NAMESPACE tilejit:: DESTINATION ${package})
configure_package_config_file(cmake/tilejit-config.cmake.in ${PROJECT_BINARY_DIR}/tilejit-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tilejit-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tilejit-config.cmake ${PROJECT_BINARY_DIR}/tilejit-config-version.cmake DESTINATION ${package})
configure_file(cmake/tilejit.pc.in ${PROJECT_BINARY_DIR}/tilejit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tilejit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
