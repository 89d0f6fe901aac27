/*
 * Names of device attributes, as Nsight Compute has them. Every reader uses
 * these, whatever its source calls them, so that rooflines and weights over
 * devices work on every capture.
 */
#ifndef SONDE_CATALOGUE_ATTRIBUTES_H
#define SONDE_CATALOGUE_ATTRIBUTES_H

#define SONDE_ATTR(name) "device__attribute_" name
#define SONDE_ATTR_PREFIX SONDE_ATTR("")

#define SONDE_ATTR_NAME SONDE_ATTR("display_name")
#define SONDE_ATTR_CC_MAJOR SONDE_ATTR("compute_capability_major")
#define SONDE_ATTR_CC_MINOR SONDE_ATTR("compute_capability_minor")
#define SONDE_ATTR_SMS SONDE_ATTR("multiprocessor_count")
#define SONDE_ATTR_CLOCK SONDE_ATTR("clock_rate")		 /* kHz */
#define SONDE_ATTR_MEMORY_CLOCK SONDE_ATTR("memory_clock_rate") /* kHz; two words per clock cycle */
#define SONDE_ATTR_BANDWIDTH SONDE_ATTR("memory_bandwidth") /* bytes per second, from sources that give no clock */
#define SONDE_ATTR_BUS_WIDTH SONDE_ATTR("global_memory_bus_width") /* bits */
#define SONDE_ATTR_MEMORY SONDE_ATTR("total_memory")		 /* bytes */
#define SONDE_ATTR_L2_SIZE SONDE_ATTR("l2_cache_size")
#define SONDE_ATTR_WARP_SIZE SONDE_ATTR("warp_size")
#define SONDE_ATTR_SM_THREADS SONDE_ATTR("max_threads_per_multiprocessor")
#define SONDE_ATTR_SM_BLOCKS SONDE_ATTR("max_blocks_per_multiprocessor")
#define SONDE_ATTR_SM_REGISTERS SONDE_ATTR("max_registers_per_multiprocessor")
#define SONDE_ATTR_SM_SHARED SONDE_ATTR("max_shared_memory_per_multiprocessor")
#define SONDE_ATTR_BLOCK_THREADS SONDE_ATTR("max_threads_per_block")
#define SONDE_ATTR_BLOCK_REGISTERS SONDE_ATTR("max_registers_per_block")
#define SONDE_ATTR_BLOCK_SHARED SONDE_ATTR("max_shared_memory_per_block")

#endif
