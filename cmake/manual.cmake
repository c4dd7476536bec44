# Man pages and completion, printed by the program that was built (src/cli/help.c):
#   cmake -DPROGRAM=… -DOUTPUT=FOLDER -P manual.cmake
# Of PROGRAM, several words may be a list: an emulator, then the program.
function(print_to file)
    execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_FILE ${OUTPUT}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${OUTPUT})
file(MAKE_DIRECTORY ${OUTPUT}/man ${OUTPUT}/bash ${OUTPUT}/zsh ${OUTPUT}/fish)
print_to(bash/cornu completion bash)
print_to(zsh/_cornu completion zsh)
print_to(fish/cornu.fish completion fish)
print_to(man/cornu.1 --help=man)
file(STRINGS ${OUTPUT}/man/cornu.1 commands REGEX "^\\.BR cornu")
foreach(command IN LISTS commands)
    string(REGEX REPLACE "^\\.BR cornu\\\\-([a-z]+) .*" "\\1" command "${command}")
    print_to(man/cornu-${command}.1 ${command} --help=man)
endforeach()
