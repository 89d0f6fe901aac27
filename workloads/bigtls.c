/* Has more thread-local memory than a small stack has room for; every thread gets a copy of it. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

static _Thread_local volatile char big[(1 << 20) - 6000];

int main(void)
{
	int i;

	big[0] = 1;
	for (i = 0; i < 1000; i++) {
		nvtxRangePushA("work");
		nvtxRangePop();
	}
	printf("%d\n", big[0]);
	return 0;
}
