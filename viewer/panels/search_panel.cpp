// Search over all graphs: hits as they are typed, with what was recently looked for.
#include "viewer/panels/common.h"
#include "viewer/panels/panels.h"
#include "viewer/scene/search.h"
#include "viewer/style/icons.h"
#include "viewer/widgets/flow_layout.h"
#include "viewer/widgets/parts.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QTimer>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

constexpr int kTypingMs = 60;
constexpr int kRecent = 8;

class HitModel : public QAbstractTableModel {
    Q_OBJECT
public:
    HitModel(const Model& model, QObject* parent) : QAbstractTableModel(parent), m_model(model) {}
    void setAnswer(SearchAnswer answer)
    {
        beginResetModel();
        m_answer = std::move(answer);
        endResetModel();
    }
    const SearchAnswer& answer() const { return m_answer; }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_answer.hits.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 1; }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const SearchHit& hit = m_answer.hits[static_cast<size_t>(index.row())];
        switch (role) {
        case Qt::DisplayRole: return toText(hit.what);
        case noteRole: return toText(hit.detail.empty() ? hit.address : hit.detail);
        case Qt::ToolTipRole: return toText(hit.address + "\n" + hit.detail);
        case stripeRole:
            return hit.op.valid() ? QVariant(static_cast<int>(familyOf(m_model.graph(hit.graph).op(hit.op).kind)))
                                  : QVariant(static_cast<int>(Family::state));
        case Qt::AccessibleTextRole: return toText(hit.what + ", " + hit.detail);
        default: return {};
        }
    }

private:
    const Model& m_model;
    SearchAnswer m_answer;
};

class RecentModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit RecentModel(QObject* parent) : QAbstractTableModel(parent) {}
    void note(const QString& query, qint64 hits)
    {
        beginResetModel();
        std::erase_if(m_rows,
                      [&](const auto& row) { return row.first == query || query.startsWith(row.first) || row.first.startsWith(query); });
        m_rows.insert(m_rows.begin(), {query, hits});
        if (m_rows.size() > kRecent) m_rows.pop_back();
        endResetModel();
    }
    QString query(int row) const { return m_rows[static_cast<size_t>(row)].first; }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 2; }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        if (orientation != Qt::Horizontal) return {};
        if (role == Qt::TextAlignmentRole && section == 1) return static_cast<int>(Qt::AlignRight);
        return role == Qt::DisplayRole ? QVariant(section == 0 ? "Recent" : "Hits") : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        const auto& [query, hits] = m_rows[static_cast<size_t>(index.row())];
        if (role == Qt::DisplayRole) return index.column() == 0 ? query : QString::number(hits);
        if (role == Qt::TextAlignmentRole && index.column() == 1) return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
        return role == monoRole ? QVariant(true) : QVariant();
    }

private:
    std::vector<std::pair<QString, qint64>> m_rows;
};

class SearchPanel : public Panel {
    Q_OBJECT
    Q_PROPERTY(QString query READ query WRITE setQuery)
public:
    explicit SearchPanel(Document& document) : Panel(document, "panelSearch", "Search"), m_hits(document.model(), this), m_recent(this)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        auto* top = new QWidget(this);
        auto* head = new QVBoxLayout(top);
        head->setContentsMargins(6, 6, 6, 6);
        head->setSpacing(6);
        m_field = new QLineEdit(top);
        m_field->setObjectName("searchField");
        m_field->setAccessibleName("Search");
        m_field->setPlaceholderText("conv · op:while · shape:[1,?] · #56 · a > b");
        m_field->setToolTip("name · op:kind · shape:[1,?,3] · dtype:i8 · #56 · padding=SAME · graph:body · /regex/ · conv_2d > add");
        m_field->setClearButtonEnabled(true);
        m_field->installEventFilter(this);
        m_glass = m_field->addAction(themedIcon("find"), QLineEdit::LeadingPosition);
        head->addWidget(m_field);
        auto* chips = new FlowLayout(4);
        m_kinds = new QButtonGroup(this);
        int id = 0;
        for (const char* name : {"operators", "tensors", "attributes"}) {
            auto* chip = new Chip(name, top);
            chip->setCheckable(true);
            chip->setChecked(id == 0);
            m_kinds->addButton(chip, id++);
            chips->addWidget(chip);
        }
        head->addLayout(chips);
        m_count = new QLabel(this);
        m_count->setObjectName("searchCount");
        m_count->setMargin(3);
        m_count->setIndent(3);
        m_view = new RowView("searchResults", "Search results");
        m_view->setModel(&m_hits);
        m_view->setHeaderVisible(false);
        m_stack = new EmptyStack(m_view, this);
        m_recentView = new RowView("searchRecent", "Recent searches");
        m_recentView->setModel(&m_recent);
        m_recentView->setColumnWidths({50});
        m_recentView->hide();
        column->addWidget(top);
        column->addWidget(m_count);
        column->addWidget(m_stack, 1);
        column->addWidget(m_recentView);
        m_top = top;
        m_typing.setSingleShot(true);
        m_typing.setInterval(kTypingMs);

