# Messages of protobuf-c, compiled from .proto files while the program is built: cornu_messages(VARIABLE FILE) puts the
# source that is made of src/FILE.proto into VARIABLE; its header is "FILE.pb-c.h".
option(CORNU_ONNX "write ONNX files (needs protobuf-c)" ON)
option(CORNU_TENSORBOARD "write event files for TensorBoard (needs protobuf-c)" ON)
set(protobuf_folder ${CMAKE_BINARY_DIR}/messages)
if(CORNU_ONNX OR CORNU_TENSORBOARD)
    pkg_check_modules(PROTOBUF_C IMPORTED_TARGET libprotobuf-c)
    find_program(PROTOC_C protoc-c)
    if(NOT PROTOBUF_C_FOUND OR NOT PROTOC_C)
        message(FATAL_ERROR "protobuf-c (libprotobuf-c-dev, protobuf-c-compiler) is not installed; "
            "-DCORNU_ONNX=OFF -DCORNU_TENSORBOARD=OFF builds without ONNX and TensorBoard")
    endif()
    file(MAKE_DIRECTORY ${protobuf_folder})
endif()

function(cornu_messages variable file)
    set(made ${protobuf_folder}/${file}.pb-c.c)
    add_custom_command(OUTPUT ${made} ${protobuf_folder}/${file}.pb-c.h
        COMMAND ${PROTOC_C} --proto_path=${CMAKE_SOURCE_DIR}/src --c_out=${protobuf_folder} ${file}.proto
        DEPENDS ${CMAKE_SOURCE_DIR}/src/${file}.proto VERBATIM)
    set_source_files_properties(${made} PROPERTIES COMPILE_OPTIONS -w INCLUDE_DIRECTORIES ${protobuf_folder}) # not ours
    set(${variable} ${made} PARENT_SCOPE)
endfunction()
