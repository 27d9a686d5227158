// What it costs to grow, fill and empty a TensorList in a loop: an operator writes what has
// changed, whatever the list's length.
#include "converters/lsir/lsir.h"
#include "engine/base/clock.h"
#include "engine/exec/dataflow_executor.h"
#include "engine/exec/make_executor.h"
#include "engine/transform/run_selection.h"
#include "tests/bench/report.h"

#include <algorithm>
#include <string>

namespace loopscope::bench {
namespace {

/// A While that runs `step` on `list` n times.
std::string loopOf(const std::string& list, const std::string& step)
{
    return R"(model tf
graph main(n: i32[]) {
  zero = Const() dtype=i32 value=i32[] 0 : i32
  shape = Const() dtype=i32 value=i32[0] [] : i32
  most = Const() dtype=i32 value=i32[] -1 : i32
  range = Const() dtype=i32 value=i32[] 1 : i32
  all = Range(zero, n, range) Tidx=i32 : i32
  list = )" +
           list + R"( : variant
  w = While(zero, n, list) T=[i32, i32, variant] body=@body cond=@cond : (i32, i32, variant)
  length = TensorListLength(w:2) : i32
  return length=length
}
graph cond(i: i32[], n: i32[], list: variant[]) {
  y = Less(i, n) T=i32 : bool
  return y=y
}
graph body(i: i32[], n: i32[], list: variant[]) {
  one = Const() dtype=i32 value=i32[] 1 : i32
  shape = Const() dtype=i32 value=i32[0] [] : i32
  next = AddV2(i, one) T=i32 : i32
  list_next = )" +
           step + R"(
  return next=next, n=n, list=list_next
}
)";
}

/// Microseconds of one iteration, over lists of up to `length` elements.
double microseconds(const std::string& text, int32_t length, bool asDataflow = false)
{
    const Result<Model> model = modelFromText(text, "lists");
    if (!model.ok()) return -1;
    const Result<Model> selected = selectForRun(*model, GraphId(0), {});
    if (!selected.ok()) return -1;
    Result<std::unique_ptr<Executor>> executor = makeExecutor(*selected, GraphId(0));
    if (asDataflow) executor = std::unique_ptr<Executor>(DataflowExecutor::create(*selected, GraphId(0)).value());
    if (!executor.ok()) return -1;
    Tensor n;
    n.data = reinterpret_cast<std::byte*>(&length);
    n.bytes = sizeof length;
    n.dtype = DType::i32;
    double best = 1e18;
    for (int i = 0; i < 3; ++i) {
        if (!(*executor)->setInput(0, n).ok() || !(*executor)->start().ok()) return -1;
        const int64_t from = nowNs();
        if (!(*executor)->run().ok()) return -1;
        best = std::min(best, static_cast<double>(nowNs() - from) / 1e3 / length);
    }
    return best;
}

int run()
{
    const std::string empty = "EmptyTensorList(shape, most) element_dtype=i32 shape_type=i32",
                      full = "TensorListFromTensor(all, shape) element_dtype=i32 shape_type=i32";
    const std::string push = "TensorListPushBack(list, i) element_dtype=i32 : variant";
    const std::string set = "TensorListSetItem(list, i, i) element_dtype=i32 resize_if_index_out_of_bounds=false : variant";
    const std::string reserved = "TensorListReserve(shape, n) element_dtype=i32 shape_type=i32";
    const std::string pop = "TensorListPopBack(list, shape) element_dtype=i32 : (variant, i32)";
    for (const int32_t length : {100, 1000, 10000, 100000}) {
        const std::string at = "_of_" + std::to_string(length);
        const double goal = 5;
        report(("list_push" + at).c_str(), microseconds(loopOf(empty, push), length), "us", goal);
        report(("list_set" + at).c_str(), microseconds(loopOf(full, set), length), "us", goal);
        report(("list_fill" + at).c_str(), microseconds(loopOf(reserved, set), length), "us", goal);
        report(("list_pop" + at).c_str(), microseconds(loopOf(full, pop), length), "us", goal);
        report(("dataflow_list_push" + at).c_str(), microseconds(loopOf(empty, push), length, true), "us", goal);
        report(("dataflow_list_fill" + at).c_str(), microseconds(loopOf(reserved, set), length, true), "us", goal);
    }
    return 0;
}

} // namespace
} // namespace loopscope::bench

int main() { return loopscope::bench::run(); }
