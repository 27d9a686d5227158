// Errors as exceptions of Python, and tensors as arrays of NumPy: what the extension module (binding.cpp) speaks with.
#pragma once

#include "engine/api/inputs/inputs.h"
#include "engine/base/result.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <string>
#include <utility>

namespace loopscope {

namespace py = pybind11;

/// Carries an Error to where it becomes an exception of Python.
struct Failure {
    ErrorCode code;
    std::string text;
};

[[noreturn]] void fail(const Error& error);

inline void check(Status status)
{
    if (!status.ok()) fail(std::move(status).takeError());
}

template <typename T> T checked(Result<T> result)
{
    if (!result.ok()) fail(result.error());
    return std::move(result).value();
}

/// NumPy's name of a dtype; null: it lacks it.
const char* numpyName(DType dtype);
/// NumPy's dtype of one of these names; made once, since that takes as long as running a small model.
const py::dtype& dtypeOf(const char* name);
/// An array with the elements of a tensor: its own copy, since the engine goes on. Of dtypes that NumPy lacks the bytes of an .npy file, of
/// variants a dictionary of their parts (`[0]`, `[1][2]`).
py::object arrayOf(const Tensor& tensor);
/// A tensor that shows an array where it lies; `held` keeps it alive. Errors: usage, in the words of the command line.
Tensor tensorOf(const Port& port, const py::handle& given, py::array& held, Array& made);

} // namespace loopscope
