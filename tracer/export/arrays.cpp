// Values of a trace as NumPy arrays: one array per write in an .npz, one array in an .npy.
#include "engine/base/bytes.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/npz.h"
#include "tracer/export/export.h"

#include <deque>

namespace loopscope {

namespace {

struct Collected {
    std::deque<StoredValue> values;
    std::vector<std::string> addresses;
    TraceExportSummary summary;
};

Result<Collected> collect(const TraceReader& trace, const TraceExportOptions& options)
{
    LS_TRY(SelectedWrites writes, SelectedWrites::create(trace, options));
    Collected all;
    LS_CHECK_OK(writes.forEach([&](const ViewedWrite& write, const std::string& address) -> Status {
        LS_TRY(std::optional<StoredValue> value, writes.view().valueOf(write));
        if (!value) {
            all.summary.notStored += write.state == 0 ? 1 : 0;
            return {};
        }
        all.values.push_back(std::move(*value));
        all.addresses.push_back(address);
        return {};
    }));
    all.summary.writes = static_cast<int64_t>(all.values.size());
    if (all.values.empty()) {
        const bool isThere = all.summary.notStored > 0;
        return Error(ErrorCode::usage, isThere ? std::to_string(all.summary.notStored) +
                                                     " writes match, but their elements are not stored; record with --level values "
                                                     "--keep PATTERN, or --level all"
                                               : std::string("nothing matches"))
            .at("export");
    }
    return all;
}

} // namespace

Result<TraceExportSummary> exportArrays(const TraceReader& trace, const std::string& path, const TraceExportOptions& options)
{
    LS_TRY(Collected all, collect(trace, options));
    if (options.format == TraceExportFormat::npz) {
        std::vector<NamedTensor> tensors;
        for (size_t i = 0; i < all.values.size(); ++i) {
            NamedTensor whole{all.addresses[i], all.values[i].tensor()};
            if (!options.parts) {
                tensors.push_back(std::move(whole));
                continue;
            }
            std::vector<NamedTensor> parts = options.parts(std::move(whole));
            all.summary.noForm += parts.empty() ? 1 : 0;
            for (NamedTensor& part : parts) tensors.push_back(std::move(part));
        }
        LS_CHECK_OK(writeNpz(path, tensors, options.overwrite));
        return all.summary;
    }
    // One write as it is; several of one type and shape stacked along a new first axis, in order of execution.
    StoredValue& first = all.values.front();
    if (all.values.size() > 1) {
        StoredValue stack;
        stack.dtype = first.dtype;
        stack.shape = Shape{static_cast<int64_t>(all.values.size())};
        for (const int64_t dim : first.shape.dims()) stack.shape.append(dim);
        for (size_t i = 0; i < all.values.size(); ++i) {
            const StoredValue& value = all.values[i];
            if (value.dtype != first.dtype || !(value.shape == first.shape)) {
                return Error(ErrorCode::usage, "an .npy holds arrays of one type and shape; use .npz")
                    .at(all.addresses[i])
                    .found(std::string(dtypeName(value.dtype)) + toString(value.shape))
                    .expected(std::string(dtypeName(first.dtype)) + toString(first.shape));
            }
            stack.bytes.insert(stack.bytes.end(), value.bytes.begin(), value.bytes.end());
        }
        const bool isWholeBytes = bitWidth(first.dtype) >= 8;
        if (!isWholeBytes)
            return Error(ErrorCode::unsupported, "values of type " + std::string(dtypeName(first.dtype)) + " cannot be stacked; use .npz")
                .at("export");
        LS_TRY(const std::vector<std::byte> content, writeNpy(stack.tensor()));
        LS_CHECK_OK(writeFile(path, content, options.overwrite));
        return all.summary;
    }
    LS_TRY(const std::vector<std::byte> content, writeNpy(first.tensor()));
    LS_CHECK_OK(writeFile(path, content, options.overwrite));
    return all.summary;
}

} // namespace loopscope
