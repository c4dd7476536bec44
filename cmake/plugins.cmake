# cornu_plugin(NAME SOURCE…): target cornu_NAME, libcornu-NAME.so, a plug-in of src/device/accelerator/plugins.def. Of the
# program's sources it has only what needs no other library; the rest it asks the program for (plugin_side.c).
set_source_files_properties(src/base/plugin.c PROPERTIES
    COMPILE_DEFINITIONS "PLUGIN_LIBRARY_FOLDER=\"${CMAKE_INSTALL_LIBDIR}\"")
file(GLOB accelerator_sources CONFIGURE_DEPENDS src/device/accelerator/*.c)
list(FILTER accelerator_sources EXCLUDE REGEX "/loader\\.c$")
function(cornu_plugin name)
    set(target cornu_${name})
    set(map ${CMAKE_BINARY_DIR}/${name}/plugin.map)
    add_library(${target} MODULE ${ARGN} ${accelerator_sources} src/device/broadcast.c src/device/device.c src/device/matmul.c src/device/select.c src/device/slices.c src/base/memory.c src/base/philox.c
        src/base/env.c src/base/printable.c src/base/threads.c src/step/plan.c src/step/cost.c)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME cornu-${name} C_VISIBILITY_PRESET hidden
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    file(WRITE ${map} "{ global: cornu_${name}_plugin; local: *; };\n")
    target_link_options(${target} PRIVATE -Wl,--version-script=${map})
    target_include_directories(${target} PRIVATE include src)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion)
    target_link_libraries(${target} PRIVATE PkgConfig::JANSSON Threads::Threads ${CMAKE_DL_LIBS} m)
    add_dependencies(cornu_program ${target}) # who builds the program has its devices, too
    if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
        target_link_options(${target} PRIVATE -Wl,-z,defs) # a sanitizer's library comes with the program
    endif()
endfunction()
