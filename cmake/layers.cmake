# The table of layers: every row, "const layer_kind layer_NAME", that the files of src/model/layers/ make.
set(declared "")
set(table "")
foreach(file IN LISTS FILES)
    file(STRINGS ${file} rows REGEX "^const layer_kind layer_")
    foreach(row IN LISTS rows)
        string(REGEX REPLACE "^const layer_kind (layer_[A-Za-z0-9]+).*" "\\1" row "${row}")
        string(APPEND declared "extern const layer_kind ${row};\n")
        string(APPEND table "    &${row},\n")
    endforeach()
endforeach()
file(WRITE ${OUTPUT} "/* Made by cmake/layers.cmake from src/model/layers/. */\n#include \"model/model.h\"\n"
    "${declared}const layer_kind *const layer_kinds[] = {\n${table}    0};\n")
