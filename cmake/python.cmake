# The extension of the Python package, on the stable ABI: one file for all CPython from 3.11.
if(NOT CORNU_PYTHON)
    return()
endif()
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
file(GLOB extension_sources CONFIGURE_DEPENDS python/extension/*.c)
add_library(cornu_python MODULE ${extension_sources})
set_target_properties(cornu_python PROPERTIES OUTPUT_NAME _cornu PREFIX "" SUFFIX ".abi3.so"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/cornu C_VISIBILITY_PRESET hidden)
target_compile_options(cornu_python PRIVATE -Wall -Wextra -Wshadow)
target_include_directories(cornu_python PRIVATE include ${Python3_INCLUDE_DIRS})
target_link_libraries(cornu_python PRIVATE cornu_static)
target_link_options(cornu_python PRIVATE -Wl,--exclude-libs,ALL) # it exports its PyInit alone
# Beside it the package's other files, so that build/NAME/python can be imported from.
add_custom_target(cornu_python_package ALL DEPENDS cornu_python
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/python/cornu ${CMAKE_BINARY_DIR}/python/cornu VERBATIM)
install(TARGETS cornu_python LIBRARY DESTINATION cornu COMPONENT python EXCLUDE_FROM_ALL)
