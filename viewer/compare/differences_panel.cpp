// Differences: what was compared, the first and the worst of it, and a row for each tensor that is not the same. F8 walks them.
#include "engine/observe/address_names.h"
#include "viewer/compare/compare_panels.h"
#include "viewer/compare/compare_parts.h"
#include "viewer/compare/differences_model.h"
#include "viewer/compare/kernel_ranking.h"
#include "viewer/style/icons.h"
#include "viewer/widgets/flow_layout.h"
#include "viewer/widgets/panel.h"

#include <QAction>
#include <QFontMetrics>
#include <QFrame>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>

namespace loopscope::viewer {

namespace {

/// What has no room beside each other goes below.
FlowLayout* flowIn(QWidget* box, QMargins margins, int gap)
{
    auto* const around = new QVBoxLayout(box);
    around->setContentsMargins(margins);
    auto* const flow = new FlowLayout(gap);
    around->addLayout(flow);
    return flow;
}

/// A small word with a large figure below; a link if something is behind it.
class Figure : public QWidget {
    Q_OBJECT
public:
    explicit Figure(const QString& word, QWidget* parent) : QWidget(parent), m_word(new QLabel(word, this)), m_value(new QLabel(this))
    {
        auto* const column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(1);
        column->addWidget(m_word);
        column->addWidget(m_value);
        connect(m_value, &QLabel::linkActivated, this, &Figure::clicked);
    }
    void show(const QString& word, const QString& value, Token color, bool isLink)
    {
        const Theme& theme = Theme::instance();
        m_word->setText(word);
        m_word->setFont(theme.font(FontUse::small));
        m_word->setStyleSheet(QStringLiteral("color: %1;").arg(themed(Token::text2).name()));
        m_value->setFont(theme.font(FontUse::section, true));
        m_value->setTextFormat(Qt::RichText);
        const QString text = value.toHtmlEscaped();
        m_value->setText(isLink ? QStringLiteral("<a href='go' style='color:%1;text-decoration:none;font-weight:600'>%2</a>")
                                      .arg(themed(color).name(), text)
                                : QStringLiteral("<span style='color:%1;font-weight:600'>%2</span>").arg(themed(color).name(), text));
    }

signals:
    void clicked();

private:
    QLabel *m_word, *m_value;
};

/// Narrow, it leaves out the measures that say least, unless they are the one that is looked at.
class DifferenceView : public RowView {
public:
    DifferenceView(CompareDesk& desk, QWidget* parent) : RowView("differenceTable", tr("Differences"), parent), m_desk(desk) {}
    void chooseColumns()
    {
        const bool isNarrow = width() < 620 * Theme::instance().textPercent() / 100;
        for (size_t k = 0; k < kMetrics.size(); ++k) {
            const bool optional =
                kMetrics[k] == Metric::maxRel || kMetrics[k] == Metric::ulp || (kMetrics[k] == Metric::equal && m_hasClipped);
            setColumnHidden(static_cast<int>(k) + 1, optional && isNarrow && kMetrics[k] != m_desk.judgement().metric());
        }
        setColumnHidden(DifferencesModel::kClipped, !m_hasClipped);
        const std::vector<int> widths = measuredWidths();
        makeRoomForNames(widths);
        setColumnWidths(widths);
        if (header()->visualIndex(DifferencesModel::kNumber) > 0)
            header()->moveSection(header()->visualIndex(DifferencesModel::kNumber), 0);
    }
    void setClippedShown(bool shown)
    {
        m_hasClipped = shown;
        chooseColumns();
    }

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        chooseColumns();
        RowView::resizeEvent(event);
    }

private:
    /// As wide as the first numbers and the head of each column, so that the names get the rest.
    std::vector<int> measuredWidths() const
    {
        constexpr int kPadding = 16, kLeast = 28;
        std::vector<int> widths;
        if (!model()) return widths;
        const QFontMetrics numbers(Theme::instance().font(FontUse::value)), heads(Theme::instance().font(FontUse::small));
        for (int column = 1; column < model()->columnCount(); ++column) {
            int widest = heads.horizontalAdvance(model()->headerData(column, Qt::Horizontal).toString());
            for (int row = 0; row < std::min(kLooked, model()->rowCount()); ++row)
                widest = std::max(widest, numbers.horizontalAdvance(model()->index(row, column).data().toString()));
            widths.push_back(std::max(kLeast, (widest + kPadding) * 100 / Theme::instance().textPercent()));
        }
        return widths;
    }

