#include "engine/api/inputs/text_input.h"

#include "engine/api/inputs/filled_array.h"
#include "engine/api/inputs/literal.h"
#include "engine/base/trimmed.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace loopscope {

namespace {

constexpr std::string_view kBlanks = " \t\r";

/// Cells of one line, without quotes and blanks around them.
std::vector<std::string_view> cellsOf(std::string_view line)
{
    char separator = 0;
    for (const char c : {',', ';'})
        if (separator == 0 && line.find(c) != std::string_view::npos) separator = c;
    std::vector<std::string_view> cells;
    while (true) {
        const size_t end = std::min(separator != 0 ? line.find(separator) : line.find_first_of(kBlanks), line.size());
        std::string_view cell = trimmed(line.substr(0, end));
        if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = trimmed(cell.substr(1, cell.size() - 2));
        cells.push_back(cell);
        if (end == line.size()) return cells;
        line.remove_prefix(end + 1);
        if (separator == 0) line = trimmed(line);
    }
}

/// Reads cells as elements of one dtype, packed ones a byte each.
class Elements {
public:
    explicit Elements(DType dtype) : m_dtype(dtype), m_width(static_cast<size_t>(std::max(bitWidth(dtype), 8)) / 8) {}

    /// False if the cell is no such number.
    bool add(std::string_view cell)
    {
        if (cell.starts_with('+')) cell.remove_prefix(1);
        if (isFloat(m_dtype)) return m_dtype == DType::f32 ? addFloat(cell) : addReal(cell);
        if (m_dtype == DType::boolean) {
            if (cell != "true" && cell != "false" && cell != "1" && cell != "0") return false;
            return put(static_cast<uint8_t>(cell == "true" || cell == "1"));
        }
        if (dtypeClass(m_dtype) == DTypeClass::unsignedInteger) {
            uint64_t value = 0;
            return parsed(cell, value) && value <= integerMax(m_dtype) && put(value);
        }
        int64_t value = 0;
        const auto most = static_cast<int64_t>(std::min<uint64_t>(integerMax(m_dtype), INT64_MAX));
        return parsed(cell, value) && value >= integerMin(m_dtype) && value <= most && put(value);
    }

    int64_t count() const { return static_cast<int64_t>(m_bytes.size() / m_width); }
    std::vector<std::byte> take() { return bitWidth(m_dtype) < 8 ? packElements(m_bytes, m_dtype) : std::move(m_bytes); }

private:
    template <typename T> static bool parsed(std::string_view cell, T& value)
    {
        const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
        return error == std::errc() && end == cell.data() + cell.size();
    }

    /// The low bytes of `value`.
    template <typename T> bool put(T value)
    {
        const size_t at = m_bytes.size();
        m_bytes.resize(at + m_width);
        std::memcpy(m_bytes.data() + at, &value, std::min(m_width, sizeof value));
        return true;
    }

    bool addFloat(std::string_view cell)
    {
        float value = 0; // read as what it becomes: rounding twice may give a neighbour
        return parsed(cell, value) && put(value);
    }

    bool addReal(std::string_view cell)
    {
        double value = 0;
        if (!parsed(cell, value)) return false;
        const size_t at = m_bytes.size();
        m_bytes.resize(at + m_width);
        storeReal(m_bytes.data() + at, m_dtype, value);
        return true;
    }

