#include "python/arrays.h"

#include "app/wiring/variant_parts.h"
#include "engine/tensor/value_text.h"
#include "engine/tensor/variants.h"

#include <array>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

namespace loopscope {

namespace {

struct NumpyType {
    DType dtype;
    const char* name;
};
constexpr std::array kTypes = {
    NumpyType{DType::f32, "float32"},   NumpyType{DType::f64, "float64"},     NumpyType{DType::f16, "float16"},
    NumpyType{DType::i8, "int8"},       NumpyType{DType::i16, "int16"},       NumpyType{DType::i32, "int32"},
    NumpyType{DType::i64, "int64"},     NumpyType{DType::u8, "uint8"},        NumpyType{DType::u16, "uint16"},
    NumpyType{DType::u32, "uint32"},    NumpyType{DType::u64, "uint64"},      NumpyType{DType::boolean, "bool"},
    NumpyType{DType::c64, "complex64"}, NumpyType{DType::c128, "complex128"}, NumpyType{DType::qi8, "int8"},
    NumpyType{DType::qu8, "uint8"},     NumpyType{DType::qi16, "int16"},      NumpyType{DType::qu16, "uint16"},
    NumpyType{DType::qi32, "int32"},
};

/// Which of kTypes an array has; unknown: none.
DType elementType(const py::array& array)
{
    const char kind = array.dtype().kind();
    const auto size = static_cast<int>(array.itemsize());
    for (const NumpyType& type : kTypes) {
        const char own = dtypeClass(type.dtype) == DTypeClass::floating          ? 'f'
                         : dtypeClass(type.dtype) == DTypeClass::signedInteger   ? 'i'
                         : dtypeClass(type.dtype) == DTypeClass::unsignedInteger ? 'u'
                         : type.dtype == DType::boolean                          ? 'b'
                                                                                 : 'c';
        if (own == kind && bitWidth(type.dtype) == 8 * size) return type.dtype;
    }
    return kind == 'b' ? DType::boolean : DType::unknown;
}

} // namespace

void fail(const Error& error)
{
    std::string text = error.message();
    for (const std::string& note : error.detail().notes) text += "\nnote: " + note;
    throw Failure{error.code(), text};
}

const char* numpyName(DType dtype)
{
    for (const NumpyType& type : kTypes)
        if (type.dtype == dtype) return type.name;
    return nullptr;
}

const py::dtype& dtypeOf(const char* name)
{
    static auto* const made = new std::map<std::string_view, py::dtype>(); // outlives the interpreter
    const auto [at, isNew] = made->try_emplace(name);
    if (isNew) at->second = py::dtype(name);
    return at->second;
}

py::object arrayOf(const Tensor& tensor)
{
    const char* const name = numpyName(tensor.dtype);
    if (tensor.dtype == DType::variant) {
        py::dict parts;
        const WholeVariant whole(tensor);
        for (const NamedTensor& part : app::variantParts("", whole.tensor())) parts[py::str(part.name)] = arrayOf(part.tensor);
        return parts;
    }
    if (name == nullptr) {
        const std::vector<std::byte> npy = checked(writeNpy(tensor));
        return py::bytes(reinterpret_cast<const char*>(npy.data()), npy.size());
    }
    std::vector<py::ssize_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
    py::array array(dtypeOf(name), dims);
    if (tensor.bytes > 0 && tensor.data != nullptr) std::memcpy(array.mutable_data(), tensor.data, tensor.bytes);
    return array;
}

Tensor tensorOf(const Port& port, const py::handle& given, py::array& held, Array& made)
{
    if (PyBytes_Check(given.ptr()) != 0) { // an .npy file, of a dtype that NumPy lacks
        char* data = nullptr;
        py::ssize_t size = 0;
        PyBytes_AsStringAndSize(given.ptr(), &data, &size);
        Array read = checked(readNpy({reinterpret_cast<const std::byte*>(data), static_cast<size_t>(size)}));
        made = checked(fromNpyStorage(std::move(read), port.type.dtype));
        return made.view();
    }
    held = py::array::ensure(given, py::array::c_style);
    if (held && held.dtype().byteorder() == '>') // of a machine that stores the high byte first
        held = py::array::ensure(held.attr("astype")(held.dtype().attr("newbyteorder")("=")), py::array::c_style);
    if (!held) {
        PyErr_Clear();
        fail(Error(ErrorCode::usage, "found no array, expected " + shortType(port.type)).at("input '" + port.name + "'"));
    }
    const char* const name = numpyName(port.type.dtype);
    Tensor tensor;
    tensor.dtype = elementType(held);
    tensor.shape = Shape(std::vector<int64_t>(held.shape(), held.shape() + held.ndim()));
    tensor.bytes = static_cast<size_t>(held.nbytes());
    tensor.data = static_cast<std::byte*>(const_cast<void*>(held.data()));
    if (name != nullptr && std::string_view(name) == std::string_view(numpyName(tensor.dtype) != nullptr ? numpyName(tensor.dtype) : ""))
        tensor.dtype = port.type.dtype; // quantized integers are stored as such
    const Shape& wanted = port.type.shape;
    bool fits = tensor.dtype == port.type.dtype && (!wanted.hasRank() || wanted.rank() == tensor.shape.rank());
    for (int d = 0; fits && wanted.hasRank() && d < wanted.rank(); ++d)
        fits = wanted[d] < 0 || wanted[d] == tensor.shape[d] || !port.type.shape.isStatic();
    if (!fits)
        fail(Error(ErrorCode::usage, "found " + shortType(tensor) + ", expected " + shortType(port.type)).at("input '" + port.name + "'"));
    return tensor;
}

} // namespace loopscope
