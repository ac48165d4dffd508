# SPDX-License-Identifier: Apache-2.0
# A libcuda that executes PTX on the CPU, in rooms of which each sees those below it. It includes and links nothing else of the project.
function(emulator_room name)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/emulator/${name}/*.c)
    add_library(tj_emu_${name} OBJECT ${sources})
    target_include_directories(tj_emu_${name} PUBLIC ${PROJECT_SOURCE_DIR}/emulator/${name} ${PROJECT_SOURCE_DIR}/emulator/include)
    # Results are those of PTX, operation by operation: nothing may be fused or reordered, and rounding modes change.
    target_compile_options(tj_emu_${name} PRIVATE -ffp-contract=off $<$<C_COMPILER_ID:GNU>:-frounding-math>)
    # A debug build's emulator is fast too; Release has a level of its own. With a sanitizer, to optimise takes a fifth of the build's time,
    # and tests are a twentieth faster.
    if(NOT TILEJIT_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
        target_compile_options(tj_emu_${name} PRIVATE -O3)
    endif()
    target_link_libraries(tj_emu_${name} PUBLIC tj_options Threads::Threads ${ARGN} PRIVATE tj_warnings)
endfunction()

emulator_room(ptx)
emulator_room(machine tj_emu_ptx)
emulator_room(operations tj_emu_machine)
emulator_room(driver tj_emu_operations)
set(emulator_objects $<TARGET_OBJECTS:tj_emu_ptx> $<TARGET_OBJECTS:tj_emu_machine> $<TARGET_OBJECTS:tj_emu_operations> $<TARGET_OBJECTS:tj_emu_driver>)
# Hot loops are built for AVX2 and FMA too. A sanitizer's runtime is not ready when the choice is made.
check_c_source_compiles("#include <features.h>
                         #ifndef __GLIBC__
                         #error no indirect functions
                         #endif
                         __attribute__((target_clones(\"arch=x86-64-v3\", \"default\"))) static int zero(void) { return 0; }
                         static int (*volatile call)(void) = zero;
                         int main(void) { return call(); }" TILEJIT_HAS_CLONES)
if(TILEJIT_HAS_CLONES AND NOT TILEJIT_SANITIZE)
    target_compile_definitions(tj_emu_operations PRIVATE EMU_HAS_CLONES)
endif()
set(emulator_map ${PROJECT_SOURCE_DIR}/emulator/exports.map)
add_library(tilejit_emulator SHARED ${emulator_objects})
target_link_libraries(tilejit_emulator PRIVATE tj_options Threads::Threads m ${CMAKE_DL_LIBS})
target_link_options(tilejit_emulator PRIVATE -Wl,--version-script=${emulator_map})
set_target_properties(tilejit_emulator PROPERTIES OUTPUT_NAME cuda_emulator LINKER_LANGUAGE C LINK_DEPENDS ${emulator_map})
