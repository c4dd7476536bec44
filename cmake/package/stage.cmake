# What Debian's packages have beside what is installed: copyright, changelogs, man pages made small. CPack runs it when
# each component lies in a folder of its own, and before the packages are made of those.
function(compress file)
    execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(STRINGS ${CPACK_CORNU_SOURCE}/CHANGELOG.md heading REGEX "^## \\[${CPACK_PACKAGE_VERSION}\\]")
string(REGEX REPLACE ".* - " "" day "${heading}")
execute_process(COMMAND date -u -R -d ${day} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} name)
    set(package ${CPACK_DEBIAN_${name}_PACKAGE_NAME})
    set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share)
    set(doc ${root}/doc/${package})
    file(MAKE_DIRECTORY ${doc})
    configure_file(${CPACK_CORNU_SOURCE}/cmake/package/copyright ${doc}/copyright COPYONLY)
    configure_file(${CPACK_CORNU_SOURCE}/CHANGELOG.md ${doc}/changelog COPYONLY)
    file(WRITE ${doc}/changelog.Debian "cornu (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; "
        "urgency=medium\n\n  * Version ${CPACK_PACKAGE_VERSION}; changelog.gz says what is new.\n\n"
        " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
    file(CHMOD ${doc}/changelog ${doc}/changelog.Debian ${doc}/copyright
        PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    compress(${doc}/changelog)
    compress(${doc}/changelog.Debian)
    file(GLOB pages ${root}/man/man1/*.1)
    foreach(page IN LISTS pages)
        compress(${page})
    endforeach()
endforeach()
