# libcornu-cuda.so, the plug-in of the cuda devices: built where the CUDA toolkit and cuDNN's headers are.
# NVIDIA's libraries are opened at run time; nothing is linked against them.
option(CORNU_CUDA "build the CUDA plug-in where the toolkit is found" ON)
set(CORNU_CUDA_ARCHITECTURES "" CACHE STRING
    "compute capabilities of the kernels, \"80;90\" or \"80;90a\"; empty: all that the toolkit knows")
if(NOT CORNU_CUDA)
    message(STATUS "CORNU_CUDA is off: the CUDA plug-in and the tests on cuda:0 are left out")
    return()
endif()

find_program(CUDA_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin /opt/cuda/bin)
if(CUDA_NVCC)
    get_filename_component(cuda_nvcc_file ${CUDA_NVCC} REALPATH)
    get_filename_component(cuda_root ${cuda_nvcc_file} DIRECTORY)
    get_filename_component(cuda_root ${cuda_root} DIRECTORY)
endif()
find_path(CUDA_INCLUDE_DIR cuda.h HINTS ${cuda_root}/include)
find_path(CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${cuda_root}/include)
find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${cuda_root}/include $ENV{CUDNN_HOME}/include)
find_program(CUDA_HOST_COMPILER NAMES g++ c++) # nvcc's preprocessor
set(cuda_missing)
foreach(part IN ITEMS CUDA_NVCC:nvcc CUDA_INCLUDE_DIR:cuda.h CUBLASLT_INCLUDE_DIR:cublasLt.h
        CUDNN_INCLUDE_DIR:cudnn.h CUDA_HOST_COMPILER:g++)
    string(REPLACE ":" ";" part ${part})
    list(GET part 0 variable)
    list(GET part 1 name)
    if(NOT ${variable})
        list(APPEND cuda_missing ${name})
    endif()
endforeach()
if(cuda_missing)
    string(REPLACE ";" ", " cuda_missing "${cuda_missing}")
    message(STATUS "no CUDA toolkit (${cuda_missing} not found): the CUDA plug-in and the tests on cuda:0 are left out")
    return()
endif()
set(CORNU_HAS_CUDA ON)
file(STRINGS ${CUDA_INCLUDE_DIR}/cuda.h built_cuda REGEX "^#define CUDA_VERSION ")
string(REGEX REPLACE "[^0-9]" "" built_cuda "${built_cuda}")
math(EXPR cuda_major "${built_cuda} / 1000")
math(EXPR cuda_minor "${built_cuda} % 1000 / 10")
set(built_cuda ${cuda_major}.${cuda_minor})
set(built_cudnn) # cudnn.h includes cudnn_version.h since cuDNN 8
foreach(part IN ITEMS MAJOR MINOR PATCHLEVEL)
    file(GLOB cudnn_headers ${CUDNN_INCLUDE_DIR}/cudnn.h ${CUDNN_INCLUDE_DIR}/cudnn_version.h)
    foreach(header IN LISTS cudnn_headers)
        file(STRINGS ${header} line REGEX "^#define CUDNN_${part} ")
        if(line MATCHES "([0-9]+) *$")
            list(APPEND built_cudnn ${CMAKE_MATCH_1})
            break()
        endif()
    endforeach()
endforeach()
string(REPLACE ";" "." built_cudnn "${built_cudnn}")

set(cuda_architectures ${CORNU_CUDA_ARCHITECTURES})
if(NOT cuda_architectures AND CMAKE_C_FLAGS MATCHES "-fsanitize")
    set(cuda_architectures 90) # tests alone use such a build; all architectures take minutes
endif()
if(NOT cuda_architectures)
    execute_process(COMMAND ${CUDA_NVCC} --list-gpu-arch OUTPUT_VARIABLE cuda_architectures)
    string(REGEX MATCHALL "[0-9]+" cuda_architectures "${cuda_architectures}")
endif()
# Code for each, and PTX of the lowest: the driver compiles it for GPUs that are newer than the toolkit. Code of "90a"
# runs on 9.0 alone, and its PTX would, too: PTX is that of the plain 90.
set(cuda_code)
set(cuda_numbers)
foreach(architecture IN LISTS cuda_architectures)
    if(NOT architecture MATCHES "^([0-9]+)a?$")
        message(FATAL_ERROR "CORNU_CUDA_ARCHITECTURES: found \"${architecture}\"; expected numbers, such as \"80;90\" or "
            "\"80;90a\"")
    endif()
    list(APPEND cuda_numbers ${CMAKE_MATCH_1})
    list(APPEND cuda_code -gencode arch=compute_${architecture},code=sm_${architecture})
endforeach()
list(SORT cuda_numbers COMPARE NATURAL)
list(GET cuda_numbers 0 number)
list(APPEND cuda_code -gencode arch=compute_${number},code=compute_${number})
string(REPLACE ";" "," cuda_numbers "${cuda_numbers}")
execute_process(COMMAND ${CUDA_NVCC} --version OUTPUT_VARIABLE cuda_version)
if(cuda_version MATCHES "release ([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 13)
    list(APPEND cuda_code -compress-mode=size) # a fifth; every driver that such a toolkit asks for reads it
endif()
set(cuda_fatbin ${CMAKE_BINARY_DIR}/cuda/kernels.fatbin)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
file(GLOB cuda_kernels CONFIGURE_DEPENDS src/device/cuda/plugin/kernels/* src/device/rules/* src/model/*.def src/model/kinds.h src/model/drawing.h)
# As with the plain C of the cpu device, sums keep their order; a product and a sum may become one.
set(cuda_compile ${CUDA_NVCC} -fatbin ${cuda_code} --threads 0 -std=c++17 -O3 -Wno-deprecated-gpu-targets
    -Werror all-warnings -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_SOURCE_DIR}/include
    -o ${cuda_fatbin} ${CMAKE_SOURCE_DIR}/src/device/cuda/plugin/kernels/kernels.cu)
# ./check compiles them once for its builds, which are for one architecture.
if(DEFINED ENV{CORNU_CUDA_FATBIN})
    set(cuda_compile ${CMAKE_COMMAND} -E copy $ENV{CORNU_CUDA_FATBIN} ${cuda_fatbin})
endif()
add_custom_command(OUTPUT ${cuda_fatbin}
    COMMAND ${cuda_compile}
    DEPENDS ${cuda_kernels} VERBATIM COMMENT "CUDA kernels")

file(GLOB cuda_sources CONFIGURE_DEPENDS src/device/cuda/plugin/*.c src/device/cuda/plugin/ops/*.c)
cornu_plugin(cuda ${cuda_sources})
set_source_files_properties(src/device/cuda/plugin/launch.c PROPERTIES OBJECT_DEPENDS ${cuda_fatbin}
    COMPILE_DEFINITIONS "CUDA_FATBIN=\"${cuda_fatbin}\";CUDA_ARCHITECTURES=${cuda_numbers}")
set(cuda_libraries ${cuda_root}/lib64)
if(NOT EXISTS ${cuda_libraries})
    set(cuda_libraries ${cuda_root}/lib)
endif()
set_source_files_properties(src/device/cuda/plugin/libraries.c PROPERTIES
    COMPILE_DEFINITIONS "CUDA_LIBRARY_FOLDER=\"${cuda_libraries}\"")
target_include_directories(cornu_cuda SYSTEM PRIVATE ${CUDA_INCLUDE_DIR} ${CUBLASLT_INCLUDE_DIR}
    ${CUDNN_INCLUDE_DIR})
