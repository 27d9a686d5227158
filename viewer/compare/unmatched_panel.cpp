// Unmatched: operators that only one side has.
#include "viewer/compare/compare_panels.h"
#include "viewer/compare/compare_parts.h"
#include "viewer/compare/unmatched_model.h"
#include "viewer/widgets/panel.h"

#include <QVBoxLayout>

namespace loopscope::viewer {

UnmatchedModel::UnmatchedModel(CompareDesk& desk, QObject* parent) : QAbstractTableModel(parent), m_desk(desk)
{
    connect(&desk, &CompareDesk::scenesChanged, this, [this] { collect(); });
    collect();
}

void UnmatchedModel::collect()
{
    beginResetModel();
    m_rows.clear();
    if (const PairedScenes* const scenes = m_desk.scenes()) {
        for (const std::string& address : scenes->onlyHere) m_rows.emplace_back(CompareSide::here, address);
        for (const std::string& address : scenes->onlyThere) m_rows.emplace_back(CompareSide::there, address);
    }
    endResetModel();
}

int UnmatchedModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
int UnmatchedModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : 2; }

QVariant UnmatchedModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return section == 0 ? tr("Operator") : tr("Only in");
}

QVariant UnmatchedModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const auto& [side, address] = m_rows[static_cast<size_t>(index.row())];
    if (role == Qt::ToolTipRole) return toText(address);
    if (index.column() == 0) return role == Qt::DisplayRole ? QVariant(placeText(address)) : QVariant();
    if (role == Qt::DisplayRole) return side == CompareSide::here ? "A" : "B";
    return role == boldRole ? QVariant(true) : QVariant();
}

namespace {

class UnmatchedPanel : public Panel {
    Q_OBJECT
public:
    explicit UnmatchedPanel(Document& document)
        : Panel(document, "panelUnmatched", tr("Unmatched")),
          m_desk(CompareDesk::of(document)),
          m_model(m_desk, this)
    {
        m_view = new RowView("unmatchedTable", tr("Unmatched"));
        m_view->setModel(&m_model);
        m_view->setColumnWidths({72});
        m_stack = new EmptyStack(m_view, this);
        auto* const column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->addWidget(m_stack);
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
            if (now.isValid()) m_desk.selectAt(m_model.side(now.row()), m_model.address(now.row()));
        });
        connect(&m_desk, &CompareDesk::runChanged, this, &UnmatchedPanel::showAll);
        connect(&m_desk, &CompareDesk::scenesChanged, this, &UnmatchedPanel::showAll);
        showAll();
    }
    QWidget* focusTarget() override { return m_view; }

private:
    void showAll()
    {
        const int count = m_model.rowCount();
        setTitle(m_desk.scenes() ? tr("Unmatched %L1").arg(count) : tr("Unmatched"));
        if (m_desk.stage() == CompareDesk::Stage::none) showStage(*m_stack, m_desk, this);
        else if (!m_desk.scenes()) m_stack->showEmpty(m_desk.isBusy() ? tr("Matching …") : tr("Nothing to match: B has no graph."));
        else if (count == 0) m_stack->showEmpty(tr("Every operator of A has a partner in B, and the other way round."));
        else m_stack->showContent();
    }

    CompareDesk& m_desk;
    UnmatchedModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
};

} // namespace

Panel* makeUnmatchedPanel(Document& document) { return new UnmatchedPanel(document); }

} // namespace loopscope::viewer

#include "unmatched_panel.moc"