    DType m_dtype;
    size_t m_width;
    std::vector<std::byte> m_bytes;
};

/// "3 rows of 4 numbers".
std::string tableText(int64_t rows, int64_t columns)
{
    return std::to_string(rows) + (rows == 1 ? " row of " : " rows of ") + std::to_string(columns) +
           (columns == 1 ? " number" : " numbers");
}

/// The shape that a table takes: its rows are the first dimensions multiplied.
Result<Shape> shapeOfTable(int64_t rows, int64_t columns, const Shape& wanted)
{
    const int64_t count = rows * columns;
    if (!wanted.hasRank()) return rows == 1 || columns == 1 ? Shape{count} : Shape{rows, columns};
    Shape shape = wanted;
    int64_t known = 1;
    const auto unknown = std::ranges::count_if(shape.dims(), [](int64_t size) { return size < 0; });
    for (const int64_t size : shape.dims())
        if (size >= 0 && (__builtin_mul_overflow(known, size, &known))) known = 0;
    if (unknown > 1 && shape.rank() == 2) shape = Shape{rows, columns};
    else if (unknown > 1) return Error(ErrorCode::usage, "say the shape after the file, as in ':[2,3]'").found(tableText(rows, columns));
    for (int d = 0; d < shape.rank(); ++d)
        if (shape[d] < 0) shape[d] = known > 0 && count % known == 0 ? count / known : -1;
    int64_t product = 1;
    bool fits = rows == 1;
    for (const int64_t size : shape.dims()) {
        if (size < 0 || __builtin_mul_overflow(product, size, &product)) product = -1;
        if (product < 0) break;
        fits = fits || product == rows;
    }
    if (product != count || !fits)
        return Error(ErrorCode::usage, "the table does not fit").found(tableText(rows, columns)).expected("shape " + toString(wanted));
    return shape;
}

Result<Array> linesAsStrings(std::string_view text, const Shape& wanted)
{
    std::vector<std::string> lines;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        lines.emplace_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    Array array;
    array.dtype = DType::string;
    LS_TRY(array.shape, shapeOfTable(std::ssize(lines), 1, wanted));
    array.bytes = packStrings(lines);
    return array;
}

} // namespace

Result<Array> arrayOfText(const Port& port, DType dtype, std::string_view text, const std::optional<Shape>& shape,
                          std::vector<std::string>& notes)
{
    const Shape wanted = shape.value_or(port.type.dynamicShape());
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3); // a mark that some writers put in front of UTF-8
    if (dtype == DType::string) return linesAsStrings(text, wanted);
    if (!isFloat(dtype) && !isInteger(dtype) && dtype != DType::boolean)
        return Error(ErrorCode::usage, "a text file gives numbers and strings").expected(std::string(dtypeName(dtype)));
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return Error(ErrorCode::usage, "the file holds no numbers");
    if (text[first] == '[') return parseLiteral(trimmed(text.substr(first)), dtype, wanted, ScalarMeans::oneElement);

    Elements elements(dtype);
    int64_t rows = 0, columns = 0, number = 0;
    bool mayBeNames = true;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        line = trimmed(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        const std::vector<std::string_view> cells = cellsOf(line);
        size_t read = 0;
        while (read < cells.size() && elements.add(cells[read])) ++read;
        if (read == 0 && mayBeNames) {
            // Only where no cell of the row is a number: half of a row is never left out.
            Elements others(dtype == DType::f32 || dtype == DType::f64 ? dtype : DType::f64);
            if (std::ranges::none_of(cells, [&](std::string_view cell) { return cell.empty() || others.add(cell); })) {
                notes.push_back("input '" + port.name + "': line " + std::to_string(number) + " is taken as names of columns");
                mayBeNames = false;
                continue;
            }
        }
        mayBeNames = false;
        if (read < cells.size()) {
            Error error = Error(ErrorCode::usage, "line " + std::to_string(number) + ", column " + std::to_string(read + 1))
                              .found(quotedText(cells[read], 20))
                              .expected(std::string(dtypeName(dtype)));
            if (isInteger(dtype) && Elements(DType::f64).add(cells[read]))
                return std::move(error).note(port.type.quantization ? "':quantize' takes real numbers" : "':cast' takes real numbers");
            return error;
        }
        const auto width = static_cast<int64_t>(cells.size());
        if (rows > 0 && width != columns)
            return Error(ErrorCode::usage, "line " + std::to_string(number) + " has " + std::to_string(width) +
                                               (width == 1 ? " number" : " numbers") + ", expected " + std::to_string(columns) +
                                               " as in the rows before");
        columns = width;
        ++rows;
    }
    if (rows == 0) return Error(ErrorCode::usage, "the file holds no numbers");
    Array array;
    array.dtype = dtype;
    // A shape that was typed is not held against rows and columns.
    const bool isTyped = shape && checkedElementCount(*shape) == rows * columns;
    LS_TRY(array.shape, isTyped ? Result<Shape>(*shape) : shapeOfTable(rows, columns, wanted));
    array.bytes = elements.take();
    return array;
}

} // namespace loopscope
