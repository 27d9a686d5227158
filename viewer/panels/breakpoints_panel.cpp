// Breakpoints and marks: what stops the run, and where somebody wants to come back to.
#include "engine/base/text.h"
#include "engine/ir/ids.h"
#include "engine/ops/control_flow.h"
#include "viewer/panels/common.h"
#include "viewer/panels/panels.h"
#include "viewer/style/icons.h"
#include "viewer/widgets/parts.h"
#include "viewer/widgets/value_menu.h"

#include <QAbstractTableModel>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMouseEvent>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

class BreakpointModel : public QAbstractTableModel {
    Q_OBJECT
public:
    BreakpointModel(Document& document, QObject* parent) : QAbstractTableModel(parent), m_document(document) {}

    void refresh()
    {
        std::vector<BreakpointRow> rows = m_document.stop()->breakpoints;
        const bool same = rows.size() == m_rows.size() && std::equal(rows.begin(), rows.end(), m_rows.begin(),
                                                                     [](const auto& a, const auto& b) { return a.number == b.number; });
        if (same) { // an editor that is open stays open
            m_rows = std::move(rows);
            if (!m_rows.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, 1));
            return;
        }
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
    }
    const BreakpointRow* row(const QModelIndex& index) const
    {
        return index.isValid() ? &m_rows[static_cast<size_t>(index.row())] : nullptr;
    }

    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 2; }
    Qt::ItemFlags flags(const QModelIndex& index) const override
    {
        const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
        return index.column() == 0 ? flags | Qt::ItemIsEditable | Qt::ItemIsUserCheckable : flags;
    }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
        return role == Qt::DisplayRole ? QVariant(section == 0 ? "Where and when" : "Hits") : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const BreakpointRow& row = m_rows[static_cast<size_t>(index.row())];
        if (index.column() == 1) {
            if (role == Qt::DisplayRole) return toText(groupThousands(row.hits));
            if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
            if (role == monoRole) return true;
            if (role == toneRole) return static_cast<int>(row.enabled ? Tone::text : Tone::text3);
            return {};
        }
        switch (role) {
        case Qt::DisplayRole: return toText(row.problem.empty() ? row.where : "bound to nothing: " + row.problem);
        case Qt::EditRole: return toText(row.condition);
        case Qt::CheckStateRole: return static_cast<int>(row.enabled ? Qt::Checked : Qt::Unchecked);
        case Qt::ToolTipRole: {
            QString tip = QString("%1 %2: %3").arg(breakMarkText(breakMarkOf(row))).arg(row.number).arg(toText(row.where));
            if (!row.condition.empty()) tip += "\n" + toText(row.condition);
            if (!row.problem.empty()) tip += "\n" + toText(row.problem) + " · kept, disabled";
            return tip + "\nclick the mark to " + (row.enabled ? "disable" : "enable") + ", F2 to edit the condition, Delete to remove";
        }
        case Qt::AccessibleTextRole:
            return QString("%1, %2, %3").arg(breakMarkText(breakMarkOf(row)), toText(row.where), counted(row.hits, "hit"));
        case markRole: return static_cast<int>(breakMarkOf(row));
        case chipRole:
            return !row.problem.empty()    ? QVariant()
                   : !row.enabled          ? QVariant("disabled")
                   : row.condition.empty() ? QVariant(row.isTemporary ? "once" : "")
                                           : QVariant(toText(row.condition));
        case toneRole: return static_cast<int>(!row.problem.empty() ? Tone::warn : row.enabled ? Tone::text : Tone::text3);
        default: return {};
        }
    }
    bool setData(const QModelIndex& index, const QVariant& value, int role) override
    {
        const BreakpointRow* at = row(index);
        if (at == nullptr || index.column() != 0) return false;
        if (role == Qt::CheckStateRole) {
            m_document.perform(request::EnableBreakpoint{at->number, value.toInt() == Qt::Checked});
            return true;
        }
        if (role != Qt::EditRole || value.toString().trimmed() == toText(at->condition)) return false;
        m_document.perform(request::SetCondition{at->number, value.toString().trimmed().toStdString()});
        return true;
    }

private:
    Document& m_document;
    std::vector<BreakpointRow> m_rows;
};

