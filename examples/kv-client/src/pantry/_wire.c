/* Between Python's bytes and the vendored library. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "memtext.h"

static PyObject *Damaged;

PyDoc_STRVAR(store_doc, "store(key, value): the command that stores a value with its digest.");

static PyObject *store(PyObject *self, PyObject *args)
{
    Py_buffer key, value;
    PyObject *command = NULL;
    char head[320];
    int length;

    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*", &key, &value))
        return NULL;
    if (key.len == 0 || key.len > 250) {
        PyErr_SetString(PyExc_ValueError, "a key has 1 to 250 bytes");
        goto done;
    }
    length = PyOS_snprintf(head, sizeof head, "set %.*s %lu 0 %zd\r\n", (int)key.len, (const char *)key.buf,
                           (unsigned long)memtext_digest(value.buf, (size_t)value.len), value.len);
    command = PyBytes_FromStringAndSize(NULL, length + value.len + 2);
    if (command != NULL) {
        char *into = PyBytes_AS_STRING(command);
        memcpy(into, head, (size_t)length);
        memcpy(into + length, value.buf, (size_t)value.len);
        memcpy(into + length + value.len, "\r\n", 2);
    }
done:
    PyBuffer_Release(&key);
    PyBuffer_Release(&value);
    return command;
}

PyDoc_STRVAR(value_doc, "value(answer): a tuple with the value or None, empty as long as more has to come.");

static PyObject *value(PyObject *self, PyObject *args)
{
    Py_buffer data;
    PyObject *found = NULL;
    struct memtext_answer answer;

    (void)self;
    if (!PyArg_ParseTuple(args, "y*", &data))
        return NULL;
    answer = memtext_read(data.buf, (size_t)data.len);
    if (answer.kind == MEMTEXT_INCOMPLETE)
        found = PyTuple_New(0);
    else if (answer.kind == MEMTEXT_MISS)
        found = Py_BuildValue("(O)", Py_None);
    else if (answer.kind == MEMTEXT_WRONG)
        PyErr_SetString(PyExc_ValueError, "no answer of memcached's");
    else if (memtext_digest(answer.value, answer.length) != answer.flags)
        PyErr_SetString(Damaged, "the value is not the one that was stored");
    else
        found = Py_BuildValue("(y#)", answer.value, (Py_ssize_t)answer.length);
    PyBuffer_Release(&data);
    return found;
}

static PyMethodDef methods[] = {
    {"store", store, METH_VARARGS, store_doc},
    {"value", value, METH_VARARGS, value_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "pantry._wire", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__wire(void)
{
    PyObject *wire = PyModule_Create(&module);

    if (wire == NULL)
        return NULL;
    Damaged = PyErr_NewException("pantry.Damaged", PyExc_ValueError, NULL);
    if (Damaged == NULL || PyModule_AddObjectRef(wire, "Damaged", Damaged) < 0) {
        Py_DECREF(wire);
        return NULL;
    }
    return wire;
}
