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
/* Writes a line `WORD NUMBER` to the file $FAKE_CUPTI_LOG. */
void log_line(const char *word, size_t number);
int is_there(void);
/* Ends the program if CUPTI has left: the real CUPTI would harm the program then. */
void must_be_there(void);

/* --- fake_callbacks.c ------------------------------------------------------------------------ */

/* Sets the subscriber's callback; NULL = there is no subscriber. */
void set_callback(CUpti_CallbackFunc fn);
int has_callback(void);
/* Removes the callback; ids begin again. */
void forget_callbacks(void);
/* Whether this thread is in the callback for the end of a call. */
int is_at_end_of_call(void);
uint32_t next_id(void);
/* The number of CUPTI's present stay in the process. Ids begin again with each stay; an id and its stay are unique together. */
uint32_t which_stay(void);
void tell(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data, int is_end);
void call(CUpti_CallbackDomain domain, CUpti_CallbackId id, uint32_t corr, int site);
/* Reports a call of the driver that has parameters. */
void call_with(CUpti_CallbackId id, uint32_t corr, int site, const void *params);
/* A runtime call that contains a driver call: the id in its record, if it is recorded. */
struct made_call {
	uint32_t id, stay;
	int is_recorded;
};
struct made_call call_both(CUpti_CallbackId id);

/* --- fake_buffers.c -------------------------------------------------------------------------- */

/* Puts a record into a buffer of the library, if CUPTI's stay `stay` is not over. add_record does so if its kind is enabled. */
void put_record(const void *record, size_t n, uint32_t stay);
void add_record(const void *record, size_t n);
size_t size_of(CUpti_ActivityKind kind);
/* Waits until recorded work has ended, as the real CUPTI does. */
void wait_for_work(void);
/* Drops the records that the library has not got yet; returns how many. */
size_t forget_records(void);

/* --- fake_cost.c ----------------------------------------------------------------------------- */

int is_recorded(CUpti_ActivityKind kind);
void forget_kinds(void);
/* How long work goes on after the last record. */
uint64_t late_ns(void);
/* Take the time that recording costs: inside the call of a launch (returns whether it is recorded), and behind it. */
int pay_in_call(void);
void pay_behind_call(void);

/* --- fake_warps.c ------------------------------------------------------------------------------ */

/* Adds the samples of a launch that has run; they wait until the library asks for them. */
void sample_launch(const char *name);
/* A context is made, or destroyed. */
void fake_context(int is_made);
/* How often samples were asked for. */
uint64_t fake_asked(void);
/* Code is loaded: samples are in this cubin from now on. */
void fake_module(const void *code, size_t nr_bytes);
/* How often the library has drained all samples. */
uint64_t fake_drains(void);

/* --- fake_work.c: the work that the program reports, and graphs --------------------------------- */

/* Writes the record of the graph that was launched last. If it still runs, it ends at `end`; 0 = when it is done. */
void end_graph(uint64_t end);
/* Whether CUPTI has seen a graph. */
int has_met_graph(void);

/* `node` is a kernel of a graph, or 0. */
void fake_launch(const char *name, uint64_t node);
/* A kernel whose times the program knows. */
void fake_kernel(const char *name, uint32_t stream, const uint64_t times[2]);
void fake_copy(uint64_t bytes);
/* The copy begins after `us` microseconds, and the call returns at its end. */
void fake_copy_late(uint64_t bytes, unsigned us);
/* A call of the driver that takes `us` microseconds: 6 synchronises, 7 allocates, 8 frees. */
void fake_wait(unsigned id, unsigned us);
/* Waits as if for a stream. */
void fake_sync(unsigned us);
/*
 * A call of the driver with up to two handles: 6 synchronises a stream, 11 records an event in a stream, 12 makes a stream
 * wait for an event, 13 synchronises an event.
 */
void fake_order(unsigned id, uint64_t first, uint64_t second);
/* cudaProfilerStart and cudaProfilerStop. */
void fake_profiler(int is_start);
/* Allocates or frees memory. */
void fake_memory(uint64_t address, uint64_t bytes, int is_free);
/* A kernel is launched into a stream that is being captured: a node is made, and nothing runs. */
void fake_capture(uint64_t id);
/* A node of a graph is made, or cloned from another. */
void fake_node(uint64_t id, uint64_t original);
void fake_device(void);

#endif