class BreakpointsPanel : public Panel {
    Q_OBJECT
public:
    explicit BreakpointsPanel(Document& document) : Panel(document, "panelBreakpoints", "Breakpoints"), m_model(document, this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        m_view = new RowView("breakpointTable", "Breakpoints");
        m_view->setModel(&m_model);
        m_view->setColumnWidths({44});
        m_view->viewport()->installEventFilter(this);
        m_view->installEventFilter(this);
        m_stack = new EmptyStack(m_view, this);
        m_field = new QLineEdit(this);
        m_field->setObjectName("breakpointField");
        m_field->setAccessibleName("New breakpoint");
        m_field->setPlaceholderText("iter while#0 37 · nan · write add if max(add) > 1e3");
        m_field->hide();
        m_error = new QLabel(this);
        m_error->setObjectName("breakpointError");
        m_error->setWordWrap(true);
        m_error->setMargin(6);
        m_error->setTextInteractionFlags(Qt::TextSelectableByMouse);
        m_error->hide();
        column->addWidget(m_stack, 1);
        column->addWidget(m_field);
        column->addWidget(m_error);
        m_add = new QAction("Add a breakpoint", this);
        m_add->setText("+");
        m_add->setToolTip("Add a breakpoint");
        m_menu = new QMenu(this);
        m_add->setMenu(m_menu);
        connect(m_menu, &QMenu::aboutToShow, this, &BreakpointsPanel::fillMenu);
        connect(m_add, &QAction::triggered, this, [this] {
            fillMenu();
            m_menu->popup(mapToGlobal(QPoint(width() - 40, 0)));
        });

        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) {
            const BreakpointRow* row = m_model.row(index);
            if (row == nullptr || row->address.empty() || row->address.starts_with("...")) return;
            this->document().select(row->address);
            this->document().reveal(row->address);
        });
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
            const BreakpointRow* row = m_model.row(index);
            if (row != nullptr && m_view->hasFocus() && !row->address.empty()) this->document().select(row->address);
        });
        m_view->setContextMenuPolicy(Qt::CustomContextMenu);
        connect(m_view, &QWidget::customContextMenuRequested, this,
                [this](const QPoint& at) { showRowMenu(m_view->indexAt(at), m_view->viewport()->mapToGlobal(at)); });
        connect(m_field, &QLineEdit::returnPressed, this, [this] {
            const QString text = m_field->text().trimmed();
            if (text.isEmpty()) return;
            const bool verb = text.startsWith("break ") || text.startsWith("watch ") || text.startsWith("log ") ||
                              text.startsWith("tbreak ") || text.startsWith("rwatch ") || text.startsWith("awatch ");
            m_error->hide();
            this->document().execute(verb ? text : "break " + text);
        });
        connect(&document, &Document::stopChanged, this, &BreakpointsPanel::show);
        connect(&document.bridge(), &DebugBridge::refused, this, [this](const QString& line, const QString& error) {
            const QString word = line.section(' ', 0, 0);
            if (word != "condition" && word != "break" && word != "watch" && word != "log" && word != "tbreak" && word != "enable") return;
            m_error->setText(error);
            m_error->show();
        });
        connect(&Theme::instance(), &Theme::changed, this, &BreakpointsPanel::restyle);
        restyle();
        show();
    }

    QWidget* focusTarget() override { return m_view; }
    QList<QAction*> headActions() override { return {m_add}; }

    bool command(const QString& name) override
    {
        // Asked from elsewhere it is about the breakpoint of what is selected.
        const std::string selected = staticAddress(document().selection().address);
        for (int i = 0; i < m_model.rowCount() && !m_view->hasFocus(); ++i)
            if (document().selection().op.valid() && sitsOn(*m_model.row(m_model.index(i, 0)), selected))
                m_view->setCurrentIndex(m_model.index(i, 0));
        const BreakpointRow* row = m_model.row(m_view->currentIndex());
        if (row == nullptr) return false;
        if (name == "editBreakpoint") {
            m_view->edit(m_view->currentIndex().siblingAtColumn(0));
            return true;
        }
        if (name == "enableBreakpoint") {
            document().perform(request::EnableBreakpoint{row->number, !row->enabled});
            return true;
        }
        if (name == "toggleBreakpoint") {
            document().perform(request::RemoveBreakpoint{row->number});
            return true;
        }
        return false;
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (watched == m_view->viewport() && event->type() == QEvent::MouseButtonPress) {
            const auto* press = static_cast<QMouseEvent*>(event);
            const QModelIndex index = m_view->indexAt(press->pos());
            if (press->button() == Qt::LeftButton && index.isValid() && index.column() == 0 && press->pos().x() < 20) {
                m_model.setData(index, static_cast<int>(m_model.row(index)->enabled ? Qt::Unchecked : Qt::Checked), Qt::CheckStateRole);
                return true;
            }
        }
        if (watched == m_view && event->type() == QEvent::KeyPress && m_view->currentIndex().isValid()) {
            const auto* key = static_cast<QKeyEvent*>(event);
            const BreakpointRow* row = m_model.row(m_view->currentIndex());
            if (key->key() == Qt::Key_Delete) {
                document().perform(request::RemoveBreakpoint{row->number});
                return true;
            }
            if (key->key() == Qt::Key_Space) return command("enableBreakpoint");
            if (key->key() == Qt::Key_F2) return command("editBreakpoint");
        }
        return Panel::eventFilter(watched, event);
    }

