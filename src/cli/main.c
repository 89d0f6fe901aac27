#include <stdio.h>

int main(void)
{
	puts("sonde " SONDE_VERSION);
	return 0;
}
