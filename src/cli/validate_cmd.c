#include "cli/command.h"
int sonde_cmd_validate(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return 0;
}
