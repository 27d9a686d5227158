// `x=table.csv`: the numbers of a text file become the elements of an input.
#pragma once

#include "engine/api/inputs/run_target.h"
#include "engine/base/result.h"
#include "engine/tensor/npy.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Rows of cells, apart by commas, else semicolons, else blanks; `#` begins a comment; a first row without any number names the columns
/// and is left out, with a note. What begins with `[` is a value as people type it. Of strings, each line is an element.
/// The shape is `shape`, else the declared one, if rows and columns fit it: the rows are its first dimensions multiplied, the columns
/// the others; unknown dimensions follow. `dtype` is what cells are read as.
/// Errors: usage, with line and column (a cell that is no such number, rows of different lengths, another shape).
Result<Array> arrayOfText(const Port& port, DType dtype, std::string_view text, const std::optional<Shape>& shape,
                          std::vector<std::string>& notes);

} // namespace loopscope
