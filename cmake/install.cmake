# SPDX-License-Identifier: Apache-2.0
# The installed files, the means by which other builds find them, and CPack's packages.

# Relative, so that an installation may be moved.
file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
file(RELATIVE_PATH lib_from_prefix ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH include_from_prefix ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(documents ${CMAKE_INSTALL_DOCDIR})
if(NOT PROJECT_IS_TOP_LEVEL) # that folder is the other project's
    set(documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/tilejit)
endif()

# A library is linked with the RUNPATH that it keeps when it is installed.
set_target_properties(${libraries} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
if(TARGET tilejit_fleet)
    set_target_properties(tilejit_fleet PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS tilejit_fleet LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilejit)
endif()
if(TARGET tilejit_blas)
    set_target_properties(tilejit_blas PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS tilejit_blas LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilejit)
endif()
install(DIRECTORY trials DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilejit FILES_MATCHING PATTERN *.tjtrials) # next to the library
install(DIRECTORY include/tilejit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES emulator/include/cuda_emulator.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

if(TILEJIT_BUILD_EMULATOR)
    set_target_properties(cuda_emulator PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS cuda_emulator LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilejit)
endif()

if(TILEJIT_BUILD_COMMAND)
    # CMake would end the RUNPATH of the build tree in a colon, to reserve room for the installed one, and the loader takes the empty
    # element after it for the current folder. So the command is linked twice, once for each place.
    add_executable(tilejit_installed $<TARGET_OBJECTS:tilejit_cli> ${cli_objects})
    target_link_libraries(tilejit_installed PRIVATE tilejit::tilejit tj_options Threads::Threads m)
    set_target_properties(tilejit_installed PROPERTIES OUTPUT_NAME tilejit RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/installed
                                                       INSTALL_RPATH "$ORIGIN/${lib_from_bin}" LINKER_LANGUAGE C
                                                       BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS tilejit_installed)
    if(TILEJIT_BUILD_TEXTBOOK)
        install(FILES ${textbook} DESTINATION ${CMAKE_INSTALL_LIBDIR}/tilejit OPTIONAL)
    endif()
    install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${completions}/tilejit DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${completions}/_tilejit DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${completions}/tilejit.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

install(FILES LICENSE NOTICE README.md CHANGELOG.md DESTINATION ${documents})
install(DIRECTORY fleet/deploy DESTINATION ${documents}/fleet)
install(DIRECTORY docs examples DESTINATION ${documents})
install(FILES bench/README.md DESTINATION ${documents}/bench)
install(DIRECTORY bench/shapes bench/results DESTINATION ${documents}/bench) # the measurements that docs/ cites

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tilejit)
foreach(library IN LISTS libraries)
    install(TARGETS ${library} EXPORT ${library}-targets)
    install(EXPORT ${library}-targets NAMESPACE tilejit:: DESTINATION ${package})
endforeach()
configure_package_config_file(cmake/tilejit-config.cmake.in ${PROJECT_BINARY_DIR}/tilejit-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tilejit-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tilejit-config.cmake ${PROJECT_BINARY_DIR}/tilejit-config-version.cmake DESTINATION ${package})
configure_file(cmake/tilejit.pc.in ${PROJECT_BINARY_DIR}/tilejit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tilejit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# cpack: a .tar.gz that may be unpacked anywhere, and a .deb. The same bytes wherever they are made, if SOURCE_DATE_EPOCH is set.
if(PROJECT_IS_TOP_LEVEL)
    set(CPACK_GENERATOR TGZ DEB)
    set(CPACK_PACKAGE_CONTACT "TileJIT")
    set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "matrix products by CUDA kernels written at run time")
    set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
    set(CPACK_STRIP_FILES ON)
    set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
    set(CPACK_DEBIAN_PACKAGE_SECTION libs)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
    set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libnvrtc13 | libnvrtc12 | nvidia-cuda-toolkit")
    include(CPack)
endif()
