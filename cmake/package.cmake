# Debian packages: cmake --preset package && cmake --build --preset package
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cornu)
set(CPACK_PACKAGE_CONTACT "${CORNU_MAINTAINER}")
set(CPACK_PACKAGE_HOMEPAGE_URL "")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trainer of small neural networks for images")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program library development python_debian ${CORNU_MPI_NAMES})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_CORNU_SOURCE ${CMAKE_SOURCE_DIR})
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package/stage.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE cornu)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(same_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(about "cornu trains dense and convolutional image classifiers natively, in C, on the\n\
processor or an NVIDIA GPU, with the names, defaults and numbers of Keras.\n.\n")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME cornu)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "dataset-fashion-mnist, python3-cornu, libfreetype6, libfontconfig1, ocl-icd-libopencl1")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "${about}\
This package has the program.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libcornu${CORNU_SOVERSION})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/package/shlibs CONTENT
    "libcornu ${CORNU_SOVERSION} libcornu${CORNU_SOVERSION} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
    "${CMAKE_SOURCE_DIR}/cmake/package/triggers;${CMAKE_BINARY_DIR}/package/shlibs")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "${about}\
This package has the shared library.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcornu-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libcornu${CORNU_SOVERSION} ${same_version}")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "${about}\
This package has what C and C++ programs are built with.")

set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_NAME python3-cornu)
set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_DEPENDS
    "libcornu${CORNU_SOVERSION} ${same_version}, python3 (>= 3.11), python3-numpy (>= 1:1.24)")
set(CPACK_DEBIAN_PYTHON_DEBIAN_PACKAGE_CONTROL_EXTRA
    "${CMAKE_SOURCE_DIR}/cmake/package/postinst;${CMAKE_SOURCE_DIR}/cmake/package/prerm")
set(CPACK_DEBIAN_PYTHON_DEBIAN_DESCRIPTION "${about}\
This package has the Python package, shaped as Keras.")
foreach(mpi IN LISTS CORNU_MPI_NAMES)
    string(TOUPPER ${mpi} component)
    set(CPACK_DEBIAN_${component}_PACKAGE_NAME libcornu${CORNU_SOVERSION}-${mpi})
    set(CPACK_DEBIAN_${component}_PACKAGE_SECTION libs)
    set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS "libcornu${CORNU_SOVERSION} ${same_version}")
    set(CPACK_DEBIAN_${component}_DESCRIPTION "${about}\
This package has the plug-in by which several processes train together (MPI).")
endforeach()
include(CPack)
