/* A library with its own instance of NVTX. Many programs load several such libraries. */
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