private:
    void showRowMenu(const QModelIndex& index, const QPoint& at)
    {
        const BreakpointRow* const row = m_model.row(index);
        if (row == nullptr) return;
        auto* const menu = new QMenu(this);
        menu->setObjectName("breakpointMenu");
        menu->setAttribute(Qt::WA_DeleteOnClose);
        const bool isPlace = !row->address.empty() && !row->address.starts_with("...");
        menu->addAction("Show where it is", this,
                        [this, address = row->address] {
                            document().select(address);
                            document().reveal(address);
                        })
            ->setEnabled(isPlace);
        menu->addAction("Run to here", this, [this, address = row->address] { document().perform(request::GoToPlace{address}); })
            ->setEnabled(isPlace);
        menu->addSeparator();
        menu->addAction(row->enabled ? "Disable" : "Enable", this, [this, number = row->number, on = !row->enabled] {
            document().perform(request::EnableBreakpoint{number, on});
        });
        menu->addAction("Condition\u2026", this, [this, index] { m_view->edit(index.siblingAtColumn(0)); });
        menu->addAction("Delete", this, [this, number = row->number] { document().perform(request::RemoveBreakpoint{number}); });
        if (const std::optional<Selection> place = isPlace ? document().find(row->address) : std::nullopt; place && place->value.valid()) {
            menu->addSeparator();
            fillPlaceMenu(*menu, document(), *this, *place);
        }
        menu->popup(at);
    }

    void restyle()
    {
        m_error->setFont(Theme::instance().font(FontUse::value));
        m_error->setStyleSheet(QString("color: %1; background: %2;").arg(themed(Token::err).name(), themed(Token::errWeak).name()));
        m_field->setFont(Theme::instance().font(FontUse::value));
    }

    /// Call sites of all loops that a static way leads to.
    std::vector<QString> loopSites()
    {
        const Model& model = document().model();
        std::vector<QString> loops;
        std::vector<std::pair<GraphId, std::string>> open;
        std::vector<bool> seen(model.graphs.size());
        if (!model.graphs.empty()) open.emplace_back(GraphId(0), model.graphs.front().id);
        for (size_t i = 0; i < open.size(); ++i) {
            const auto [graph, address] = open[i];
            if (seen[static_cast<size_t>(graph.index)]) continue;
            seen[static_cast<size_t>(graph.index)] = true;
            for (size_t o = 0; o < model.graph(graph).operators.size(); ++o) {
                const CallForm form = callForm(model.graph(graph).operators[o]);
                const std::string site = address + "/" + addressSite(model.graph(graph).operators[o], static_cast<int64_t>(o));
                if (form.kind == CallKind::loop) loops.push_back(toText(site));
                for (const Callee& callee : form.callees)
                    if (model.hasGraph(callee.graph)) open.emplace_back(callee.graph, site + ":" + callee.role);
            }
        }
        return loops;
    }

    /// What can be asked of any model: no NaN where nothing is floating point, no exits where there are no loops.
    std::vector<Offer> offers()
    {
        if (m_offers) return *m_offers;
        m_offers.emplace();
        const auto isReal = [](const Value& value) {
            return isFloat(value.type.dtype) || dtypeClass(value.type.dtype) == DTypeClass::complex;
        };
        if (std::ranges::any_of(document().model().graphs, [&](const Graph& graph) { return std::ranges::any_of(graph.values, isReal); }))
            m_offers->push_back({"Break on the first NaN or Inf", [this] { document().perform(request::AddBreakpoint{breakOn("nan")}); }});
        if (const std::vector<QString> loops = loopSites(); !loops.empty())
            m_offers->push_back({"Break at each loop exit", [this, loops] {
                                     for (const QString& loop : loops)
                                         document().perform(request::AddBreakpoint{breakOn("exit", {loop.toStdString()})});
                                 }});
        return *m_offers;
    }

    void fillMenu()
    {
        m_menu->clear();
        const std::string selected = document().selection().address;
        if (document().selection().op.valid())
            m_menu->addAction("Break before " + toText(lastPart(selected)), this,
                              [this, selected] { document().perform(request::AddBreakpoint{breakOn(staticAddress(selected))}); });
        for (const Offer& offer : offers()) m_menu->addAction(offer.text, this, offer.run);
        if (const Selection& at = document().selection(); at.value.valid() && at.graph.valid()) {
            const std::string id = document().model().graph(at.graph).value(at.value).id;
            m_menu->addAction("Break when " + toText(id) + " changes", this,
                              [this, id] { document().perform(request::AddBreakpoint{watchFor(id)}); });
        }
        m_menu->addSeparator();
        m_menu->addAction("Type one …", this, [this] { typeOne(); });
        if (!document().stop()->breakpoints.empty())
            m_menu->addAction("Delete all", this, [this] { document().perform(request::RemoveBreakpoint()); });
    }

    void typeOne()
    {
        m_field->show();
        m_field->setFocus();
    }

    void show()
    {
        m_model.refresh();
        if (m_model.rowCount() == 0) m_stack->showEmpty("No breakpoints.", offers());
        else m_stack->showContent();
        m_error->hide(); // of a command that was refused this is followed by what was wrong
        if (m_model.rowCount() != m_count) {
            m_field->clear();
            m_field->hide();
        }
        m_count = m_model.rowCount();
    }

    BreakpointModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    QLineEdit* m_field = nullptr;
    QLabel* m_error = nullptr;
    QAction* m_add = nullptr;
    QMenu* m_menu = nullptr;
    int m_count = 0;
    std::optional<std::vector<Offer>> m_offers; ///< none: nobody asked yet
};

