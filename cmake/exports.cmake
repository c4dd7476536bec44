# What libcornu.so exports: the functions that cornu.h declares, and no more, as a linker's version script. Their
# version is the SONAME's, so that libraries of two SONAMEs can be in one process.
file(READ ${CMAKE_SOURCE_DIR}/include/cornu/cornu.h header)
string(REGEX MATCHALL "\nCORNU_API[^;(]*" declarations "${header}")
set(exported)
foreach(declaration IN LISTS declarations)
    string(REGEX MATCH "cornu_[a-z0-9_]+$" name "${declaration}")
    string(APPEND exported "        ${name};\n")
endforeach()
set(exports_map ${CMAKE_BINARY_DIR}/libcornu.map)
file(CONFIGURE OUTPUT ${exports_map} CONTENT
    "CORNU_${CORNU_SOVERSION} {\n    global:\n${exported}    local: *;\n};\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/cornu/cornu.h)
set_target_properties(cornu_shared PROPERTIES LINK_DEPENDS ${exports_map})
target_link_options(cornu_shared PRIVATE -Wl,--version-script=${exports_map})