        connect(m_field, &QLineEdit::textChanged, this, [this] { m_typing.start(); });
        connect(m_field, &QLineEdit::returnPressed, this, [this] {
            m_wantFirst = true;
            search();
        });
        connect(&m_typing, &QTimer::timeout, this, &SearchPanel::search);
        connect(m_kinds, &QButtonGroup::idClicked, this, [this] { search(); });
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
            if (index.isValid() && !m_showing) visit(index.row());
        });
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) { visit(index.row()); });
        connect(m_recentView, &RowView::chosen, this, [this](const QModelIndex& index) { setQuery(m_recent.query(index.row())); });
        connect(m_recentView, &QAbstractItemView::clicked, this,
                [this](const QModelIndex& index) { setQuery(m_recent.query(index.row())); });
        connect(&Theme::instance(), &Theme::changed, this, &SearchPanel::restyle);
        restyle();
        m_stack->showEmpty("Type a name, op:kind, shape:[1,?,3], dtype:i8, #56, padding=SAME, /regex/ or conv_2d > add.");
        m_count->hide();
        const Model& model = document.model();
        m_building.run([&model](std::stop_token stop) { return SearchIndex::build(model, stop); },
                       [this](std::shared_ptr<const SearchIndex> index) {
                           m_index = std::move(index);
                           search();
                       });
    }

    QWidget* focusTarget() override { return m_field; }
    QString query() const { return m_field->text(); }
    void setQuery(const QString& query)
    {
        m_field->setText(query);
        m_wantFirst = true;
        search();
    }

    /// As if it was typed here: hits are shown, none is visited.
    void typeQuery(const QString& query) { m_field->setText(query); }

    bool command(const QString& name) override
    {
        const int count = m_hits.rowCount();
        if ((name != "findNext" && name != "findPrevious") || count == 0) return false;
        const int at = m_view->currentIndex().isValid() ? m_view->currentIndex().row() : name == "findNext" ? -1 : count;
        m_view->setCurrentIndex(m_hits.index((at + (name == "findNext" ? 1 : count - 1)) % count, 0));
        return true;
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (watched == m_field && event->type() == QEvent::KeyPress) {
            const int key = static_cast<QKeyEvent*>(event)->key();
            if (key == Qt::Key_Down || key == Qt::Key_Up) return command(key == Qt::Key_Down ? "findNext" : "findPrevious");
        }
        return Panel::eventFilter(watched, event);
    }

