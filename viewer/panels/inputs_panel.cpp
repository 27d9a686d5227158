// Inputs of the run, one row each, and why the run cannot begin yet.
#include "viewer/panels/common.h"
#include "viewer/panels/input_row.h"
#include "viewer/panels/panels.h"

#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

class InputsPanel : public Panel {
    Q_OBJECT
public:
    explicit InputsPanel(Document& document) : Panel(document, "panelInputs", "Inputs")
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        auto* content = new QWidget;
        m_rows = new QVBoxLayout(content);
        m_rows->setContentsMargins(0, 0, 0, 0);
        m_rows->setSpacing(0);
        m_area = new QScrollArea(this);
        m_area->setFrameShape(QFrame::NoFrame);
        m_area->setWidgetResizable(true);
        m_area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        m_area->setWidget(content);
        m_stack = new EmptyStack(m_area, this);
        auto* foot = new QWidget(this);
        m_foot = new QBoxLayout(QBoxLayout::LeftToRight, foot);
        m_foot->setContentsMargins(8, 6, 8, 6);
        m_foot->setSpacing(8);
        auto* buttons = new QHBoxLayout;
        buttons->setSpacing(8);
        m_foot->addLayout(buttons);
        m_run = new OfferButton("Run (F5)", true, foot);
        m_run->setObjectName("inputsRun");
        m_fill = new OfferButton("Fill with seed 7", false, foot);
        m_fill->setObjectName("inputsFill");
        m_reason = new QLabel(foot);
        m_reason->setObjectName("inputsReason");
        m_reason->setWordWrap(true);
        buttons->addWidget(m_run);
        buttons->addWidget(m_fill);
        buttons->addStretch(1);
        m_foot->addWidget(m_reason, 1);
        column->addWidget(m_stack, 1);
        column->addWidget(foot);
        connect(m_run, &QAbstractButton::clicked, this, [this] { this->document().perform(request::Begin()); });
        connect(m_fill, &QAbstractButton::clicked, this, [this] {
            for (InputRow* row : m_inputs)
                if (!row->isValid() && !row->isChecking()) row->give("@7");
            m_runIsNext = true;
            check();
        });
        connect(&document, &Document::stopChanged, this, &InputsPanel::fill);
        connect(&document.bridge(), &DebugBridge::busyChanged, this, &InputsPanel::fill);
        connect(&Theme::instance(), &Theme::changed, this, &InputsPanel::restyle);
        fill();
        restyle();
    }

    bool settled() const override { return std::ranges::none_of(m_inputs, &InputRow::isChecking); }
    QWidget* focusTarget() override { return m_fill->isVisible() ? static_cast<QWidget*>(m_fill) : m_run; }

    bool command(const QString& name) override
    {
        if (name != "commit") return false;
        for (InputRow* const row : m_inputs) row->commit();
        return true;
    }

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        Panel::resizeEvent(event);
        placeReason();
    }

private:
    /// Beside the buttons; below them where these would have to be cut for it.
    void placeReason()
    {
        const int least = m_reason->fontMetrics().averageCharWidth() * 14;
        const int needed = m_run->sizeHint().width() + (m_fill->isHidden() ? 0 : m_fill->sizeHint().width()) + least + 32;
        const bool fits = m_reason->text().isEmpty() || needed <= width();
        m_foot->setDirection(fits ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
    }

    void restyle()
    {
        m_reason->setFont(Theme::instance().font(FontUse::body));
        m_reason->setStyleSheet(QString("color: %1;").arg(themed(Token::text2).name()));
        m_area->setStyleSheet(
            QString("QScrollArea, QScrollArea > QWidget > QWidget { background: %1; }").arg(themed(Token::surface).name()));
    }

    /// Makes the rows, and follows sources that come from elsewhere. The backend belongs to the command that runs.
    void fill()
    {
        if (document().bridge().busy()) return check();
        const std::vector<InputPort> ports = document().backend().inputs();
        for (size_t i = 0; i < ports.size() && i < m_inputs.size(); ++i)
            if (!m_inputs[i]->isEdited()) m_inputs[i]->adopt(toText(ports[i].source));
        if (!m_inputs.empty()) return check();
        for (const InputPort& port : ports) {
            auto* row = new InputRow(document(), port, m_habit, m_area->widget());
            connect(row, &InputRow::changed, this, &InputsPanel::check);
            m_rows->addWidget(row);
            m_inputs.push_back(row);
        }
        m_rows->addStretch(1);
        if (ports.empty())
            m_stack->showEmpty(document().backend().isReplay() ? "A recording has its inputs." : "This graph takes no inputs.");
        else m_stack->showContent();
        check();
    }

    void check()
    {
        QString reason;
        int missing = 0, checking = 0;
        for (const InputRow* row : m_inputs) {
            checking += row->isChecking();
            if (row->isValid() || row->isChecking()) continue;
            ++missing;
            if (reason.isEmpty())
                reason = toText(row->name()) + (row->problem().isEmpty() ? QString(" is not given") : ": " + row->problem());
        }
        if (missing > 1) reason += QString(", and %1 more").arg(missing - 1);
        const bool busy = document().bridge().busy();
        m_run->setEnabled(missing == 0 && checking == 0 && !busy && !m_stack->isEmpty());
        m_fill->setVisible(missing > 0);
        m_reason->setText(busy                         ? QString("running")
                          : missing > 0                ? reason
                          : checking > 0               ? QString("reading")
                          : document().stop()->started ? QString("begins a new run")
                                                       : QString());
        placeReason();
        if (m_runIsNext && m_run->isEnabled()) {
            m_runIsNext = false;
            m_run->setFocus();
        }
    }

    QVBoxLayout* m_rows = nullptr;
    QBoxLayout* m_foot = nullptr;
    QScrollArea* m_area = nullptr;
    EmptyStack* m_stack = nullptr;
    OfferButton* m_run = nullptr;
    OfferButton* m_fill = nullptr;
    QLabel* m_reason = nullptr;
    bool m_runIsNext = false; ///< all was filled at once: Return runs, as soon as the values were looked at
    std::vector<InputRow*> m_inputs;
    PictureHabit m_habit;
};

} // namespace

Panel* makeInputsPanel(Document& document) { return new InputsPanel(document); }

} // namespace loopscope::viewer

#include "inputs_panel.moc"
