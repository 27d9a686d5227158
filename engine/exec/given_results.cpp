#include "engine/exec/given_results.h"

#include "engine/exec/run_core.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"

#include <cstring>
#include <set>

namespace loopscope {

namespace {

/// Operators that the executors run themselves have no kernels either; a file that names another model is opened and run by itself.
bool lacksKernel(const Operator& op)
{
    if (KernelRegistry::builtin().has(op.kind) || op.kind == Kind{"circle", "run_model"}) return false;
    const OpDef* const def = findOp(op.kind);
    return (def == nullptr || !def->isCall) && callForm(op).kind == CallKind::none;
}

template <typename Visit> void eachLacking(const Model& model, const Visit& visit)
{
    for (const Graph& graph : model.graphs)
        for (const Operator& op : graph.operators)
            if (lacksKernel(op)) visit(op);
}

std::string nameOf(const Operator& op)
{
    const bool isPlain = op.kind.dialect == "tfl" || op.kind.dialect == "custom";
    return "operator '" + (isPlain ? op.kind.name : op.kind.full()) + "'";
}

} // namespace

bool GivenResults::areNeeded(const Model& model)
{
    bool any = false;
    eachLacking(model, [&](const Operator&) { any = true; });
    return any;
}

GivenResults::GivenResults(const Model& model) : KernelRegistry(KernelRegistry::builtin())
{
    std::set<std::string> kinds;
    eachLacking(model, [&](const Operator& op) {
        if (!kinds.insert(op.kind.full()).second) return;
        KernelEntry entry;
        entry.dialect = op.kind.dialect;
        entry.name = op.kind.name;
        entry.prepare = prepare;
        add(entry);
    });
}

bool GivenResults::standsIn(const Operator& op) const { return lacksKernel(op); }

Status GivenResults::give(const Operator& op, int slot, GivenResult result)
{
    if (!standsIn(op)) return Error(ErrorCode::usage, nameOf(op) + " has a kernel; 'set' changes what it computed");
    Given& given = (*m_table)[{&op, slot}];
    if (given.isTaken)
        return Error(ErrorCode::usage, nameOf(op) + " has run with another result in this run").expected("'start' first, then 'give'");
    given.result = std::move(result);
    return {};
}

void GivenResults::begin()
{
    for (auto& [place, given] : *m_table) given.isTaken = false;
}

Result<PreparedKernel> GivenResults::prepare(const KernelSetup& setup)
{
    PreparedKernel kernel;
    kernel.run = take;
    kernel.params = std::make_shared<const Operator*>(&setup.op);
    return kernel;
}

Status GivenResults::take(const KernelArgs& args)
{
    const Operator& op = *args.paramsAs<const Operator*>();
    const auto* const core = dynamic_cast<const RunCore*>(args.runtime);
    if (core == nullptr || core->options().kernels == nullptr) return Error(ErrorCode::internal, "a given result without its run");
    // Only these registries have this kernel.
    Table& table = *static_cast<const GivenResults*>(core->options().kernels)->m_table;
    for (int k = 0; k < args.outputCount; ++k) {
        const auto found = table.find({&op, k});
        if (found == table.end()) {
            if (k == 0) return Error(ErrorCode::unsupported, nameOf(op) + " has no kernel; it opens, lists and exports");
            return Error(ErrorCode::unsupported, nameOf(op) + " has no kernel, and its result " + std::to_string(k) + " is not given");
        }
        LS_TRY(const Array array, found->second.result(core->address()));
        Tensor& out = args.out(k);
        const std::string which = "the given result " + std::to_string(k);
        if (array.dtype != out.dtype)
            return Error(ErrorCode::execution, which)
                .found(std::string(dtypeName(array.dtype)))
                .expected(std::string(dtypeName(out.dtype)));
        if (out.shape != array.shape || out.bytes != array.bytes.size())
            LS_CHECK_OK(args.runtime->resize(out, array.shape, array.bytes.size()));
        if (!array.bytes.empty()) std::memcpy(out.data, array.bytes.data(), array.bytes.size());
        found->second.isTaken = true;
    }
    return {};
}

} // namespace loopscope
