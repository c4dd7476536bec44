# libcornu-opencl.so, the plug-in of the OpenCL devices: built where OpenCL's headers are. libOpenCL.so.1 is opened at run
# time; nothing is linked against it.
option(CORNU_OPENCL "build the OpenCL plug-in where its headers are found" ON)
find_path(OPENCL_INCLUDE_DIR CL/cl.h)
if(NOT CORNU_OPENCL)
    message(STATUS "CORNU_OPENCL is off: the OpenCL plug-in and the tests on opencl:0 are left out")
    return()
endif()
if(NOT OPENCL_INCLUDE_DIR)
    message(STATUS "CL/cl.h (opencl-headers) is not installed: the OpenCL plug-in and the tests on opencl:0 are left out")
    return()
endif()
set(CORNU_HAS_OPENCL ON)

# The kernels' text, in the order of kernels.def, each with what it includes.
set(opencl_folder ${CMAKE_SOURCE_DIR}/src/device/opencl/plugin)
file(GLOB opencl_kernels CONFIGURE_DEPENDS ${opencl_folder}/kernels/* src/device/rules/* src/model/*.def src/model/drawing.h)
set(opencl_sources ${CMAKE_BINARY_DIR}/opencl/sources.c)
add_custom_command(OUTPUT ${opencl_sources}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${opencl_sources} -DROOT=${CMAKE_SOURCE_DIR}/src
        -P ${CMAKE_SOURCE_DIR}/cmake/opencl_sources.cmake
    DEPENDS ${opencl_kernels} cmake/opencl_sources.cmake VERBATIM COMMENT "OpenCL kernels")

file(GLOB opencl_plugin CONFIGURE_DEPENDS ${opencl_folder}/*.c ${opencl_folder}/ops/*.c)
cornu_plugin(opencl ${opencl_plugin} ${opencl_sources} src/base/files.c src/base/file_write.c)
target_include_directories(cornu_opencl SYSTEM PRIVATE ${OPENCL_INCLUDE_DIR})
