/* Prints a command's table of options in five forms: as text, as a man page, and for the
   completion of three shells. */
#include "cli/cli.h"
#include <cornu/data.h>
#include <cornu/tables.h>
#include <ctype.h>
#include <string.h>

/* Get the next line of a command's text; false if there is none. */
static bool next_line(const char **text, char *line, size_t size)
{
    if (!*text || !**text)
        return false;
    size_t length = strcspn(*text, "\n");
    snprintf(line, size, "%.*s", (int)length, *text);
    *text += length + ((*text)[length] != 0);
    return true;
}

/* The choices depend on the machine, which is asked only when help is printed. */
static bool is_device(const option *o)
{
    return o->value && strcmp(o->value, "D") == 0;
}

/* ---- text ------------------------------------------------------------------------------- */

static void print_text(const command *c, const option *options)
{
    char line[512];
    const char *synopsis = c->synopsis, *lead = "usage:";
    print("cornu %s: %s\n\n", c->name, c->summary);
    if (!*synopsis)
        print("usage: cornu %s\n", c->name);
    for (; next_line(&synopsis, line, sizeof line); lead = "      ")
        print("%s cornu %s %s\n", lead, c->name, line);
    if (options->name)
        print("\n");
    for (const option *o = options; o->name; o++) {
        char left[256];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->value ? " " : "",
                 o->value ? o->value : "");
        print("  %-20s %s\n", left, o->help);
        if (is_device(o))
            print("  %-20s here: %s\n", "", devices_here(left, sizeof left));
    }
    if (c->details) {
        print("\n");
        print_lines(c->details);
    }
}

/* ---- man -------------------------------------------------------------------------------- */

void man_text(const char *text)
{
    if (*text == '.' || *text == '\'')
        print("\\&");
    for (size_t plain; *text; text += plain) {
        plain = strcspn(text, "\\-");
        if (plain)
            print("%.*s", (int)plain, text);
        else
            print("\\%c", text[plain++] == '-' ? '-' : 'e');
    }
}

void man_begin(const char *of, const char *summary)
{
    char name[64], title[64];
    snprintf(name, sizeof name, "cornu%s%s", *of ? "-" : "", of);
    for (size_t i = 0; i <= strlen(name); i++)
        title[i] = (char)toupper((unsigned char)name[i]);
    print(".TH %s 1 \"\" \"cornu %s\" \"User Commands\"\n.SH NAME\n", title, cornu_version());
    man_text(name);
    print(" \\- ");
    man_text(summary);
    print("\n");
}

static void print_man(const command *c, const option *options)
{
    char line[512];
    const char *synopsis = c->synopsis, *details = c->details;
    man_begin(c->name, c->summary);
    print(".SH SYNOPSIS\n");
    do {
        if (!next_line(&synopsis, line, sizeof line))
            *line = 0;
        print(".B cornu %s\n", c->name);
        man_text(line);
        print(*line ? "\n.br\n" : "");
    } while (*synopsis);
    if (details)
        print(".SH DESCRIPTION\n");
    for (; next_line(&details, line, sizeof line); print("\n"))
        man_text(line);
    if (options->name)
        print(".SH OPTIONS\n");
    for (const option *o = options; o->name; o++) {
        print(".TP\n\\fB\\-\\-");
        man_text(o->name);
        print("\\fR%s\\fI", o->value ? " " : "");
        man_text(o->value ? o->value : "");
        print("\\fR\n");
        man_text(o->help);
        print("\n");
    }
    print(".SH SEE ALSO\n.BR cornu (1)\n");
}

/* ---- what a word may be ----------------------------------------------------------------- */

/* The completions after an option, or for an operand. */
typedef struct choice {
    char words[1024];
    bool files;
} choice;

static void add_word(choice *c, const char *word)
{
    size_t length = strlen(c->words);
    snprintf(c->words + length, sizeof c->words - length, "%s%s", length ? " " : "", word);
}

static bool is_one_of(const char *token, const char *list)
{
    char all[128], *rest = all;
    snprintf(all, sizeof all, "%s", list);
    for (const char *word; (word = strsep(&rest, " ")) != NULL;)
        if (strncmp(token, word, strlen(word)) == 0)
            return true;
    return false;
}

/* A word of a synopsis or of an option's value: what it stands for, or what it is. */
static void add_token(choice *c, const char *token)
{
    cornu_dataset_info set = {.size = sizeof set};
    c->files = c->files || is_one_of(token, "FILE DIR RECIPE MODEL IMAGE NAME");
    for (int i = 0; strncmp(token, "WORKLOAD", 8) == 0 && cornu_workload_name(i); i++)
        add_word(c, cornu_workload_name(i));
    for (int i = 0; strcmp(token, "NAME") == 0 && cornu_dataset_info_get(i, &set); i++)
        add_word(c, set.name);
    if (token[strspn(token, "abcdefghijklmnopqrstuvwxyz")] == 0)
        add_word(c, token);
}

static void add_tokens(choice *c, const char *text)
{
    char copy[512], *rest = copy;
    snprintf(copy, sizeof copy, "%s", text);
    for (const char *token; (token = strsep(&rest, " []|\n")) != NULL;)
        if (*token)
            add_token(c, token);
}