    /// Leaves out what says least until the names can be told apart.
    void makeRoomForNames(const std::vector<int>& widths)
    {
        if (widths.empty()) return;
        const QFontMetrics metrics(Theme::instance().font(FontUse::body));
        int wanted = metrics.horizontalAdvance(model()->headerData(DifferencesModel::kTensor, Qt::Horizontal).toString());
        for (int row = 0; row < std::min(kLooked, model()->rowCount()); ++row)
            wanted = std::max(wanted, metrics.horizontalAdvance(model()->index(row, DifferencesModel::kTensor).data().toString()));
        wanted = std::min(wanted, kMostName) + kStripe;
        const auto room = [&] {
            int left = viewport()->width();
            for (size_t k = 0; k < widths.size(); ++k)
                if (!isColumnHidden(static_cast<int>(k) + 1)) left -= widths[k] * Theme::instance().textPercent() / 100;
            return left;
        };
        for (const Metric least : {Metric::meanAbs, Metric::equal, Metric::cosine, Metric::maxAbs, Metric::snr}) {
            if (room() >= wanted) return;
            const auto column = std::ranges::find(kMetrics, least) - kMetrics.begin() + 1;
            if (least != m_desk.judgement().metric()) setColumnHidden(static_cast<int>(column), true);
        }
    }

    static constexpr int kLooked = 200;                 ///< rows
    static constexpr int kMostName = 180, kStripe = 24; ///< pixels
    CompareDesk& m_desk;
    bool m_hasClipped = false;
};

class DifferencesPanel : public Panel {
    Q_OBJECT
public:
    explicit DifferencesPanel(Document& document)
        : Panel(document, "panelDifferences", tr("Differences")),
          m_desk(CompareDesk::of(document)),
          m_ranking(KernelRanking::of(document)),
          m_model(m_desk, this)
    {
        auto* const content = new QWidget;
        auto* const column = new QVBoxLayout(content);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        column->addWidget(makeFigures(content));
        column->addWidget(makeBar(content));
        m_notes = new QLabel(content);
        m_notes->setObjectName("compareNotes");
        m_notes->setWordWrap(true);
        m_notes->setContentsMargins(10, 0, 10, 6);
        column->addWidget(m_notes);
        m_view = new DifferenceView(m_desk, content);
        m_view->setModel(&m_model);
        m_view->setSortingEnabled(true);
        m_view->sortByColumn(DifferencesModel::kTensor, Qt::AscendingOrder);
        m_table = new EmptyStack(m_view, content);
        column->addWidget(m_table, 1);
        m_stack = new EmptyStack(content, this);
        auto* const whole = new QVBoxLayout(this);
        whole->setContentsMargins(0, 0, 0, 0);
        whole->addWidget(m_stack);

        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
            if (now.isValid() && !m_showing) m_desk.selectRow(m_model.driftRow(now.row()));
        });
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) { // looking becomes being there
            const int64_t step = m_desk.judgement().stepOf(m_model.driftRow(index.row()));
            if (step >= 0) this->document().perform(request::GoToStep{step});
        });
        connect(&m_desk, &CompareDesk::runChanged, this, &DifferencesPanel::showAll);
        connect(&m_desk, &CompareDesk::scenesChanged, this, &DifferencesPanel::showAll);
        connect(&m_desk, &CompareDesk::judgementChanged, this, &DifferencesPanel::showAll);
        connect(&m_desk, &CompareDesk::selectionChanged, this, &DifferencesPanel::showSelection);
        connect(&m_desk, &CompareDesk::topClassesChanged, this, &DifferencesPanel::showAll);
        connect(&m_ranking, &KernelRanking::changed, this, &DifferencesPanel::showAll);
        connect(&Theme::instance(), &Theme::changed, this, &DifferencesPanel::showAll);
        m_again = new QAction(tr("Compare again"), this);
        m_again->setIcon(themedIcon("restart"));
        connect(m_again, &QAction::triggered, this, [this] { m_desk.compare(); });
        showAll();
    }

    QList<QAction*> headActions() override { return {m_again}; }
    QWidget* focusTarget() override { return m_view; }
    bool command(const QString& id) override
    {
        const bool asks = id == QLatin1String("nextFinding") || id == QLatin1String("previousFinding");
        if (id == QLatin1String("compare") || (asks && m_desk.stage() == CompareDesk::Stage::notRun)) m_desk.compare();
        else if (id == QLatin1String("nextFinding")) return find(1);
        else if (id == QLatin1String("previousFinding")) return find(-1);
        else return false;
        return true;
    }

