/* The table of the commands, and completion scripts for shells: a function around the words of the
 * commands' tables (help.c). */
#include "cli/cli.h"
#include <string.h>

/* Each command's arm or lines, in the form of a shell. */
static void print_commands(const char *shell)
{
    char form[32];
    snprintf(form, sizeof form, "--help=%s", shell);
    for (int i = 0; commands[i]; i++) {
        char *arguments[] = {(char *)(size_t)commands[i]->name, form, NULL};
        (void)commands[i]->run(2, arguments);
    }
}

/* bash splits "--data=x" into three words. */
static void print_bash(void)
{
    print("# bash completion for cornu; made by: cornu completion bash\n"
          "_cornu_devices()\n{\n    cornu devices --names 2>/dev/null || echo cpu gpu\n}\n"
          "_cornu()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local words='' files='' options=''\n"
          "    if [ \"$cur\" = '=' ]; then\n        cur=''\n"
          "    elif [ \"$prev\" = '=' ] && [ \"$COMP_CWORD\" -gt 2 ]; then\n"
          "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n    fi\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '");
    for (int i = 0; commands[i]; i++)
        print("%s ", commands[i]->name);
    print("help --help --version' -- \"$cur\")\n        return\n    fi\n"
          "    case ${COMP_WORDS[1]} in\n");
    print_commands("bash");
    print("    help) words='");
    for (int i = 0; commands[i]; i++)
        print("%s%s", i ? " " : "", commands[i]->name);
    print("' ;;\n    esac\n"
          "    case $cur in\n    -*) words=$options files='' ;;\n    esac\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\"\n"
          "        [ -z \"$files\" ] || compgen -f -- \"$cur\")\n"
          "    [ -z \"$files\" ] || compopt -o filenames 2>/dev/null\n"
          "    return 0\n}\ncomplete -F _cornu cornu\n");
}

static void print_zsh(void)
{
    print("#compdef cornu\n# zsh completion for cornu; made by: cornu completion zsh\n"
          "_cornu_word_or_file()\n{\n    _files\n    [[ -z $1 ]] || compadd -- \"$@\"\n}\n"
          "_cornu_devices()\n{\n"
          "    local -a names=(${(f)\"$(cornu devices --names 2>/dev/null)\"})\n"
          "    compadd -- ${names:-cpu gpu}\n}\n"
          "_cornu()\n{\n"
          "    if (( CURRENT == 2 )); then\n        local -a commands=(\n");
    for (int i = 0; commands[i]; i++)
        print("            \"%s:%s\"\n", commands[i]->name, commands[i]->summary);
    print("        )\n        _describe command commands\n        return\n    fi\n"
          "    shift words\n    (( CURRENT-- ))\n    case $words[1] in\n");
    print_commands("zsh");
    print("    esac\n}\n"
          "if [ \"$funcstack[1]\" = _cornu ]; then\n    _cornu \"$@\"\nelse\n"
          "    compdef _cornu cornu\nfi\n");
}

static void print_fish(void)
{
    print("# fish completion for cornu; made by: cornu completion fish\n");
    print_commands("fish");
}

static int run(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    const option options[] = {{.name = NULL}};
    operands found;
    int status;
    if (!options_parse(&command_completion, options, argc, argv, 1, 1, "bash, zsh or fish", &found,
                       &status))
        return status;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(found.item[0], shells[i].name) == 0) {
            shells[i].print();
            return STATUS_OK;
        }
    return fail_usage(&command_completion, "found \"%s\"; expected bash, zsh or fish",
                      found.item[0]);
}

const command command_completion = {
    "completion",
    "what a shell reads to complete cornu's words",
    "bash|zsh|fish",
    "For this shell alone: source <(cornu completion bash), source <(cornu completion zsh), or\n"
    "cornu completion fish | source. An installed cornu has the files where shells look for "
    "them.\n",
    run,
    .alone = false};

const command *const commands[] = {&command_bench,
                                   &command_train,
                                   &command_new,
                                   &command_recipe,
                                   &command_evaluate,
                                   &command_predict,
                                   &command_convert,
                                   &command_summary,
                                   &command_explain,
                                   &command_advise,
                                   &command_tune,
                                   &command_devices,
                                   &command_data,
                                   &command_env,
                                   &command_version,
                                   &command_completion,
                                   NULL};
