#include "viewer/compare/differences_model.h"

#include "engine/ir/model.h"
#include "viewer/compare/compare_parts.h"
#include "viewer/scene/family.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace loopscope::viewer {

DifferencesModel::DifferencesModel(CompareDesk& desk, QObject* parent) : QAbstractTableModel(parent), m_desk(desk)
{
    connect(&desk, &CompareDesk::runChanged, this, [this] { collect(); });
    connect(&desk, &CompareDesk::judgementChanged, this, [this] { collect(); });
    collect();
}

void DifferencesModel::collect()
{
    beginResetModel();
    m_rows.clear();
    for (int row = 0; row < m_desk.judgement().comparedRows(); ++row) {
        const DriftFigures* const figures = m_desk.judgement().figuresOf(row);
        if (figures && (m_all || figures->different > 0 || !figures->mismatch.empty())) m_rows.push_back(row);
    }
    nameClipped();
    order();
    endResetModel();
}

/// "255s" where all that is quantized is u8, "127s" for i8.
void DifferencesModel::nameClipped()
{
    m_hasClipped = false;
    std::set<DType> dtypes;
    for (int row = 0; row < m_desk.judgement().comparedRows(); ++row) {
        const DriftRow& one = m_desk.drift()->rows[static_cast<size_t>(row)];
        if (one.quantized == 0) continue;
        m_hasClipped = true;
        const auto note = [&](const Value& value) {
            if (value.type.quantization) dtypes.insert(value.type.dtype);
        };
        const Model& here = m_desk.document().model();
        const ValueId value = here.graph(one.graph).op(one.op).results[static_cast<size_t>(one.slot)];
        note(here.graph(one.graph).value(value));
        const Reference& other = *m_desk.reference();
        if (!other.model() || one.graph != m_desk.root()) continue;
        if (const ValuePairing::Partner* const there = other.values()->partner(one.graph, other.root(), value))
            note(other.model()->graph(there->graph).value(there->value));
    }
    m_clippedName = dtypes.size() == 1 ? QStringLiteral("%1s").arg(static_cast<qulonglong>(integerMax(*dtypes.begin()))) : tr("clipped");
}

void DifferencesModel::order()
{
    std::ranges::sort(m_rows);
    if (m_sortColumn == kClipped) {
        const auto share = [&](int row) {
            const double clipped = clippedShare(*m_desk.judgement().figuresOf(row));
            return std::isnan(clipped) ? 1.0 : -clipped;
        };
        if (m_sortOrder == Qt::AscendingOrder) std::ranges::stable_sort(m_rows, {}, share);
        else std::ranges::stable_sort(m_rows, std::greater{}, share);
        return;
    }
    if (m_sortColumn == kTensor || m_sortColumn == kNumber) {
        if (m_sortOrder == Qt::DescendingOrder) std::ranges::reverse(m_rows);
        return;
    }
    const Metric metric = kMetrics[static_cast<size_t>(m_sortColumn - 1)];
    const auto value = [&](int row) { return goodness(*m_desk.judgement().figuresOf(row), metric); };
    // The first click shows the worst, whichever end of the numbers that is.
    if (m_sortOrder == Qt::AscendingOrder) std::ranges::stable_sort(m_rows, {}, value);
    else std::ranges::stable_sort(m_rows, std::greater{}, value);
}

void DifferencesModel::sort(int column, Qt::SortOrder order)
{
    emit layoutAboutToBeChanged();
    std::vector<int> kept;
    const QModelIndexList before = persistentIndexList();
    for (const QModelIndex& index : before) kept.push_back(driftRow(index.row()));
    m_sortColumn = std::clamp(column, 0, columnCount() - 1);
    m_sortOrder = order;
    this->order();
    for (qsizetype i = 0; i < before.size(); ++i)
        changePersistentIndex(before[i], index(rowOf(kept[static_cast<size_t>(i)]), before[i].column()));
    emit layoutChanged();
}

void DifferencesModel::setAllShown(bool all)
{
    if (all == m_all) return;
    m_all = all;
    collect();
}

int DifferencesModel::rowOf(int driftRow) const
{
    const auto found = std::ranges::find(m_rows, driftRow);
    return found == m_rows.end() ? -1 : static_cast<int>(found - m_rows.begin());
}

int DifferencesModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
int DifferencesModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kNumber + 1; }

QVariant DifferencesModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
    if (role == Qt::TextAlignmentRole && section != kTensor) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    if (section == kTensor) return role == Qt::DisplayRole ? QVariant(tr("Tensor")) : QVariant();
    if (section == kClipped) {
        if (role == Qt::DisplayRole) return m_clippedName;
        return role == Qt::ToolTipRole
                   ? QVariant(tr("share of the quantized elements at an end of their dtype, where larger numbers were cut off"))
                   : QVariant();
    }
    if (section == kNumber) {
        if (role == Qt::DisplayRole) return QStringLiteral("#");
        return role == Qt::ToolTipRole ? QVariant(tr("index of the operator in its graph")) : QVariant();
    }
    const Metric metric = kMetrics[static_cast<size_t>(section - 1)];
    if (role == Qt::DisplayRole) return QString::fromUtf8(metricName(metric));
    return role == Qt::ToolTipRole ? QVariant(QString::fromUtf8(metricHelp(metric))) : QVariant();
}

QVariant DifferencesModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const int at = driftRow(index.row());
    const DriftRow& row = m_desk.drift()->rows[static_cast<size_t>(at)];
    const DriftFigures& figures = *m_desk.judgement().figuresOf(at);
    const Verdict verdict = m_desk.judgement().verdictOf(at);
    if (role == Qt::ToolTipRole) {
        const std::string& id = m_desk.document()
                                    .model()
                                    .graph(row.graph)
                                    .value(m_desk.document().model().graph(row.graph).op(row.op).results[static_cast<size_t>(row.slot)])
                                    .displayName();
        QString text = toText(row.address) + "\n" + toText(id) + "\n" + QString::fromUtf8(verdictText(verdict));
        if (!figures.mismatch.empty()) text += "\n" + toText(figures.mismatch);
        if (row.writes > 1) text += tr("\n%L1 writes").arg(row.writes);
        return text;
    }
    if (index.column() == kTensor) {
        switch (role) {
        case Qt::DisplayRole: return tensorText(m_desk.document().model(), row);
        case Qt::AccessibleTextRole: return tr("%1, %2").arg(placeText(row.address), QString::fromUtf8(verdictText(verdict)));
        case stripeRole: return static_cast<int>(familyOf(m_desk.document().model().graph(row.graph).op(row.op).kind));
        case boldRole: return at == m_desk.row();
        default: return {};
        }
    }
    if (role == monoRole) return true;
    if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    if (index.column() == kNumber) {
        if (role == Qt::DisplayRole) return row.op.index;
        return role == toneRole ? QVariant(static_cast<int>(Tone::text3)) : QVariant();
    }
    if (index.column() == kClipped) {
        const double share = clippedShare(figures);
        if (role == Qt::DisplayRole) return std::isnan(share) ? QStringLiteral("–") : QStringLiteral("%1 %").arg(100 * share, 0, 'f', 1);
        return {};
    }
    const Metric metric = kMetrics[static_cast<size_t>(index.column() - 1)];
    switch (role) {
    case Qt::DisplayRole: return toText(metricText(metric, measured(figures, metric)));
    case toneRole:
        if (metric != m_desk.judgement().metric()) return {};
        return static_cast<int>(verdict == Verdict::farOver ? Tone::err : verdict == Verdict::over ? Tone::warn : Tone::ok);
    default: return {};
    }
}

} // namespace loopscope::viewer
