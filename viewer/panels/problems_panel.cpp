// Problems: everything that went wrong or was changed, with its place and what to do.
#include "viewer/panels/common.h"
#include "viewer/panels/panels.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/widgets/parts.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

class ProblemModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit ProblemModel(QObject* parent) : QAbstractTableModel(parent) {}
    void setProblems(const std::vector<Problem>& problems, const Document& document)
    {
        beginResetModel();
        m_problems = problems;
        m_links.clear();
        for (const Problem& problem : problems) {
            const Result<Address> address = parseAddress(problem.where);
            m_links.push_back(address.ok() && resolveAddress(document.model(), *address).ok());
        }
        endResetModel();
    }
    const Problem& problem(int row) const { return m_problems[static_cast<size_t>(row)]; }
    bool isLink(int row) const { return m_links[static_cast<size_t>(row)]; }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_problems.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 4; }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        static constexpr const char* names[] = {"Kind", "Problem", "Where", "What to do"};
        return orientation == Qt::Horizontal && role == Qt::DisplayRole ? QVariant(names[section]) : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const Problem& at = problem(index.row());
        static constexpr const char* kinds[] = {"error", "warning", "notice"};
        static constexpr Tone tones[] = {Tone::err, Tone::warn, Tone::text2};
        const auto severity = static_cast<size_t>(at.severity);
        if (role == Qt::ToolTipRole)
            return toText(at.text + (at.where.empty() ? "" : "\n" + at.where) + (at.advice.empty() ? "" : "\n" + at.advice));
        switch (index.column()) {
        case 0:
            if (role == Qt::DisplayRole) return kinds[severity];
            if (role == toneRole) return static_cast<int>(tones[severity]);
            return role == boldRole ? QVariant(true) : QVariant();
        case 1: return role == Qt::DisplayRole ? QVariant(toText(at.text)) : QVariant();
        case 2:
            if (role == Qt::DisplayRole) return toText(at.where);
            if (role == addressRole && isLink(index.row())) return toText(at.where);
            return role == monoRole ? QVariant(true) : QVariant();
        default:
            if (role == Qt::DisplayRole) return toText(at.advice);
            return role == toneRole ? QVariant(static_cast<int>(Tone::text2)) : QVariant();
        }
    }

private:
    std::vector<Problem> m_problems;
    std::vector<bool> m_links;
};

/// Kind is narrow, the text takes what is left.
class ProblemView : public RowView {
public:
    ProblemView() : RowView("problemTable", "Problems") {}

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        RowView::resizeEvent(event);
        const int percent = Theme::instance().textPercent();
        const int width = viewport()->width(), kind = 70 * percent / 100;
        const int where = (width - kind) * 24 / 100, advice = (width - kind) * 26 / 100;
        header()->resizeSection(0, kind);
        header()->resizeSection(1, std::max(60, width - kind - where - advice));
        header()->resizeSection(2, where);
        header()->resizeSection(3, advice);
    }
};

class ProblemsPanel : public Panel {
    Q_OBJECT
public:
    explicit ProblemsPanel(Document& document) : Panel(document, "panelProblems", "Problems 0"), m_model(this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        m_view = new ProblemView;
        m_view->setModel(&m_model);
        m_view->setContextMenuPolicy(Qt::CustomContextMenu);
        m_stack = new EmptyStack(m_view, this);
        column->addWidget(m_stack);
        m_clear = new QAction("Clear", this);
        m_clear->setToolTip("Clear the list");
        m_clear->setIcon(themedIcon("close"));
        connect(&Theme::instance(), &Theme::changed, this, [this] { m_clear->setIcon(themedIcon("close")); });
        connect(m_clear, &QAction::triggered, this, [this] { this->document().clearProblems(); });
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) { visit(index.row()); });
        connect(m_view, &RowView::linkClicked, this, [this](const QString& address) {
            if (this->document().select(address.toStdString())) this->document().reveal(address.toStdString());
        });
        connect(m_view, &QWidget::customContextMenuRequested, this, [this](QPoint at) {
            const QModelIndex index = m_view->indexAt(at);
            if (!index.isValid()) return;
            auto* const menu = new QMenu(this);
            menu->setAttribute(Qt::WA_DeleteOnClose);
            menu->addAction("Copy", this, [this] { QApplication::clipboard()->setText(m_view->selectedText()); });
            if (m_model.isLink(index.row()))
                menu->addAction("Show", this, [this, row = QPersistentModelIndex(index)] {
                    if (row.isValid()) visit(row.row());
                });
            menu->popup(m_view->viewport()->mapToGlobal(at));
        });
        connect(&document, &Document::problemsChanged, this, &ProblemsPanel::show);
        show();
    }
    QWidget* focusTarget() override { return m_view; }
    QList<QAction*> headActions() override { return {m_clear}; }

    bool command(const QString& name) override
    {
        const int count = m_model.rowCount();
        if ((name != "nextFinding" && name != "previousFinding") || count == 0) return false;
        // From the one that was visited last: a view that gets the focus makes its first row the current one.
        m_visited = m_visited < 0 ? (name == "nextFinding" ? 0 : count - 1) : (m_visited + (name == "nextFinding" ? 1 : count - 1)) % count;
        m_view->setCurrentIndex(m_model.index(m_visited, 0));
        visit(m_visited);
        return true;
    }

private:
    void visit(int row)
    {
        m_visited = row;
        if (!m_model.isLink(row)) return;
        const std::string where = m_model.problem(row).where;
        if (document().select(where)) document().reveal(where);
    }

    void show()
    {
        const int before = m_model.rowCount();
        m_model.setProblems(document().problems(), document());
        if (m_model.rowCount() < before) m_visited = -1;
        setTitle(QString("Problems %1").arg(m_model.rowCount()));
        m_clear->setEnabled(m_model.rowCount() > 0);
        if (m_model.rowCount() == 0) m_stack->showEmpty("No problems.");
        else m_stack->showContent();
        if (m_model.rowCount() > before) m_view->scrollToBottom();
    }

    ProblemModel m_model;
    ProblemView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    QAction* m_clear = nullptr;
    int m_visited = -1;
};

} // namespace

Panel* makeProblemsPanel(Document& document) { return new ProblemsPanel(document); }

} // namespace loopscope::viewer

#include "problems_panel.moc"
