# SPDX-License-Identifier: Apache-2.0
# In which tier a test runs. Its own file says so, on lines below the licence (# in a script):
#
#     /* tier: quick */
#     /* tier: change; sanitizers: nightly (its numbers are tested plain); cost: 50 */
#     /* tier: nightly; run: emulator/products_2 300 2 small; timeout: 1800 */
#
# A file may have several lines, each of which is a test.
#
#     tier        quick     ctest --preset quick
#                 change    .ci/run, with the quick ones
#                 nightly   scripts/nightly.sh, with all others
#     sanitizers  the tier in builds with a sanitizer, and in parentheses why it differs; "never": not there; "only": there alone
#     run         the name and the arguments of the test; without it the file's name, and none
#     labels      further labels, apart by spaces
#     env         environment variables, apart by commas; @NAME@ is a variable of CMake
#     timeout     in seconds; in a nightly build, which has more cases, six times as long
#     cost        ctest begins with the tests of the highest cost, so that none runs alone at the end
#
# IS_NIGHTLY, 0 or 1 in all programs of tests, says whether a loop has the cases that take too long for a change; UNDER_SANITIZER is alike.
#
# A line that cannot be read, or a file without one, is an error of the configuration.
set(tiers quick change nightly)
set(TILEJIT_TIER change CACHE STRING "The longest tier of which tests are built: quick, change or nightly")
set_property(CACHE TILEJIT_TIER PROPERTY STRINGS ${tiers})
if(NOT TILEJIT_TIER IN_LIST tiers)
    message(FATAL_ERROR "TILEJIT_TIER is \"${TILEJIT_TIER}\": say quick, change or nightly")
endif()

# tj_read_tests(SOURCE NAME): set `tests` to the names of the tests of a file that this build has, and for each NAME_arguments, NAME_labels
# (with its tier), NAME_env, NAME_timeout and NAME_cost. NAME is the test's name where a line gives none.
function(tj_read_tests source name)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(STRINGS ${source} lines REGEX "^(/\\*|#) tier:")
    if(NOT lines)
        message(FATAL_ERROR "${source} does not say its tier: add a line such as /* tier: quick */ (tests/tiers.cmake)")
    endif()
    set(tests)
    foreach(line IN LISTS lines)
        foreach(key tier sanitizers run labels env timeout cost)
            set(${key})
        endforeach()
        string(REGEX REPLACE "^(/\\*|#) | *\\*/$" "" fields "${line}")
        foreach(field IN LISTS fields)
            string(STRIP "${field}" field)
            if(NOT field MATCHES "^(tier|sanitizers|run|labels|env|timeout|cost): *([^ ].*)$")
                message(FATAL_ERROR "${source}: \"${field}\" is not a field of a test (tests/tiers.cmake): ${line}")
            endif()
            set(${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
        endforeach()
        if(NOT tier IN_LIST tiers)
            message(FATAL_ERROR "${source}: the tier is \"${tier}\": say quick, change or nightly")
        endif()
        if(sanitizers AND NOT sanitizers MATCHES "^(only|(quick|change|nightly|never) [(].+[)])$")
            message(FATAL_ERROR "${source}: sanitizers is \"${sanitizers}\": say only, or a tier or never with (the reason)")
        endif()
        if(TILEJIT_SANITIZE AND sanitizers)
            string(REGEX REPLACE " .*" "" when "${sanitizers}")
            string(REPLACE only ${tier} tier "${when}")
        elseif(sanitizers STREQUAL only)
            continue()
        endif()
        list(FIND tiers ${tier} rank)
        list(FIND tiers ${TILEJIT_TIER} last)
        if(rank LESS 0 OR rank GREATER last)
            continue()
        endif()
        separate_arguments(words UNIX_COMMAND "${run}")
        list(LENGTH words count)
        set(test ${name})
        if(count GREATER 0)
            list(POP_FRONT words test)
        endif()
        separate_arguments(labels UNIX_COMMAND "${labels}")
        string(CONFIGURE "${env}" env @ONLY)
        string(REGEX REPLACE ", *" ";" env "${env}")
        list(APPEND tests ${test})
        set(${test}_arguments ${words} PARENT_SCOPE)
        set(${test}_labels ${labels} ${tier} PARENT_SCOPE)
        set(${test}_env ${env} PARENT_SCOPE)
        set(${test}_timeout ${timeout} PARENT_SCOPE)
        set(${test}_cost ${cost} PARENT_SCOPE)
    endforeach()
    set(tests ${tests} PARENT_SCOPE)
endfunction()

# tj_add_test(NAME [TIMEOUT SECONDS] COMMAND ... [LABELS ...] [ENVIRONMENT ...]): add a test of the file that was read last. What its line says
# is added to the command, the labels and the environment.
function(tj_add_test test)
    cmake_parse_arguments(PARSE_ARGV 1 its "" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT")
    add_test(NAME ${test} COMMAND ${its_COMMAND} ${${test}_arguments})
    set_property(TEST ${test} PROPERTY LABELS ${its_LABELS} ${${test}_labels})
    set_property(TEST ${test} PROPERTY ENVIRONMENT TILEJIT_TRIALS=off ${its_ENVIRONMENT} ${${test}_env}) # choices by the model alone
    if(${test}_timeout)
        set(its_TIMEOUT ${${test}_timeout})
    endif()
    if(its_TIMEOUT AND TILEJIT_TIER STREQUAL nightly)
        math(EXPR its_TIMEOUT "6 * ${its_TIMEOUT}")
    endif()
    if(its_TIMEOUT)
        set_property(TEST ${test} PROPERTY TIMEOUT ${its_TIMEOUT})
    endif()
    if(${test}_cost)
        set_property(TEST ${test} PROPERTY COST ${${test}_cost})
    endif()
endfunction()

# tj_script_test(NAME LABEL SCRIPT [ARGUMENT ...]): a script that is a test, with the tier that it says. A script that says SKIPPED was.
function(tj_script_test name label script)
    tj_read_tests(${script} ${name})
    foreach(test IN LISTS tests)
        tj_add_test(${test} COMMAND ${script} ${ARGN} LABELS ${label})
        set_property(TEST ${test} PROPERTY SKIP_REGULAR_EXPRESSION "SKIPPED, not tested")
    endforeach()
endfunction()
