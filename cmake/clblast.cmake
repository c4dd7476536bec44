# clblast_compare, which peers/clblast.py builds and runs: cornu's products on an OpenCL device beside CLBlast's. Built
# only when it is asked for.
find_path(CLBLAST_INCLUDE_DIR clblast_c.h)
find_library(CLBLAST_LIBRARY clblast)
find_library(OPENCL_LIBRARY OpenCL)
mark_as_advanced(CLBLAST_INCLUDE_DIR CLBLAST_LIBRARY OPENCL_LIBRARY)
if(NOT CORNU_HAS_OPENCL OR NOT CLBLAST_INCLUDE_DIR OR NOT CLBLAST_LIBRARY OR NOT OPENCL_LIBRARY)
    return()
endif()
add_executable(clblast_compare EXCLUDE_FROM_ALL peers/clblast.c)
target_include_directories(clblast_compare SYSTEM PRIVATE ${CLBLAST_INCLUDE_DIR} ${OPENCL_INCLUDE_DIR})
target_compile_options(clblast_compare PRIVATE -Wall -Wextra)
target_link_libraries(clblast_compare PRIVATE cornu_static ${CLBLAST_LIBRARY} ${OPENCL_LIBRARY})
add_dependencies(clblast_compare cornu_opencl)
