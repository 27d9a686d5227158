// Settings of a comparison: the measure, the limit from which a difference counts, and what the other side is.
#include "viewer/compare/compare_panels.h"
#include "viewer/compare/compare_parts.h"
#include "viewer/widgets/panel.h"
#include "viewer/widgets/parts.h"

#include <QButtonGroup>
#include <QFormLayout>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

class CompareSettingsPanel : public Panel {
    Q_OBJECT
public:
    explicit CompareSettingsPanel(Document& document)
        : Panel(document, "panelCompareSettings", tr("Settings")),
          m_desk(CompareDesk::of(document))
    {
        auto* const content = new QWidget;
        content->setObjectName("compareSettings");
        auto* const column = new QVBoxLayout(content);
        column->setContentsMargins(12, 10, 12, 10);
        column->setSpacing(6);
        column->addWidget(heading(tr("Measure")));
        auto* const group = new QButtonGroup(this);
        auto* const measures = new QGridLayout;
        measures->setColumnStretch(1, 1);
        column->addLayout(measures);
        for (const Metric metric : kMetrics) {
            auto* const button = new Chip(QString::fromUtf8(metricName(metric)), content);
            button->setObjectName(QStringLiteral("measure.%1").arg(static_cast<int>(metric)));
            button->setCheckable(true);
            button->setToolTip(QString::fromUtf8(metricHelp(metric)));
            group->addButton(button, static_cast<int>(metric));
            auto* const help = new ElidedLabel(QString::fromUtf8(metricHelp(metric)), content); // the tooltip of the button has all of it
            help->setProperty("type", "small");
            help->setProperty("tone", "meta");
            measures->addWidget(button, static_cast<int>(m_measures.size()), 0);
            measures->addWidget(help, static_cast<int>(m_measures.size()), 1);
            m_measures.push_back(button);
        }
        connect(group, &QButtonGroup::idClicked, this, [this](int id) { m_desk.judgement().setMetric(static_cast<Metric>(id)); });
        column->addSpacing(8);
        column->addWidget(heading(tr("Limit")));
        auto* const row = new QHBoxLayout;
        m_sign = new QLabel(content);
        m_limit = new QLineEdit(content);
        m_limit->setObjectName("compareLimit");
        m_limit->setAccessibleName(tr("Limit of the measure"));
        m_limit->setFixedWidth(110);
        m_problem = new QLabel(content);
        m_problem->setObjectName("compareLimitProblem");
        m_problem->setProperty("type", "small");
        column->addWidget(m_sign);
        row->addWidget(m_limit);
        row->addWidget(m_problem, 1);
        column->addLayout(row);
        connect(m_limit, &QLineEdit::editingFinished, this, &CompareSettingsPanel::adoptLimit);
        column->addSpacing(8);
        column->addWidget(heading(tr("Sides")));
        m_sides = new QLabel(content);
        m_sides->setWordWrap(true);
        column->addWidget(m_sides);
        auto* const buttons = new QHBoxLayout;
        auto* const other = new OfferButton(tr("Other file for B"), false, content);
        m_swap = new OfferButton(tr("Swap A and B"), false, content);
        buttons->addWidget(other);
        buttons->addWidget(m_swap);
        buttons->addStretch(1);
        column->addLayout(buttons);
        connect(other, &QAbstractButton::clicked, this, [this] { chooseOther(this); });
        connect(m_swap, &QAbstractButton::clicked, &m_desk, &CompareDesk::swapRequested);
        column->addStretch(1);
        m_stack = new EmptyStack(content, this);
        auto* const whole = new QVBoxLayout(this);
        whole->setContentsMargins(0, 0, 0, 0);
        whole->addWidget(m_stack);
        connect(&m_desk, &CompareDesk::runChanged, this, &CompareSettingsPanel::showAll);
        connect(&m_desk, &CompareDesk::judgementChanged, this, &CompareSettingsPanel::showAll);
        connect(&Theme::instance(), &Theme::changed, this, &CompareSettingsPanel::showAll);
        showAll();
    }
    QWidget* focusTarget() override { return m_limit; }

private:
    QLabel* heading(const QString& text)
    {
        auto* const label = new QLabel(text);
        m_headings.push_back(label);
        return label;
    }

    void adoptLimit()
    {
        bool isNumber = false;
        const double limit = m_limit->text().toDouble(&isNumber);
        const bool isShare = m_desk.judgement().metric() == Metric::cosine || m_desk.judgement().metric() == Metric::equal;
        const double least = m_desk.judgement().metric() == Metric::snr ? -1000 : 0;
        const bool fits = isNumber && limit >= least && (limit <= 1 || !isShare);
        m_problem->setText(fits        ? QString()
                           : !isNumber ? tr("not a number")
                           : isShare   ? tr("expected 0 to 1")
                                       : tr("expected %1 or more").arg(least));
        if (fits) m_desk.judgement().setLimit(limit);
    }

    void showAll()
    {
        for (QLabel* const label : m_headings) label->setFont(Theme::instance().font(FontUse::section, true));
        m_problem->setStyleSheet(QStringLiteral("color: %1;").arg(themed(Token::err).name()));
        m_problem->clear();
        if (m_desk.stage() == CompareDesk::Stage::none) {
            showStage(*m_stack, m_desk, this);
            return;
        }
        m_stack->showContent();
        for (size_t k = 0; k < kMetrics.size(); ++k) m_measures[k]->setChecked(kMetrics[k] == m_desk.judgement().metric());
        m_sign->setText(
            tr("%1 is fine if %2")
                .arg(QString::fromUtf8(metricName(m_desk.judgement().metric())), moreIsBetter(m_desk.judgement().metric()) ? "≥" : "≤"));
        m_limit->setText(QString::number(m_desk.judgement().limit(), 'g', 6));
        QStringList lines = {tr("A: %1").arg(m_desk.nameOf(CompareSide::here)), tr("B: %1").arg(m_desk.nameOf(CompareSide::there))};
        if (m_desk.reference()) lines.append(toText(m_desk.reference()->pairingText()));
        m_sides->setText(lines.join('\n'));
        m_swap->setEnabled(m_desk.canSwap());
    }

    CompareDesk& m_desk;
    EmptyStack* m_stack = nullptr;
    std::vector<QLabel*> m_headings;
    std::vector<Chip*> m_measures;
    QLabel *m_sign = nullptr, *m_problem = nullptr, *m_sides = nullptr;
    QLineEdit* m_limit = nullptr;
    OfferButton* m_swap = nullptr;
};

} // namespace

Panel* makeCompareSettingsPanel(Document& document) { return new CompareSettingsPanel(document); }

} // namespace loopscope::viewer

#include "compare_settings_panel.moc"
