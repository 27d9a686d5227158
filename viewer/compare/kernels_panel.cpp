// Kernels: where two sets of kernels part first and why, and what each operator alone does to the outputs, the largest first.
#include "viewer/compare/compare_panels.h"
#include "viewer/compare/compare_parts.h"
#include "viewer/compare/kernel_ranking.h"
#include "viewer/widgets/panel.h"

#include <QAbstractTableModel>
#include <QLabel>
#include <QLocale>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

class KernelsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;

    void show(const KernelsApart* apart)
    {
        beginResetModel();
        m_rows = apart ? apart->effects : std::vector<KernelEffect>();
        endResetModel();
    }
    const KernelEffect& effect(int row) const { return m_rows[static_cast<size_t>(row)]; }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 4; }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        const QString heads[] = {tr("Operator"), tr("Outputs change"), tr("Elements"), tr("Its own result")};
        return orientation == Qt::Horizontal && role == Qt::DisplayRole ? QVariant(heads[section]) : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const KernelEffect& row = effect(index.row());
        if (role == Qt::ToolTipRole) return reasonOf(index.row());
        if (role == monoRole) return index.column() > 0;
        if (role == Qt::TextAlignmentRole && (index.column() == 1 || index.column() == 2)) return int(Qt::AlignRight | Qt::AlignVCenter);
        if (role != Qt::DisplayRole) return {};
        switch (index.column()) {
        case 0: return toText(row.place);
        case 1: return toText(row.change);
        case 2: return tr("%L1 of %L2").arg(qint64{row.different}).arg(qint64{row.elements});
        default: return toText(row.apart);
        }
    }
    QString reasonOf(int row) const
    {
        const KernelEffect& at = effect(row);
        const QString why = toText(at.why), apart = toText(at.apart);
        return toText(at.place) + QStringLiteral(": ") + why + (why.isEmpty() || apart.isEmpty() ? QString() : QStringLiteral("; ")) +
               apart;
    }

private:
    std::vector<KernelEffect> m_rows;
};

/// Narrow, it leaves out what says less than the operator and what it changes; its reason has that, too.
class KernelView : public RowView {
public:
    explicit KernelView(QWidget* parent) : RowView("kernelTable", tr("Operators by what each alone does to the outputs"), parent) {}

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        const int room = width() * 100 / Theme::instance().textPercent();
        setColumnHidden(3, room < 560);
        setColumnHidden(2, room < 420);
        RowView::resizeEvent(event);
    }
};

class KernelsPanel : public Panel {
    Q_OBJECT
public:
    explicit KernelsPanel(Document& document)
        : Panel(document, "panelKernels", tr("Kernels")),
          m_desk(CompareDesk::of(document)),
          m_ranking(KernelRanking::of(document)),
          m_model(this)
    {
        auto* const content = new QWidget;
        auto* const rows = new QVBoxLayout(content);
        rows->setContentsMargins(0, 0, 0, 0);
        rows->setSpacing(0);
        m_first = words("kernelsFirst", content);
        m_view = new KernelView(content);
        m_view->setModel(&m_model);
        m_view->setColumnWidths({124, 96, 150});
        m_reason = words("kernelsReason", content);
        rows->addWidget(m_first);
        rows->addWidget(m_view, 1);
        rows->addWidget(m_reason);
        m_stack = new EmptyStack(content, this);
        auto* const column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->addWidget(m_stack);
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
                [this](const QModelIndex& now) { select(now.row()); });
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) { select(index.row()); });
        connect(&m_desk, &CompareDesk::runChanged, this, &KernelsPanel::showAll);
        connect(&m_ranking, &KernelRanking::changed, this, &KernelsPanel::showAll);
        connect(&Theme::instance(), &Theme::changed, this, &KernelsPanel::showAll);
        showAll();
    }
    QWidget* focusTarget() override { return m_view; }
    bool settled() const override { return !m_ranking.isBusy(); }

private:
    QLabel* words(const char* name, QWidget* parent)
    {
        auto* const label = new QLabel(parent);
        label->setObjectName(name);
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        label->setContentsMargins(10, 8, 10, 8);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        label->setProperty("type", "small");
        return label;
    }

    void select(int row)
    {
        m_reason->setVisible(row >= 0);
        if (row < 0) return;
        m_reason->setText(m_model.reasonOf(row));
        if (!m_desk.scenes()) return;
        const KernelEffect& at = m_model.effect(row);
        const std::string address = placeOfOperator(*m_desk.modelOf(CompareSide::here), *m_desk.scenes()->here, at.graph, at.op);
        if (!address.empty()) m_desk.selectAt(CompareSide::here, address);
    }

    void showAll()
    {
        m_reason->hide();
        const KernelsApart* const apart = m_ranking.get();
        m_model.show(apart);
        setTitle(apart ? tr("Kernels %L1").arg(apart->effects.size()) : tr("Kernels"));
        if (showStage(*m_stack, m_desk, this)) return;
        if (m_ranking.isBusy()) return m_stack->showEmpty(tr("Running each operator with the other kernels, alone …"));
        if (!apart) return m_stack->showEmpty(tr("Operators are ranked between kernels of the CPU, one side being the reference."));
        if (apart->first.empty()) return m_stack->showEmpty(tr("Both sets of kernels give the same, bit for bit."));
        QStringList lines = {tr("first difference: %1   %2").arg(toText(apart->first), toText(apart->difference))};
        if (!apart->why.empty()) lines.append(toText(apart->why));
        if (apart->effects.empty()) lines.append(tr("No operator alone changes an output."));
        if (apart->tried < apart->total)
            lines.append(tr("The first %L1 of %L2 operators were tried.").arg(qint64{apart->tried}).arg(qint64{apart->total}));
        m_first->setText(lines.join('\n'));
        m_stack->showContent();
    }

    CompareDesk& m_desk;
    KernelRanking& m_ranking;
    KernelsModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    QLabel *m_first = nullptr, *m_reason = nullptr;
};

} // namespace

Panel* makeKernelsPanel(Document& document)
{
    return document.stop()->compared.path.starts_with(kKernelsSide) ? new KernelsPanel(document) : nullptr;
}

} // namespace loopscope::viewer

#include "kernels_panel.moc"
