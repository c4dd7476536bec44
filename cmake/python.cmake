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
# In a wheel it holds the library; beside a libcornu.so that is installed it needs no second one.
option(CORNU_PYTHON_SHARED "link the extension with libcornu.so" OFF)
if(CORNU_PYTHON_SHARED)
    target_link_libraries(cornu_python PRIVATE cornu_shared)
else()
    target_link_libraries(cornu_python PRIVATE cornu_static)
endif()
target_link_options(cornu_python PRIVATE -Wl,--exclude-libs,ALL) # it exports its PyInit alone
# Beside it the package's other files, so that build/NAME/python can be imported from, and the program, which
# `python -m cornu` becomes.
add_custom_target(cornu_python_package ALL DEPENDS cornu_python cornu_program
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/python/cornu ${CMAKE_BINARY_DIR}/python/cornu
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/python/cornu/bin
    COMMAND ${CMAKE_COMMAND} -E copy_if_different $<TARGET_FILE:cornu_program> ${CMAKE_BINARY_DIR}/python/cornu/bin/cornu
    VERBATIM)
install(TARGETS cornu_python LIBRARY DESTINATION cornu COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS cornu_program RUNTIME DESTINATION cornu/bin COMPONENT python EXCLUDE_FROM_ALL)
if(CORNU_PYTHON_SHARED)
    set(dist_packages lib/python3/dist-packages)
    install(TARGETS cornu_python LIBRARY DESTINATION ${dist_packages}/cornu COMPONENT python_debian)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/cornu DESTINATION ${dist_packages} COMPONENT python_debian
        PATTERN __pycache__ EXCLUDE)
endif()