class MarkModel : public QAbstractTableModel {
    Q_OBJECT
public:
    MarkModel(Document& document, QObject* parent) : QAbstractTableModel(parent), m_document(document) {}
    void refresh()
    {
        beginResetModel();
        m_marks = m_document.stop()->marks;
        endResetModel();
    }
    const Mark& mark(int row) const { return m_marks[static_cast<size_t>(row)]; }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_marks.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 2; }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
        return role == Qt::DisplayRole ? QVariant(section == 0 ? "Mark" : "Step") : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const Mark& at = mark(index.row());
        if (index.column() == 1) {
            if (role == Qt::DisplayRole) return toText(groupThousands(at.step));
            if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
            return role == monoRole ? QVariant(true) : role == toneRole ? QVariant(static_cast<int>(Tone::text3)) : QVariant();
        }
        switch (role) {
        case Qt::DisplayRole: return toText(at.name.empty() ? at.text : at.name);
        case chipRole: return toText(lastPart(at.address));
        case Qt::ToolTipRole: return toText(at.address + (at.text.empty() ? "" : "\n" + at.text));
        case iconRole: return at.name.empty() ? "notice" : "bookmark";
        case iconToneRole: return static_cast<int>(Tone::accent);
        default: return {};
        }
    }

private:
    Document& m_document;
    std::vector<Mark> m_marks;
};

class MarksPanel : public Panel {
    Q_OBJECT
public:
    explicit MarksPanel(Document& document) : Panel(document, "panelMarks", "Marks"), m_model(document, this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        m_view = new RowView("markTable", "Marks");
        m_view->setModel(&m_model);
        m_view->setColumnWidths({70});
        m_stack = new EmptyStack(m_view, this);
        column->addWidget(m_stack);
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) {
            const Mark& mark = m_model.mark(index.row());
            this->document().perform(mark.name.empty() ? Request(request::GoToStep{mark.step}) : Request(request::GoToPlace{mark.name}));
        });
        connect(&document, &Document::stopChanged, this, &MarksPanel::show);
        show();
    }
    QWidget* focusTarget() override { return m_view; }

private:
    void show()
    {
        m_model.refresh();
        const bool started = document().stop()->started;
        if (m_model.rowCount() > 0) m_stack->showContent();
        else if (!started) m_stack->showEmpty("No marks.");
        else m_stack->showEmpty("No marks.", {{"Mark this stop (Ctrl+B)", [this] { document().perform(request::SetMark{"mark1"}); }}});
    }
    MarkModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
};

} // namespace

Panel* makeBreakpointsPanel(Document& document) { return new BreakpointsPanel(document); }

Panel* makeMarksPanel(Document& document) { return new MarksPanel(document); }

} // namespace loopscope::viewer

#include "breakpoints_panel.moc"
