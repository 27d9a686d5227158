// Invocations and call stack: where in the run the cursor stands.
#include "engine/ir/ids.h"
#include "engine/observe/address_names.h"
#include "viewer/panels/invocation_model.h"
#include "viewer/panels/panels.h"
#include "viewer/widgets/parts.h"
#include "viewer/widgets/value_menu.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QLineEdit>
#include <QMenu>
#include <QSet>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

class InvocationsPanel : public Panel {
    Q_OBJECT
public:
    explicit InvocationsPanel(Document& document) : Panel(document, "panelInvocations", "Invocations"), m_model(document.model(), this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        m_view = new RowView("invocationTree", "Invocations");
        m_view->setTree(true);
        m_view->setModel(&m_model);
        m_view->setColumnWidths({116});
        m_view->hideFiguresBelow(170);
        m_stack = new EmptyStack(m_view, this);
        m_iteration = new QLineEdit(this);
        m_iteration->setObjectName("invocationIteration");
        m_iteration->setAccessibleName("Iteration to go to");
        m_iteration->hide();
        column->addWidget(m_stack, 1);
        column->addWidget(m_iteration);

        connect(m_view, &RowView::chosen, this, &InvocationsPanel::go);
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &InvocationsPanel::look);
        m_view->setContextMenuPolicy(Qt::CustomContextMenu);
        connect(m_view, &QWidget::customContextMenuRequested, this,
                [this](const QPoint& at) { showMenu(m_view->indexAt(at), m_view->viewport()->mapToGlobal(at)); });
        connect(m_view, &QTreeView::expanded, this, [this](const QModelIndex& index) { m_open.insert(m_model.keyOf(index)); });
        connect(m_view, &QTreeView::collapsed, this, [this](const QModelIndex& index) { m_open.remove(m_model.keyOf(index)); });
        connect(m_view, &RowView::typed, this, [this](const QString& digit, const QModelIndex& index) {
            m_loop = m_model.loopOf(index);
            if (m_loop.empty()) return;
            m_iteration->setPlaceholderText("Iteration of " + toText(m_loop));
            m_iteration->setText(digit);
            m_iteration->show();
            m_iteration->setFocus();
            m_iteration->end(false);
        });
        connect(m_iteration, &QLineEdit::returnPressed, this, [this] {
            const QString wanted = m_iteration->text().trimmed();
            m_iteration->hide();
            m_view->setFocus();
            bool isNumber = false;
            const qlonglong iteration = wanted.toLongLong(&isNumber);
            if (isNumber && iteration >= 0) this->document().perform(request::GoToPlace{m_loop + "@" + std::to_string(iteration)});
        });
        connect(m_iteration, &QLineEdit::editingFinished, m_iteration, &QLineEdit::hide);
        m_model.setSides({[&document](const std::string& op) { return document.sideOf(op); },
                          [&document](const std::string& invocation) { document.wantSides(invocation); }});
        connect(&document, &Document::sidesChanged, &m_model, qOverload<>(&InvocationModel::refreshSides));
        connect(&document, &Document::stopChanged, this, &InvocationsPanel::stopped);
        stopped();
    }

    QWidget* focusTarget() override { return m_view; }

    bool command(const QString& name) override
    {
        if (name != "toggleBreakpoint" || !m_model.isOperator(m_view->currentIndex())) return false;
        toggleBreakpoint(document(), staticAddress(m_model.addressOf(m_view->currentIndex())));
        return true;
    }

