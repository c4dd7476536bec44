/* The program. In the Python package it is this file alone, beside the library that the extension
   uses, too. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return cornu_main(argc, argv);
}
