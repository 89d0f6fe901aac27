/*
 * A fake CUPTI: the part that the injected library calls. No GPU works: programs
 * (fake_cuda.c, fake_loop.c, fake_idle.c) report which "work" their GPU did. Records
 * have the vendor's own layout, and buffers and callbacks come as from CUPTI, so
 * that the library's CUPTI part runs on any machine. tests/gpu shows that the real CUPTI
 * behaves the same.
 *
 * fake_presence.c   subscribing to CUPTI, and leaving the process
 * fake_callbacks.c  callbacks for calls of the program
 * fake_buffers.c    delivery of records to the library
 * fake_cost.c       which records are enabled, and what they cost the program
 * fake_work.c       the work that the program reports
 * fake_warps.c      PC samples of its kernels
 */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_record;
typedef CUpti_ActivityMemcpy6 memcpy_record;
typedef CUpti_ActivityDevice5 device_record;
typedef CUpti_ActivityOverhead3 overhead_record;
#else
typedef CUpti_ActivityKernel9 kernel_record;
typedef CUpti_ActivityMemcpy5 memcpy_record;
typedef CUpti_ActivityDevice4 device_record;
typedef CUpti_ActivityOverhead2 overhead_record;
#endif

/* --- fake_presence.c ------------------------------------------------------------------------- */

uint64_t now_ns(void);
/* A line `WORD NUMBER` of the file $FAKE_CUPTI_LOG. */
void log_line(const char *word, size_t number);
int is_there(void);
/* Ends the program where the real one would harm it. */
void must_be_there(void);

/* --- fake_callbacks.c ------------------------------------------------------------------------ */

/* NULL: nobody. */
void set_callback(CUpti_CallbackFunc fn);
int has_callback(void);
/* Nobody is called any more, and ids begin again. */
void forget_callbacks(void);
/* Whether this thread is told of the end of a call right now. */
int is_at_end_of_call(void);
uint32_t next_id(void);
/* Which stay of CUPTI's in the process it is: ids begin again with each. An id and its stay make a number of the process. */
uint32_t which_stay(void);
void tell(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data, int is_end);
void call(CUpti_CallbackDomain domain, CUpti_CallbackId id, uint32_t corr, int site);
/* A call of the driver that has parameters. */
void call_with(CUpti_CallbackId id, uint32_t corr, int site, const void *params);
/* A runtime call around a driver call: the id that its record carries, if it has one. */
struct made_call {
	uint32_t id, stay;
	int is_recorded;
};
struct made_call call_both(CUpti_CallbackId id);

/* --- fake_buffers.c -------------------------------------------------------------------------- */

/* Puts the record into a buffer of the library's, if that stay is not over; add_record does so if somebody asked for its kind. */
void put_record(const void *record, size_t n, uint32_t stay);
void add_record(const void *record, size_t n);
size_t size_of(CUpti_ActivityKind kind);
/* As the real one it waits until recorded work has ended. */
void wait_for_work(void);
/* Records that were not asked for are lost: how many. */
size_t forget_records(void);

/* --- fake_cost.c ----------------------------------------------------------------------------- */

int is_recorded(CUpti_ActivityKind kind);
void forget_kinds(void);
/* So long after the last record the work still runs. */
uint64_t late_ns(void);
/* Inside the call of a launch, whether it is recorded; and behind it. */
int pay_in_call(void);
void pay_behind_call(void);

/* --- fake_warps.c ------------------------------------------------------------------------------ */

/* A launch has run: its samples wait to be asked for. */
void sample_launch(const char *name);
/* A context is made, or goes. */
void fake_context(int is_made);
/* Code is loaded: samples are of it from now on. */
void fake_module(const void *code, size_t nr_bytes);
/* How often all there was has been asked for. */
uint64_t fake_drains(void);

/* --- fake_work.c: what the program tells, and of graphs --------------------------------------- */

/* Writes the record of the graph that was launched last; where it still runs it ends at `end`, or by itself (0). */
void end_graph(uint64_t end);
/* CUPTI has seen one. */
int has_met_graph(void);

/* `node` is a kernel of a graph, or 0. */
void fake_launch(const char *name, uint64_t node);
/* A kernel whose times the program knows. */
void fake_kernel(const char *name, uint32_t stream, const uint64_t times[2]);
void fake_copy(uint64_t bytes);
/* The copy begins after so long, and the call returns with it. */
void fake_copy_late(uint64_t bytes, unsigned us);
/* A call of the driver that takes a while: 6 synchronises, 7 allocates, 8 frees. */
void fake_wait(unsigned id, unsigned us);
/* Waits as if for a stream. */
void fake_sync(unsigned us);
/* A call of the driver with up to two handles: 6 synchronises a stream, 11 records an event in a stream, 12 has a stream wait for it, 13 synchronises it. */
void fake_order(unsigned id, uint64_t first, uint64_t second);
/* cudaProfilerStart and cudaProfilerStop. */
void fake_profiler(int is_start);
/* Takes or gives back memory. */
void fake_memory(uint64_t address, uint64_t bytes, int is_free);
/* A kernel is launched into a stream that is captured: its node is made, and nothing runs. */
void fake_capture(uint64_t id);
/* A node of a graph is made, or cloned from another. */
void fake_node(uint64_t id, uint64_t original);
void fake_device(void);

#endif