private:
    void restyle()
    {
        m_field->setFont(Theme::instance().font(FontUse::value));
        m_count->setFont(Theme::instance().font(FontUse::small));
        m_count->setStyleSheet(QString("color: %1; background: %2;").arg(themed(Token::text2).name(), themed(Token::raised).name()));
        m_top->setStyleSheet(QString(".QWidget { background: %1; }").arg(themed(Token::surface).name()));
        m_glass->setIcon(themedIcon("find"));
        m_recentView->setFixedHeight(Theme::instance().rowHeight() * (std::min(3, m_recent.rowCount()) + 1) + 2);
    }

    void search()
    {
        m_typing.stop();
        const QString query = m_field->text().trimmed();
        if (query.isEmpty() || !m_index) {
            m_searching.run([](std::stop_token) { return 0; }, [](int) {}); // what is under way is void
            m_hits.setAnswer({});
            document().setHits({});
            m_count->hide();
            if (query.isEmpty()) {
                m_wantFirst = false;
                m_stack->showEmpty("Type a name, op:kind, shape:[1,?,3], dtype:i8, #56, padding=SAME, /regex/ or conv_2d > add.");
            }
            return;
        }
        const auto kind = static_cast<SearchKind>(std::max(0, m_kinds->checkedId()));
        m_searching.run([index = m_index, query, kind](std::stop_token stop) { return index->find(query.toStdString(), kind, 2000, stop); },
                        [this, query](SearchAnswer answer) { show(query, std::move(answer)); });
    }

    void show(const QString& query, SearchAnswer answer)
    {
        const bool wantsFirst = std::exchange(m_wantFirst, false);
        m_showing = true;
        const QString noun = m_kinds->checkedButton()->text();
        const qint64 count = answer.count;
        const auto shown = static_cast<qint64>(answer.hits.size());
        m_count->setText(shown < count ? QString("%1 shown of %2 in %3 %4").arg(shown).arg(count).arg(answer.searched).arg(noun)
                                       : QString("%1 of %2 %3").arg(count).arg(answer.searched).arg(noun));
        m_count->setVisible(answer.problem.empty());
        const QString problem = toText(answer.problem), nearest = toText(answer.nearest);
        const int at = query == m_shown ? m_view->currentIndex().row() : -1; // asked again: the hit that is visited stays
        m_shown = query;
        QStringList addresses;
        for (const SearchHit& hit : answer.hits) addresses.append(toText(hit.address));
        document().setHits(addresses);
        m_hits.setAnswer(std::move(answer));
        if (at >= 0 && at < m_hits.rowCount()) m_view->setCurrentIndex(m_hits.index(at, 0));
        m_showing = false;
        if (!problem.isEmpty()) {
            m_stack->showEmpty(problem);
        } else if (count == 0) {
            QString text = QString("No operator, tensor or attribute matches \"%1\".").arg(query);
            std::vector<Offer> offers;
            if (!nearest.isEmpty()) {
                text += QString(" Nearest: %1.").arg(nearest);
                offers.push_back({"Search " + nearest, [this, nearest] { setQuery(nearest); }});
            }
            m_stack->showEmpty(text, std::move(offers));
        } else {
            m_stack->showContent();
            if (wantsFirst) {
                m_recent.note(query, count);
                m_recentView->show();
                restyle();
                m_view->setCurrentIndex(m_hits.index(0, 0));
                visit(0);
            }
        }
    }

    void visit(int row)
    {
        const SearchHit& hit = m_hits.answer().hits[static_cast<size_t>(row)];
        Selection selection;
        selection.address = document().atStop(hit.address);
        selection.graph = hit.graph;
        selection.op = hit.op;
        selection.value = hit.value;
        if (!hit.op.valid()) selection.address = invocationOf(hit.address);
        document().select(selection);
        document().reveal(selection.address);
    }

    HitModel m_hits;
    RecentModel m_recent;
    QLineEdit* m_field = nullptr;
    QAction* m_glass = nullptr;
    QButtonGroup* m_kinds = nullptr;
    QLabel* m_count = nullptr;
    RowView* m_view = nullptr;
    RowView* m_recentView = nullptr;
    EmptyStack* m_stack = nullptr;
    QWidget* m_top = nullptr;
    QTimer m_typing;
    std::shared_ptr<const SearchIndex> m_index;
    QString m_shown; ///< the query whose hits these are
    bool m_showing = false, m_wantFirst = false;
    Background m_building, m_searching; ///< last: their ends wait for what reads the index and the model
};

} // namespace

Panel* makeSearchPanel(Document& document) { return new SearchPanel(document); }

void searchFor(Panel* searchPanel, const QString& query)
{
    if (auto* panel = qobject_cast<SearchPanel*>(searchPanel)) panel->setQuery(query);
}

void searchWhileTyping(Panel* searchPanel, const QString& query)
{
    if (auto* panel = qobject_cast<SearchPanel*>(searchPanel)) panel->typeQuery(query);
}

} // namespace loopscope::viewer

#include "search_panel.moc"
