/* A statically linked program with ranges: a library that it loads brings a second libc. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

int main(void)
{
	int i;

	for (i = 0; i < 100; i++) {
		nvtxRangePushA("static");
		nvtxRangePop();
	}
	puts("done");
	return 0;
}
