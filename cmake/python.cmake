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
if(CORNU_HAS_CUDA) # what the plug-in is built with: tf.sysconfig.get_build_info
    target_compile_definitions(cornu_python PRIVATE CORNU_BUILT_CUDA="${built_cuda}" CORNU_BUILT_CUDNN="${built_cudnn}")
endif()
# Beside a libcornu.so that is installed it needs no second one; else the package has a library of its own, which is also
# the command line's: the program of `python -m cornu` is then a few lines that call it.
# (In a folder of its own: Python takes every .so beside its modules for one.)
option(CORNU_PYTHON_SHARED "link the extension with libcornu.so" OFF)
if(CORNU_PYTHON_SHARED)
    target_link_libraries(cornu_python PRIVATE cornu_shared)
else()
    set(package_sources ${cli_sources})
    list(FILTER package_sources EXCLUDE REGEX "/program\\.c$")
    add_library(cornu_package SHARED $<TARGET_OBJECTS:cornu_static> ${package_sources})
    set_target_properties(cornu_package PROPERTIES OUTPUT_NAME cornu-python C_VISIBILITY_PRESET hidden
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/cornu/lib)
    target_include_directories(cornu_package INTERFACE include)
    target_compile_options(cornu_package PRIVATE -Wall -Wextra -Wshadow -Wconversion)
    # It shows nothing of static libraries.
    target_link_options(cornu_package PRIVATE -Wl,--exclude-libs,ALL)
    target_link_libraries(cornu_package PRIVATE cornu_static PkgConfig::JANSSON)
    add_executable(cornu_package_program src/cli/program.c)
    set_target_properties(cornu_package_program PROPERTIES OUTPUT_NAME cornu BUILD_WITH_INSTALL_RPATH ON
        INSTALL_RPATH "\$ORIGIN/../lib" RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/cornu/bin)
    target_include_directories(cornu_package_program PRIVATE include src)
    target_link_libraries(cornu_package_program PRIVATE cornu_package)
    set_target_properties(cornu_python PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "\$ORIGIN/lib")
    target_link_libraries(cornu_python PRIVATE cornu_package)
endif()
# It exports its PyInit alone.
target_link_options(cornu_python PRIVATE -Wl,--exclude-libs,ALL)
# Beside it the package's other files, so that build/NAME/python can be imported from.
add_custom_target(cornu_python_package ALL DEPENDS cornu_python
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/python/cornu ${CMAKE_BINARY_DIR}/python/cornu
    VERBATIM)
install(TARGETS cornu_python LIBRARY DESTINATION cornu COMPONENT python EXCLUDE_FROM_ALL)
if(TARGET cornu_package)
    add_dependencies(cornu_python_package cornu_package_program)
    install(TARGETS cornu_package LIBRARY DESTINATION cornu/lib COMPONENT python EXCLUDE_FROM_ALL)
    install(TARGETS cornu_package_program RUNTIME DESTINATION cornu/bin COMPONENT python EXCLUDE_FROM_ALL)
    foreach(plugin IN ITEMS cornu_cuda cornu_opencl cornu_mpi_openmpi cornu_mpi_mpich) # the package's library looks for them beside itself
        if(TARGET ${plugin})
            add_dependencies(cornu_package ${plugin})
            install(TARGETS ${plugin} LIBRARY DESTINATION cornu/lib COMPONENT python EXCLUDE_FROM_ALL)
        endif()
    endforeach()
else()
    set(dist_packages lib/python3/dist-packages)
    install(TARGETS cornu_python LIBRARY DESTINATION ${dist_packages}/cornu COMPONENT python_debian)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/cornu DESTINATION ${dist_packages} COMPONENT python_debian
        PATTERN __pycache__ EXCLUDE)
endif()
