/*
 * Inside modules/: Python's stable ABI as far as it is used, and the functions that sitecustomize.py calls.
 */
#ifndef SONDE_MODULES_MODULES_H
#define SONDE_MODULES_MODULES_H

#include <stdint.h>

/* --- Python's stable ABI ------------------------------------------------------------------------- */

typedef struct sonde_python_object {
	intptr_t nr_references;
	void *type;
} PyObject;
struct sonde_python_slot {
	int number;
	void (*function)(void);
};
struct sonde_python_type {
	const char *name;
	int basic_size, item_size;
	unsigned flags;
	struct sonde_python_slot *slots;
};
enum { SLOT_CALL = 50, SLOT_DESCR_GET = 54, SLOT_GETATTR = 58, SLOT_SETATTR = 69 };

PyObject *PyType_FromSpec(struct sonde_python_type *spec);
PyObject *PyType_GenericAlloc(PyObject *type, intptr_t nr);
PyObject *PyMethod_New(PyObject *function, PyObject *self);
PyObject *PyObject_Call(PyObject *callable, PyObject *args, PyObject *kwargs);
PyObject *PyObject_CallFunctionObjArgs(PyObject *callable, ...);
PyObject *PyObject_GetAttr(PyObject *o, PyObject *name);
PyObject *PyObject_GenericGetAttr(PyObject *o, PyObject *name);
int PyUnicode_CompareWithASCIIString(PyObject *text, const char *with);
PyObject *PyObject_GetAttrString(PyObject *o, const char *name);
int PyObject_IsTrue(PyObject *o);
int PyObject_SetAttr(PyObject *o, PyObject *name, PyObject *value);
PyObject *PyDict_GetItemString(PyObject *dict, const char *key); /* borrowed; no exception */
long long PyLong_AsLongLong(PyObject *o);
PyObject *PyErr_Occurred(void); /* borrowed */
PyObject *PyTuple_GetItem(PyObject *tuple, intptr_t i);
intptr_t PyTuple_Size(PyObject *tuple);
void PyErr_Clear(void);
void Py_IncRef(PyObject *o);
void Py_DecRef(PyObject *o);

/* --- what sitecustomize.py calls, by ctypes and with the interpreter's lock held ------------------- */

#pragma GCC visibility push(default)
/*
 * A callable that does what `original` does, in a range called `label`; a module's (USE_MODULE) is named by `namer`.
 * NULL with an exception when memory is short. It lives as long as the process.
 */
PyObject *sonde_modules_guard(PyObject *original, int use, PyObject *namer, const char *label);
/* Names a module; the first name of a shared one stays. */
void sonde_modules_name(PyObject *module, const char *label, int is_leaf);
/* The module at this address is going: its place may be another module's next. */
void sonde_modules_forget(PyObject *module);
/* Marks modules down to this depth, 0 = all; leaves may be left out where they cost too much. */
void sonde_modules_limit(unsigned depth, int keeps_leaves);
int sonde_modules_left_leaves(void); /* whether they were */
/* Modules that are running in this thread, and the one around them all, as a new reference. */
unsigned sonde_modules_depth(void);
PyObject *sonde_modules_outermost(void);
/* Marks steps of training loops; `is_grad_enabled` is torch's. */
void sonde_modules_steps(PyObject *is_grad_enabled);
/*
 * Reads the allocator at boundaries of ranges: `stats` is torch._C._cuda_memoryStats, `device` torch._C._cuda_getDevice,
 * and `cuda` the dict of torch.cuda, which says whether CUDA is in use.
 */
void sonde_modules_memory(PyObject *stats, PyObject *device, PyObject *cuda);
void sonde_modules_end(void); /* the program ends: so does a step that is open */
#pragma GCC visibility pop

#endif
