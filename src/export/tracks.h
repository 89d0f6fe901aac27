/*
 * Tracks: everything that happened, by time, one track per thread and per stream.
 *
 * For captures with timestamps (native, Nsight Systems). A track holds the range
 * entries of one thread and domain, the start/end entries or marks of one process, or
 * the launches of one stream, in order of start. Entries and launches that the
 * selection leaves out are left out. Borrows from the tree.
 */
#ifndef SONDE_EXPORT_TRACKS_H
#define SONDE_EXPORT_TRACKS_H

#include "tree/tree.h"

enum sonde_track_kind {
	SONDE_TRACK_THREAD,
	SONDE_TRACK_STARTS,
	SONDE_TRACK_STREAM,
	SONDE_TRACK_MARKS, /* marks of a process: events without a length */
};

struct sonde_track_event {
	uint64_t start_ns, end_ns; /* end is never before start */
	uint64_t call_ns;	   /* launches: when the host made the call, 0 = unknown … */
	uint32_t caller;	   /* … and the track of the calling thread, SONDE_NONE = it has none */
	uint32_t name;		   /* string number */
	uint32_t region; /* the entry's region, or the one it was launched in; SONDE_NONE = none */
	uint32_t arguments; /* string number: a list of read/arguments.h, or SONDE_NONE */
	uint32_t track;	 /* private */
};

struct sonde_track {
	uint8_t kind;	       /* enum sonde_track_kind */
	uint32_t process;      /* number of the process in the cells */
	uint32_t device;       /* streams only, else SONDE_NONE */
	uint64_t line;	       /* number of the thread or stream, else 0 */
	struct sonde_str name; /* "thread 4519 loader · io", "GPU 0 · stream 7" */
	size_t first, nr;      /* slice of the events */
};

struct sonde_tracks {
	SONDE_VEC(struct sonde_track) tracks; /* by process; in a process threads, start/end ranges, streams, marks */
	SONDE_VEC(struct sonde_track_event) events;
	uint64_t first_ns, last_ns; /* begin and end of all events; without events, of the curves */
	size_t nr_left_out; /* events beyond `max_events` */
	struct sonde_arena arena;
};

/* Whether the capture has timestamps and the cells have a timeline. */
bool sonde_tracks_exist(const struct sonde_tree *t);
int sonde_tracks_build(struct sonde_tracks *out, const struct sonde_tree *t, size_t max_events,
	struct sonde_err *err);
void sonde_tracks_release(struct sonde_tracks *s);

#endif
