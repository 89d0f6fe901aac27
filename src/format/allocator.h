/*
 * How modules/ passes readings of PyTorch's allocator to inject/: as NVTX marks in a domain of their own.
 *
 * The two libraries live in one process and do not know each other; NVTX connects them, and a mark costs nothing where
 * nobody listens. A reading consists of numbers only, in the mark's attributes, so that a mark from anybody else can do
 * no harm. The peak is packed as its distance above the allocated bytes, in units of 512 bytes: the allocator hands out
 * multiples of these.
 */
#ifndef SONDE_FORMAT_ALLOCATOR_H
#define SONDE_FORMAT_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#define SONDE_ALLOCATOR_DOMAIN "sonde.allocator"
#define SONDE_ALLOCATOR_UNIT   512u
#define SONDE_ALLOCATOR_END    0x80000000u /* bit in the category: set = the range is about to end, clear = it has just begun */

/* The allocator's figures for one device, at the beginning or the end of a range. */
struct sonde_allocator_reading {
	uint32_t device;
	bool is_end;
	uint64_t allocated, peak; /* bytes; the peak is the one since the program last reset it, at least `allocated` */
};

/* Packs a reading into the mark's category, colour and payload. */
static inline void sonde_allocator_pack(
	const struct sonde_allocator_reading *r, uint32_t *category, uint32_t *colour, uint64_t *payload)
{
	uint64_t above = r->peak > r->allocated ? (r->peak - r->allocated + SONDE_ALLOCATOR_UNIT - 1) / SONDE_ALLOCATOR_UNIT : 0;

	*category = (r->device & ~SONDE_ALLOCATOR_END) | (r->is_end ? SONDE_ALLOCATOR_END : 0);
	*colour = above < UINT32_MAX ? (uint32_t)above : UINT32_MAX;
	*payload = r->allocated;
}

static inline struct sonde_allocator_reading sonde_allocator_unpack(uint32_t category, uint32_t colour, uint64_t payload)
{
	return (struct sonde_allocator_reading){.device = category & ~SONDE_ALLOCATOR_END,
		.is_end = category & SONDE_ALLOCATOR_END,
		.allocated = payload,
		.peak = payload + (uint64_t)colour * SONDE_ALLOCATOR_UNIT};
}

#endif
