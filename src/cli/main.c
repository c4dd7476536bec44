/* cornu: the command line, which program.c makes a program of. */
#include "cli/cli.h"
#include <cornu/tables.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { COMMANDS_MOST = 32 };

static const char about[] =
    "train small neural networks natively, and see how long it takes and why";
static const char usage[] = "cornu COMMAND [ARGUMENT...] [--OPTION...]";

static void print_usage(void)
{
    print("cornu %s: %s\n\nusage: %s\n\n", cornu_version(), about, usage);
    for (int i = 0; commands[i]; i++)
        print("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    print("\ncornu COMMAND --help says more. Start with: cornu bench --quick\nworkloads:");
    for (int i = 0; cornu_workload_name(i); i++) {
        if (i && i % 5 == 0)
            print("\n          ");
        print(" %s", cornu_workload_name(i));
    }
    print("\n");
}

/* The man page cornu(1). */
static void print_man(void)
{
    man_begin("", about);
    print(".SH SYNOPSIS\n");
    man_text(usage);
    print("\n.SH COMMANDS\n");
    for (int i = 0; commands[i]; i++) {
        print(".TP\n.BR cornu\\-%s (1)\n", commands[i]->name);
        man_text(commands[i]->summary);
        print("\n");
    }
    print(".SH WORKLOADS\n");
    for (int i = 0; cornu_workload_name(i); i++) {
        man_text(cornu_workload_name(i));
        print("\n");
    }
    print(".SH ENVIRONMENT\n.B cornu env\nlists the variables that cornu reads.\n"
          ".SH EXIT STATUS\n.TP\n%d\nall went well\n.TP\n%d\nsomething failed\n"
          ".TP\n%d\na wrong command line, or a device that is not there\n"
          ".TP\n%d\nsomething is slower than in the run that bench \\-\\-baseline names\n"
          ".TP\n%d\nstopped by Ctrl\\-C (143 by SIGTERM, 129 by SIGHUP)\n",
          STATUS_OK, STATUS_FAILURE, STATUS_USAGE, STATUS_SLOWER, STATUS_INTERRUPTED);
}

/* "export" is the earlier name for writing ONNX, and Keras's. */
static const command *find_command(const char *name)
{
    if (strcmp(name, "export") == 0)
        return &command_convert;
    for (int i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int fail_unknown(const char *word)
{
    const char *names[COMMANDS_MOST + 1] = {NULL};
    for (int i = 0; commands[i] && i < COMMANDS_MOST; i++)
        names[i] = commands[i]->name;
    const char *nearest = nearest_name(word, names);
    const char *kind = *word == '-' ? "option" : "command";
    if (nearest)
        return fail(STATUS_USAGE, "%s: unknown %s; did you mean %s? (see cornu --help)", word, kind,
                    nearest);
    return fail(STATUS_USAGE, "%s: unknown %s (see cornu --help)", word, kind);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_usage();
        return STATUS_USAGE;
    }
    const char *word = argv[1];
    bool help = strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if (help && argc > 2) { /* cornu help train */
        const command *c = find_command(argv[2]);
        char option_help[] = "--help", *arguments[] = {argv[2], option_help, NULL};
        return c ? c->run(2, arguments) : fail_unknown(argv[2]);
    }
    if (strcmp(word, "--help=man") == 0 && argc == 2) {
        print_man();
        return STATUS_OK;
    }
    if (help) {
        print_usage();
        return STATUS_OK;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        if (argc > 2)
            return fail(STATUS_USAGE, "--version: found \"%s\" after it; expected nothing",
                        argv[2]);
        print("cornu %s\n", cornu_version());
        return STATUS_OK;
    }
    const command *c = find_command(word);
    if (!c)
        return fail_unknown(word);
    return c->alone && is_left_to_first(c->name) ? STATUS_OK : c->run(argc - 1, argv + 1);
}

/* A closed pipe is not an error; other failures to write are. */
static int finish_output(int status)
{
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (!failed || (poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR)))
        return status;
    int own = fail(STATUS_FAILURE, "standard output: cannot write");
    return status == STATUS_OK ? own : status;
}

/* A launcher ends all its processes when one has failed: the one that says why comes first. */
static void let_speaker_end(int status)
{
    bool failed = status == STATUS_FAILURE || status == STATUS_USAGE;
    if (failed && !is_speaker())
        sleep(1);
}

int cornu_main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* only to learn whether the terminal speaks UTF-8 */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow (ulimit -f) is an error with a message */
    int status = dispatch(argc, argv);
    interrupt_forget();
    status = finish_output(status);
    let_speaker_end(status);
    return interrupt_status(status);
}