static choice choice_of(const option *o)
{
    static const struct {
        const char *value, *words;
    } known[] = {{"D", "cpu gpu reference"}, /* see is_device */
                 {"P", "fp32 tf32 bf16"},
                 {"S", "train test"},
                 {"C", "file off"}};
    choice c = {.files = false};
    for (size_t i = 0; o->value && i < sizeof known / sizeof *known; i++)
        if (strcmp(o->value, known[i].value) == 0)
            add_word(&c, known[i].words);
    if ((o->type == OPTION_TEXT || o->type == OPTION_FILES) && !*c.words)
        add_tokens(&c, o->value);
    return c;
}

/* The completions for the operand before a synopsis's first option. */
static choice choice_of_operands(const command *c)
{
    char line[512];
    choice all = {.files = false};
    for (const char *synopsis = c->synopsis; next_line(&synopsis, line, sizeof line);) {
        char *dashes = strstr(line, "--");
        if (dashes)
            *dashes = 0;
        add_tokens(&all, line);
    }
    return all;
}

/* ---- to shells -------------------------------------------------------------------------- */

/* Print `text` with `mark` before each of the characters `marked`. */
static void print_marked(const char *text, const char *marked, const char *mark)
{
    for (; *text; text++)
        print("%s%c", strchr(marked, *text) ? mark : "", *text);
}

/* An arm of the function that `cornu completion bash` prints (completion.c). */
static void print_bash(const command *c, const option *options)
{
    choice alone = choice_of_operands(c);
    print("    %s)\n        case $prev in\n", c->name);
    for (const option *o = options; o->name; o++) {
        choice value = choice_of(o);
        if (is_device(o))
            print("        --%s) words=$(_cornu_devices) files='' ;;\n", o->name);
        else if (o->type != OPTION_FLAG)
            print("        --%s) words='%s' files=%s ;;\n", o->name, value.words,
                  value.files ? "yes" : "''");
    }
    print("        *) words='%s' files=%s options='", alone.words, alone.files ? "yes" : "''");
    for (const option *o = options; o->name; o++)
        print("--%s ", o->name);
    print("--help' ;;\n        esac ;;\n");
}

static void print_zsh_choice(const choice *c)
{
    print(c->files ? " _cornu_word_or_file " : *c->words ? "(" : " ");
    print_marked(c->words, ":", "\\");
    print(*c->words && !c->files ? ")" : "");
}

static void print_zsh(const command *c, const option *options)
{
    choice alone = choice_of_operands(c);
    print("    %s)\n        _arguments -S \\\n", c->name);
    for (const option *o = options; o->name; o++) {
        choice value = choice_of(o);
        print("            '--%s%s[", o->name, o->type == OPTION_FLAG ? "" : "=");
        for (const char *text = o->help; *text; text++)
            print(*text == '\'' ? "'\\''" : strchr("[]:\\", *text) ? "\\%c" : "%c", *text);
        print("]");
        if (o->type != OPTION_FLAG) {
            print(o->type == OPTION_FILES ? "::%s:" : ":%s:", o->value);
            if (is_device(o))
                print(" _cornu_devices");
            else
                print_zsh_choice(&value);
        }
        print("' \\\n");
    }
    print("            '--help[say more]'");
    if (*alone.words || alone.files) {
        print(" \\\n            '*:argument:");
        print_zsh_choice(&alone);
        print("'");
    }
    print(" ;;\n");
}

static void print_fish(const command *c, const option *options)
{
    choice alone = choice_of_operands(c);
    print("complete -c cornu -n __fish_use_subcommand -f -a %s -d '", c->name);
    print_marked(c->summary, "'\\", "\\");
    print("'\n");
    const char *seen = "__fish_seen_subcommand_from";
    print("complete -c cornu -n '%s %s' %s -a '%s'\n", seen, c->name, alone.files ? "-F" : "-f",
          alone.words);
    print("complete -c cornu -n '%s %s' -l help -d 'say more'\n", seen, c->name);
    for (const option *o = options; o->name; o++) {
        choice value = choice_of(o);
        print("complete -c cornu -n '%s %s' -l %s -d '", seen, c->name, o->name);
        print_marked(o->help, "'\\", "\\");
        const bool needs = o->type != OPTION_FLAG && o->type != OPTION_FILES;
        print("'%s%s", needs ? " -r" : "", value.files ? " -F" : " -f");
        if (is_device(o))
            print(" -a '(cornu devices --names 2>/dev/null)'\n");
        else
            print(*value.words ? " -a '%s'\n" : "\n", value.words);
    }
}

/* ---- forms ------------------------------------------------------------------------------ */

bool help_print(const command *c, const option *options, const char *argument)
{
    static const struct {
        const char *argument;
        void (*print)(const command *, const option *);
    } forms[] = {{"-h", print_text},        {"--help", print_text},
                 {"--help=man", print_man}, {"--help=bash", print_bash},
                 {"--help=zsh", print_zsh}, {"--help=fish", print_fish}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(argument, forms[i].argument) == 0) {
            forms[i].print(c, options);
            return true;
        }
    return false;
}
