/* The program. In the Python package it consists of this file only, and uses the same library as
   the extension. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return cornu_main(argc, argv);
}
