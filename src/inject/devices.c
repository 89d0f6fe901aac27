/*
 * What the driver says of the devices in use, under the names Nsight Compute
 * gives these attributes, so that whatever reads them finds them.
 */
#include "inject/cupti_int.h"
#include "catalogue/attributes.h"
#include "inject/event_int.h"

#define MAX_DEVICES 64u

static _Atomic uint64_t met, described; /* a bit for each device */

static const struct {
	CUdevice_attribute id;
	const char *name;
} attributes[] = {
	{CU_DEVICE_ATTRIBUTE_CLOCK_RATE, SONDE_ATTR_CLOCK},
	{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, SONDE_ATTR_MEMORY_CLOCK},
	{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, SONDE_ATTR_BUS_WIDTH},
	{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, SONDE_ATTR_L2_SIZE},
	{CU_DEVICE_ATTRIBUTE_WARP_SIZE, SONDE_ATTR_WARP_SIZE},
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
		SONDE_ATTR_SM_THREADS},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
		SONDE_ATTR_SM_BLOCKS},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
		SONDE_ATTR_SM_REGISTERS},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
		SONDE_ATTR_SM_SHARED},
};

void sonde_devices__met(uint32_t id)
{
	if (id < MAX_DEVICES)
		atomic_fetch_or(&met, 1ull << id);
}

static void write_attribute(struct thread *t, uint32_t device, const char *name, int value)
{
	struct label *l = sonde_label__intern(SONDE_STRING_NAME, 0, name, strlen(name));
	struct sonde_event e;

	e.type = SONDE_EVENT_ATTRIBUTE;
	e.label = (struct sonde_event_label){l ? l->id : 0, 0, name, strlen(name)};
	e.field[0] = device;
	e.field[1] = (uint64_t)value;
	sonde_ring__write(t, &e);
}

static void describe(struct thread *t, uint32_t device)
{
	size_t i;
	int value;

	for (i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if (sonde_cupti.device_attribute(&value, attributes[i].id, (CUdevice)device) ==
				CUDA_SUCCESS &&
			value >= 0)
			write_attribute(t, device, attributes[i].name, value);
}

void sonde_devices__describe(void)
{
	uint64_t which = atomic_load(&met) & ~atomic_load(&described);
	struct thread *t;
	uint32_t i;

	if (!which || !sonde_cupti.device_attribute)
		return;
	which &= ~atomic_fetch_or(&described, which);
	t = hook_enter();
	for (i = 0; i < MAX_DEVICES && t; i++)
		if (which >> i & 1)
			describe(t, i);
	if (t)
		hook_leave(t);
}
