// A and B: the whole tensor of one side in the ordinary viewer, at the write that the difference is shown of.
#include "engine/observe/address_resolution.h"
#include "viewer/compare/compare_panels.h"
#include "viewer/compare/compare_parts.h"
#include "viewer/tensor/tensor_panel.h"

#include <tuple>

namespace loopscope::viewer {

namespace {

class SideFeed : public TensorFeed {
    Q_OBJECT
public:
    SideFeed(CompareDesk& desk, CompareSide side) : m_desk(desk), m_side(side)
    {
        for (const auto signal : {&CompareDesk::shownRowChanged, &CompareDesk::judgementChanged, &CompareDesk::runChanged})
            connect(&desk, signal, this, &SideFeed::look);
        look();
    }

    FedTensor now() const override
    {
        FedTensor fed;
        const int row = m_desk.shownRow();
        const int64_t step = m_desk.judgement().stepOf(row);
        if (row < 0 || step < 0) {
            fed.why = row < 0 ? tr("Select an operator on either side, or a row of the differences.")
                              : tr("Not run on both sides in this iteration.");
            return fed;
        }
        const DriftRow& one = m_desk.drift()->rows[static_cast<size_t>(row)];
        fed.declared = declaredOf(one);
        fed.why = tr("B holds arrays and no graph.");
        fed.place = QStringLiteral("%1_step%2_%3").arg(toText(one.address)).arg(step).arg(m_side == CompareSide::here ? "A" : "B");
        fed.fetch = [one, step, side = m_side](Inspector& inspector) {
            std::shared_ptr<const KeptTensor> kept;
            Status status = inspector.withBothSides(one, step, [&](const Tensor& here, const Tensor* there) {
                if (side == CompareSide::here || there)
                    kept = std::make_shared<const KeptTensor>(side == CompareSide::here ? here : *there);
            });
            using Fetched = Result<std::shared_ptr<const KeptTensor>>;
            if (!status.ok()) return Fetched(std::move(status).takeError());
            if (!kept) return Fetched(Error(ErrorCode::usage, "B has no such value"));
            if (dtypeClass(kept->tensor.dtype) == DTypeClass::handle) return Fetched(Error(ErrorCode::usage, "a handle has no elements"));
            return Fetched(std::move(kept));
        };
        return fed;
    }

private:
    /// The value as the file of this side declares it.
    const Value* declaredOf(const DriftRow& row) const
    {
        const Graph& graph = m_desk.document().model().graph(row.graph);
        const ValueId value = graph.op(row.op).results[static_cast<size_t>(row.slot)];
        if (m_side == CompareSide::here) return &graph.value(value);
        const Model* const other = m_desk.modelOf(CompareSide::there);
        const std::vector<std::string> partners = m_desk.partnersOf(CompareSide::here, row.address);
        if (!other || partners.empty()) return &graph.value(value); // arrays
        const Result<Address> address = parseAddress(partners.front());
        if (!address.ok()) return &graph.value(value);
        const Result<ResolvedAddress> place = resolveAddress(*other, *address);
        if (!place.ok()) return &graph.value(value);
        const ValuePairing::Partner* const partner = m_desk.reference()->values()->partner(row.graph, place->graph, value);
        return partner != nullptr ? &other->graph(partner->graph).value(partner->value) : &graph.value(value);
    }

    void look()
    {
        const std::tuple<int, int64_t, const Drift*> at(m_desk.shownRow(), m_desk.judgement().stepOf(m_desk.shownRow()), m_desk.drift());
        if (at == m_at) return;
        m_at = at;
        emit changed();
    }

    CompareDesk& m_desk;
    CompareSide m_side;
    std::tuple<int, int64_t, const Drift*> m_at{-2, -1, nullptr}; ///< what was shown; only compared
};

Panel* makeSide(Document& document, CompareSide side)
{
    const bool here = side == CompareSide::here;
    return makeFedTensorPanel(document, here ? "panelTensorA" : "panelTensorB", here ? "A" : "B",
                              new SideFeed(CompareDesk::of(document), side));
}

} // namespace

Panel* makeTensorAPanel(Document& document) { return makeSide(document, CompareSide::here); }
Panel* makeTensorBPanel(Document& document) { return makeSide(document, CompareSide::there); }

} // namespace loopscope::viewer

#include "side_panels.moc"