private:
    void showMenu(const QModelIndex& index, const QPoint& at)
    {
        const std::string address = index.isValid() ? m_model.addressOf(index) : std::string();
        if (address.empty()) return;
        auto* const menu = new QMenu(this);
        menu->setObjectName("invocationMenu");
        menu->setAttribute(Qt::WA_DeleteOnClose);
        menu->addAction("Go here", this, [this, index] { go(index); });
        menu->addAction("Show in the graph", this, [this, address] { document().reveal(address); });
        if (m_model.isOperator(index))
            menu->addAction("Toggle breakpoint", this, [this, address] { toggleBreakpoint(document(), staticAddress(address)); });
        if (const std::string loop = m_model.loopOf(index); !loop.empty()) {
            menu->addSeparator();
            menu->addAction("Why the loop goes on", this, [this, loop] { askDebugger(document(), *this, "why loop " + toText(loop)); });
            menu->addAction("Break at each iteration", this, [this, loop] { document().execute("break iter " + toText(loop)); });
        }
        if (const std::optional<Selection> place = m_model.isOperator(index) ? document().find(address) : std::nullopt;
            place && place->value.valid()) {
            menu->addSeparator();
            fillPlaceMenu(*menu, document(), *this, *place);
        }
        menu->addSeparator();
        menu->addAction("Copy address", this, [address] { QGuiApplication::clipboard()->setText(toText(address)); });
        menu->popup(at);
    }

    void stopped()
    {
        const auto stop = document().stop();
        if (!stop->started) {
            m_stack->showEmpty("No run yet.", {{"Run (F5)", [this] { document().perform(request::Begin()); }}});
            show({stop, {}, {}});
            return;
        }
        m_stack->showContent();
        document().bridge().ask(
            this, "run",
            [stop](Inspector& inspector) {
                RunFacts facts;
                facts.stop = stop;
                for (LoopRun& run : inspector.loopRuns()) facts.trips.emplace(std::move(run.address), run.trips);
                facts.steps = inspector.knownSteps();
                return facts;
            },
            [this](const RunFacts& facts) { show(facts); });
    }

    void show(const RunFacts& facts)
    {
        m_showing = true;
        const QString selected = m_view->currentIndex().isValid() ? m_model.keyOf(m_view->currentIndex()) : QString();
        const bool moved = facts.stop->tick != m_tick || facts.stop->timeline != m_timeline;
        m_tick = facts.stop->tick;
        m_timeline = facts.stop->timeline;
        m_model.setFacts(facts);
        reopen({}, selected, moved);
        const std::vector<QModelIndex> path = m_model.pathToCursor();
        for (const QModelIndex& index : path)
            if (index != path.back() || path.size() == 1) m_view->expand(index);
        if (!path.empty() && moved) {
            m_view->setCurrentIndex(path.back());
            m_view->scrollTo(path.back(), QAbstractItemView::PositionAtCenter);
        }
        m_showing = false;
    }

    /// Opens what was open before; rows that were never looked at are not made.
    void reopen(const QModelIndex& parent, const QString& selected, bool moved)
    {
        if (m_open.isEmpty() && selected.isEmpty()) return;
        for (int row = 0; row < m_model.rowCount(parent); ++row) {
            const QModelIndex index = m_model.index(row, 0, parent);
            const QString key = m_model.keyOf(index);
            if (!moved && key == selected) m_view->setCurrentIndex(index);
            if (!m_open.contains(key)) continue;
            m_view->expand(index);
            reopen(index, selected, moved);
        }
    }

    /// The view follows, time does not: of what has ended listing and tensor show the state after it.
    void look(const QModelIndex& index)
    {
        if (m_showing || !index.isValid()) return;
        const std::string address = m_model.addressOf(index);
        const auto stop = document().stop();
        const std::string invocation = m_model.isOperator(index) ? invocationOf(address) : address;
        const auto open = std::ranges::find(stop->stack, invocation, &FrameSnapshot::address);
        if (open != stop->stack.end()) {
            document().lookAt({});
            document().setFrame(static_cast<int>(open - stop->stack.begin()));
        } else if (m_model.hasRun(index)) {
            document().lookAt(invocation);
        }
        if (m_model.isOperator(index)) {
            document().select(address);
            document().reveal(address);
        }
    }

    void go(const QModelIndex& index)
    {
        if (const std::string address = m_model.addressOf(index); !address.empty()) document().perform(request::GoToPlace{address});
    }

    InvocationModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    QLineEdit* m_iteration = nullptr;
    QSet<QString> m_open;
    std::string m_loop;
    bool m_showing = false;
    int64_t m_tick = -1;
    TimelineId m_timeline;
};

