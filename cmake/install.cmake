# What `cmake --install` puts into a prefix: the program, the shared library with its header, and the
# files by which pkg-config and find_package(cornu) find them. Nothing in them names the prefix, so that
# an installed tree may be moved.
include(CMakePackageConfigHelpers)

# All that it needs, for who builds nothing else: ./quickstart. (The plug-ins come with the program.)
add_custom_target(cornu_installable DEPENDS cornu_program cornu_shared)
if(CORNU_PYTHON AND CORNU_PYTHON_SHARED)
    add_dependencies(cornu_installable cornu_python)
endif()

install(TARGETS cornu_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
# Man pages and completion are printed by the program itself, so only where it can run.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    message(STATUS "cross-compiling without an emulator: man pages and completion files are left out")
else()
    set(manual ${CMAKE_BINARY_DIR}/manual)
    add_custom_command(OUTPUT ${manual}/man/cornu.1
        COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:cornu_program>"
            -DOUTPUT=${manual} -P ${CMAKE_SOURCE_DIR}/cmake/manual.cmake
        DEPENDS cornu_program cmake/manual.cmake VERBATIM COMMENT "Man pages and completion")
    add_custom_target(cornu_manual ALL DEPENDS ${manual}/man/cornu.1)
    add_dependencies(cornu_installable cornu_manual)
    install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
    install(FILES ${manual}/bash/cornu DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        COMPONENT program)
    install(FILES ${manual}/zsh/_cornu DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
        COMPONENT program)
    install(FILES ${manual}/fish/cornu.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT program)
endif()
install(TARGETS cornu_shared EXPORT cornuTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT library NAMELINK_COMPONENT development)
foreach(plugin cuda opencl)
    if(TARGET cornu_${plugin})
        install(TARGETS cornu_${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cornu COMPONENT library)
    endif()
endforeach()
foreach(mpi IN LISTS CORNU_MPI_NAMES) # each needs its MPI's library: a component of its own
    install(TARGETS cornu_mpi_${mpi} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cornu COMPONENT ${mpi})
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/cornu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
    FILES_MATCHING PATTERN *.h)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/cornu)
install(EXPORT cornuTargets NAMESPACE cornu:: DESTINATION ${package_folder} COMPONENT development)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/cornuConfig.cmake.in
    ${CMAKE_BINARY_DIR}/cornuConfig.cmake INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cornuConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cornuConfig.cmake ${CMAKE_BINARY_DIR}/cornuConfigVersion.cmake
    DESTINATION ${package_folder} COMPONENT development)

file(RELATIVE_PATH CORNU_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" CORNU_PC_TO_PREFIX "${CORNU_PC_TO_PREFIX}")
configure_file(${CMAKE_SOURCE_DIR}/cmake/cornu.pc.in ${CMAKE_BINARY_DIR}/cornu.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/cornu.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT development)

set(CORNU_MAINTAINER "cornu maintainers <cornu@packages.invalid>" CACHE STRING "who makes the Debian packages")
include(cmake/package.cmake)
