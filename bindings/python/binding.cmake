# SPDX-License-Identifier: Apache-2.0
# The target tilejit_binding, which is the extension tilejit._binding, for every Python from 3.9 on. Its structures are those of the headers:
# make_binding.py reads them, and the compiler compares them once more. Needs Python's headers, and cffi in Python_EXECUTABLE.
set(binding ${CMAKE_CURRENT_LIST_DIR})
set(binding_source ${PROJECT_BINARY_DIR}/binding.c)
file(GLOB headers CONFIGURE_DEPENDS ${binding}/../../include/tilejit/*.h)
add_custom_command(
    OUTPUT ${binding_source}
    COMMAND ${Python_EXECUTABLE} ${binding}/make_binding.py ${CMAKE_C_COMPILER} ${binding}/../.. ${binding_source}
    DEPENDS ${binding}/make_binding.py ${binding}/binding.h ${headers} ${binding}/../../emulator/include/cuda_emulator.h
    VERBATIM)
add_library(tilejit_binding MODULE ${binding_source} ${binding}/xla.c)
target_include_directories(tilejit_binding PRIVATE ${binding} SYSTEM ${Python_INCLUDE_DIRS})
target_compile_definitions(tilejit_binding PRIVATE Py_LIMITED_API=0x03090000)
target_compile_options(tilejit_binding PRIVATE -fvisibility=hidden -ffile-prefix-map=${PROJECT_BINARY_DIR}=.)
target_link_libraries(tilejit_binding PRIVATE tilejit::tilejit)
set_target_properties(tilejit_binding PROPERTIES PREFIX "" OUTPUT_NAME _binding SUFFIX .abi3.so)
