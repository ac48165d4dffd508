# SPDX-License-Identifier: Apache-2.0
# Turn every file of DIR (<family>/*.cu, parts/*.cuh) into a byte array of the C file OUT. Arrays, because C promises string literals of
# only 4 095 characters, and because the templates stay ordinary files for editors.
file(GLOB files RELATIVE ${DIR} ${DIR}/*/*.cu ${DIR}/*/*.cuh)
list(SORT files)
set(arrays "")
set(table "")
set(index 0)
foreach(name IN LISTS files)
    file(READ ${DIR}/${name} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(0x0a,)" "\\1\n    " bytes "${bytes}") # a line of C for each line of the template
    string(APPEND arrays "static const unsigned char file_${index}[] = {\n${bytes}};\n")
    string(APPEND table "    {\"${name}\", file_${index}, sizeof file_${index}},\n")
    math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUT} "/* Made from templates/ by cmake/embed_templates.cmake. */\n#include \"template.h\"\n\n${arrays}\nconst tj_template_file tj_template_files[] = {\n${table}};\nconst size_t tj_template_file_count = ${index};\n")