private:
    QWidget* makeFigures(QWidget* parent)
    {
        auto* const box = new QWidget(parent);
        FlowLayout* const row = flowIn(box, QMargins(10, 8, 10, 6), 18);
        m_matched = new Figure(tr("Matched"), box);
        m_first = new Figure(QString(), box);
        m_worst = new Figure(tr("Worst"), box);
        m_classes = new Figure(tr("Top class"), box);
        m_classes->setObjectName("compareClasses");
        for (Figure* const figure : {m_matched, m_first, m_worst, m_classes}) row->addWidget(figure);
        connect(m_first, &Figure::clicked, this, [this] { m_desk.selectRow(m_desk.judgement().firstOver()); });
        connect(m_worst, &Figure::clicked, this, [this] { m_desk.selectRow(m_desk.judgement().worst()); });
        return box;
    }

    QWidget* makeBar(QWidget* parent)
    {
        auto* const box = new QWidget(parent);
        FlowLayout* const row = flowIn(box, QMargins(10, 2, 10, 8), 6);
        m_next = new OfferButton(tr("First difference  F8"), true, box);
        m_next->setObjectName("compareNext");
        m_worse = new OfferButton(tr("Next worse"), false, box);
        m_worse->setObjectName("compareWorse");
        row->addWidget(m_next);
        row->addWidget(m_worse);
        m_all = new Chip(tr("all iterations"), box);
        m_all->setObjectName("compareAllIterations");
        m_all->setToolTip(tr("One iteration of a loop is looked at; back to all of them together"));
        row->addWidget(m_all);
        connect(m_all, &QAbstractButton::clicked, this, [this] { m_desk.judgement().showAllIterations(); });
        for (const Metric metric : {Metric::cosine, Metric::snr, Metric::maxAbs}) {
            auto* const chip = new Chip(QString::fromUtf8(metricName(metric)), box);
            chip->setObjectName(QStringLiteral("compareMetric.%1").arg(static_cast<int>(metric)));
            chip->setCheckable(true);
            chip->setToolTip(QString::fromUtf8(metricHelp(metric)));
            connect(chip, &QAbstractButton::clicked, this, [this, metric] {
                m_desk.judgement().setMetric(metric);
                showAll(); // a click on the chip that is on leaves it on
            });
            row->addWidget(chip);
            m_chips.emplace_back(metric, chip);
        }
        connect(m_next, &QAbstractButton::clicked, this, [this] { find(1); });
        connect(m_worse, &QAbstractButton::clicked, this, [this] { m_desk.goToWorse(); });
        return box;
    }

    bool find(int step)
    {
        if (m_desk.stage() != CompareDesk::Stage::ready) return false;
        return m_desk.goToDifference(step) || m_desk.judgement().firstOver() >= 0;
    }

    QString placeOf(int row) const { return toText(lastPart(m_desk.drift()->rows[static_cast<size_t>(row)].address)); }

    void showAll()
    {
        if (showStage(*m_stack, m_desk, this)) {
            m_again->setEnabled(false);
            return;
        }
        m_stack->showContent();
        m_again->setEnabled(true);
        const PairingSummary& pairing = m_desk.reference()->pairing();
        const Metric metric = m_desk.judgement().metric();
        const int first = m_desk.judgement().firstOver(), worst = m_desk.judgement().worst();
        const QString bound =
            QStringLiteral("%1 %2").arg(QString::fromUtf8(metricName(metric)), toText(metricText(metric, m_desk.judgement().limit())));
        m_matched->show(tr("Matched by %1").arg(toText(pairing.how)), tr("%L1 of %L2").arg(pairing.paired).arg(pairing.total), Token::text,
                        false);
        m_first->show(moreIsBetter(metric) ? tr("First below %1").arg(bound) : tr("First above %1").arg(bound),
                      first < 0 ? tr("none") : placeOf(first), first < 0 ? Token::ok : Token::accent, first >= 0);
        m_worst->show(tr("Worst"), worst < 0 ? tr("none") : placeOf(worst),
                      worst < 0                                                 ? Token::ok
                      : m_desk.judgement().verdictOf(worst) == Verdict::farOver ? Token::err
                      : m_desk.judgement().verdictOf(worst) == Verdict::over    ? Token::warn
                                                                                : Token::ok,
                      worst >= 0);
        const std::optional<TopClasses>& top = m_desk.topClasses();
        m_classes->setVisible(top.has_value());
        if (top)
            m_classes->show(tr("Top class"), tr("A %1, B %2").arg(top->here).arg(top->there),
                            top->here == top->there ? Token::ok : Token::text, false);
        for (const auto& [each, chip] : m_chips) chip->setChecked(each == metric);
        m_next->setEnabled(first >= 0);
        m_worse->setEnabled(worst >= 0);
        QStringList notes = m_desk.judgement().iterationLines();
        m_all->setVisible(!notes.isEmpty());
        notes += m_desk.tripLines().mid(0, 3);
        if (m_desk.tripLines().size() > 3) notes.append(tr("… and %L1 more loops").arg(m_desk.tripLines().size() - 3));
        if (top && !(top->labelHere + top->labelThere).empty())
            notes.append(top->here == top->there ? tr("top class on both sides: %1").arg(toText(top->labelHere))
                                                 : tr("top class: A %1, B %2").arg(toText(top->labelHere), toText(top->labelThere)));
        if (!m_desk.caveat().isEmpty()) notes.append(m_desk.caveat());
        if (const KernelsApart* const kernels = m_ranking.get(); kernels && !kernels->why.empty())
            notes.append(tr("%1: %2").arg(toText(kernels->first), toText(kernels->why)));
        m_notes->setVisible(!notes.isEmpty());
        m_notes->setText(notes.join('\n'));
        m_notes->setFont(Theme::instance().font(FontUse::small));
        m_notes->setStyleSheet(QStringLiteral("color: %1;").arg(themed(Token::text2).name()));
        m_view->setClippedShown(m_model.hasClipped());
        const auto compared = m_desk.judgement().comparedRows();
        if (compared == 0) m_table->showEmpty(tr("Nothing that was computed on both sides pairs."), {});
        else if (m_desk.judgement().differentRows() == 0)
            m_table->showEmpty(tr("Equal in all %L1 of %L1 tensors, bit for bit.").arg(compared), {});
        else m_table->showContent();
        showSelection();
    }

    void showSelection()
    {
        const int row = m_desk.row() < 0 ? -1 : m_model.rowOf(m_desk.row());
        m_showing = true;
        if (row < 0) m_view->clearSelection();
        else if (!m_view->currentIndex().isValid() || m_view->currentIndex().row() != row ||
                 m_view->selectionModel()->selectedRows().isEmpty()) {
            m_view->setCurrentIndex(m_model.index(row, 0));
            m_view->scrollTo(m_model.index(row, 0));
        }
        m_showing = false;
        m_next->setText(m_desk.row() < 0 ? tr("First difference  F8") : tr("Next difference  F8"));
        m_next->updateGeometry();
    }

    CompareDesk& m_desk;
    KernelRanking& m_ranking;
    DifferencesModel m_model;
    EmptyStack *m_stack = nullptr, *m_table = nullptr;
    DifferenceView* m_view = nullptr;
    QLabel* m_notes = nullptr;
    Figure *m_matched = nullptr, *m_first = nullptr, *m_worst = nullptr, *m_classes = nullptr;
    OfferButton *m_next = nullptr, *m_worse = nullptr;
    std::vector<std::pair<Metric, Chip*>> m_chips;
    Chip* m_all = nullptr;
    QAction* m_again = nullptr;
    bool m_showing = false;
};

} // namespace

Panel* makeDifferencesPanel(Document& document) { return new DifferencesPanel(document); }

} // namespace loopscope::viewer

#include "differences_panel.moc"
