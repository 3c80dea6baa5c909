/* zkleader: the operator's tool. */
#include <locale.h>
#include <stdio.h>

#include "cli/ui/command.h"

int main(int argc, char **argv)
{
	struct output output;

	setlocale(LC_CTYPE, ""); /* for the width of characters in tables */
	output_init(&output, stdout, stderr);
	return command_main((const char *const *)(argc > 0 ? argv + 1 : argv), &output);
}