/// The frames, innermost first.
class StackModel : public QAbstractTableModel {
    Q_OBJECT
public:
    StackModel(Document& document, QObject* parent) : QAbstractTableModel(parent), m_document(document) {}
    void refresh()
    {
        beginResetModel();
        m_stop = m_document.stop();
        endResetModel();
    }
    int depthOf(const QModelIndex& index) const { return static_cast<int>(m_stop->stack.size()) - 1 - index.row(); }
    int rowCount(const QModelIndex& parent = {}) const override
    {
        return parent.isValid() || !m_stop || !m_stop->started ? 0 : static_cast<int>(m_stop->stack.size());
    }
    int columnCount(const QModelIndex& = {}) const override { return 2; }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
        return role == Qt::DisplayRole ? QVariant(section == 0 ? "Frame" : "At") : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const int depth = depthOf(index);
        const FrameSnapshot& frame = m_stop->stack[static_cast<size_t>(depth)];
        const Graph& graph = m_document.model().graph(frame.info.graph);
        if (index.column() == 1) {
            if (role == Qt::DisplayRole)
                return frame.info.next.valid() ? toText(operatorLabel(graph.op(frame.info.next), frame.info.next.index)) : QString("end");
            if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
            if (role == monoRole) return true;
            if (role == toneRole) return static_cast<int>(Tone::text2);
            return {};
        }
        switch (role) {
        case Qt::DisplayRole: {
            return QString("%1  %2").arg(depth).arg(toText(lastPart(frame.address)));
        }
        case chipRole: return toText(graph.id);
        case Qt::ToolTipRole: return toText(frame.address);
        case boldRole: return depth == frameInView(m_document);
        case iconRole:
            return frame.info.role == CallRole::loop || frame.info.role == CallRole::frame  ? "loop-region"
                   : frame.info.role == CallRole::main                                      ? "graph"
                   : frame.info.role == CallRole::call || frame.info.role == CallRole::init ? "call-region"
                                                                                            : "branch-region";
        case iconToneRole:
            return frame.info.role == CallRole::main ? static_cast<int>(Tone::text2) : -1 - static_cast<int>(Family::controlFlow);
        default: return {};
        }
    }

private:
    Document& m_document;
    std::shared_ptr<const StopSnapshot> m_stop;
};

class CallStackPanel : public Panel {
    Q_OBJECT
public:
    explicit CallStackPanel(Document& document) : Panel(document, "panelCallStack", "Call stack"), m_model(document, this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        m_view = new RowView("callStackTable", "Call stack");
        m_view->setModel(&m_model);
        m_view->setColumnWidths({110});
        m_stack = new EmptyStack(m_view, this);
        column->addWidget(m_stack);
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
            if (m_showing || !index.isValid()) return;
            this->document().setFrame(m_model.depthOf(index));
        });
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) {
            const FrameSnapshot& frame = this->document().stop()->stack[static_cast<size_t>(m_model.depthOf(index))];
            this->document().reveal(frame.address);
        });
        connect(&document, &Document::stopChanged, this, &CallStackPanel::show);
        connect(&document, &Document::frameChanged, this, &CallStackPanel::show);
        show();
    }
    QWidget* focusTarget() override { return m_view; }

private:
    void show()
    {
        if (m_showing) return;
        m_showing = true;
        m_model.refresh();
        if (!document().stop()->started)
            m_stack->showEmpty("No run yet.", {{"Run (F5)", [this] { document().perform(request::Begin()); }}});
        else m_stack->showContent();
        if (const int depth = frameInView(document()); depth >= 0)
            m_view->setCurrentIndex(m_model.index(static_cast<int>(document().stop()->stack.size()) - 1 - depth, 0));
        m_showing = false;
    }

    StackModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    bool m_showing = false;
};

} // namespace

Panel* makeInvocationsPanel(Document& document) { return new InvocationsPanel(document); }

Panel* makeCallStackPanel(Document& document) { return new CallStackPanel(document); }

} // namespace loopscope::viewer

#include "invocations_panel.moc"
