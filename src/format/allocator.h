/*
 * How modules/ tells inject/ what PyTorch's allocator has: as a mark in a domain of its own.
 *
 * The two live in one process and neither knows the other: NVTX is between them, and where nobody listens a mark is
 * nothing. The numbers are those of the mark's attributes, so that a mark by anybody else can do no harm. The peak is
 * written as what it is above the bytes allocated, in units of the allocator's own: it hands out multiples of 512 bytes.
 */
#ifndef SONDE_FORMAT_ALLOCATOR_H
#define SONDE_FORMAT_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#define SONDE_ALLOCATOR_DOMAIN "sonde.allocator"
#define SONDE_ALLOCATOR_UNIT   512u
#define SONDE_ALLOCATOR_END    0x80000000u /* in the category: the range is about to end; else it has just begun */

/* What the allocator has of one device. */
struct sonde_allocator_reading {
	uint32_t device;
	bool is_end;
	uint64_t allocated, peak; /* bytes; the peak since the program last reset it, never less */
};

/* The mark's category, colour and payload. */
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
