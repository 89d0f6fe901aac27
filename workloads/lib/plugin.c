/* A library with an NVTX instance of its own, as many programs load several of. */
#include <nvtx3/nvToolsExt.h>

void plugin_work(int nr);

__attribute__((visibility("default"))) void plugin_work(int nr)
{
	nvtxRangePushA("plugin");
	while (nr-- > 0) {
		nvtxRangePushA("call");
		nvtxRangePop();
	}
	nvtxRangePop();
}
