/*
 * Inside modules/: the part of Python's stable ABI that we use, and the functions that sitecustomize.py calls.
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
PyObject *PyDict_GetItemString(PyObject *dict, const char *key); /* returns a borrowed reference; sets no exception */
long long PyLong_AsLongLong(PyObject *o);
PyObject *PyErr_Occurred(void); /* returns a borrowed reference */
PyObject *PyTuple_GetItem(PyObject *tuple, intptr_t i);
intptr_t PyTuple_Size(PyObject *tuple);
void PyErr_Clear(void);
void Py_IncRef(PyObject *o);
void Py_DecRef(PyObject *o);

/* --- functions that sitecustomize.py calls, by ctypes and with the interpreter's lock held --------- */

#pragma GCC visibility push(default)
/*
 * Makes a guard: a callable that does what `original` does, inside a range called `label`. With USE_MODULE the range has the
 * name of the module that is called, and `namer` is called for modules without a name. `use` is an enum use (modules.c). Returns
 * NULL with an exception when memory is short. The guard lives as long as the process.
 */
PyObject *sonde_modules_guard(PyObject *original, int use, PyObject *namer, const char *label);
/* Names a module. A module that is used in several places keeps its first name. `is_leaf`: it has no modules inside. */
void sonde_modules_name(PyObject *module, const char *label, int is_leaf);
/* Forgets the name of a module that is being destroyed: another module may get the same address. */
void sonde_modules_forget(PyObject *module);
/*
 * Limits which modules get ranges: those down to `depth`, 0 = all; without `keeps_leaves`, leaves lose their ranges
 * where these cost too much.
 */
void sonde_modules_limit(unsigned depth, int keeps_leaves);
int sonde_modules_left_leaves(void); /* whether leaves have lost their ranges */
/* The number of modules that are running in this thread. */
unsigned sonde_modules_depth(void);
/* The outermost of these modules, as a new reference. */
PyObject *sonde_modules_outermost(void);
/* Begins to mark the steps of training loops; `is_grad_enabled` is torch.is_grad_enabled. */
void sonde_modules_steps(PyObject *is_grad_enabled);
/*
 * Begins to read the allocator at the boundaries of ranges: `stats` is torch._C._cuda_memoryStats, `device` is
 * torch._C._cuda_getDevice, and `cuda` is the dict of torch.cuda, which says whether CUDA is in use.
 */
void sonde_modules_memory(PyObject *stats, PyObject *device, PyObject *cuda);
void sonde_modules_end(void); /* the program ends: ends a step that is open */
#pragma GCC visibility pop

#endif
