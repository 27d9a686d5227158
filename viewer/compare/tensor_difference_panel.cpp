// Tensor difference: both sides of the selected row at one moment of the run, fetched from the engine when the selection rests.
#include "viewer/compare/compare_panels.h"
#include "viewer/compare/compare_parts.h"
#include "viewer/compare/tensor_difference_view.h"
#include "viewer/style/icons.h"
#include "viewer/widgets/panel.h"

#include <QAction>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

class TensorDifferencePanel : public Panel {
    Q_OBJECT
public:
    explicit TensorDifferencePanel(Document& document)
        : Panel(document, "panelTensorDifference", tr("Tensor difference")),
          m_desk(CompareDesk::of(document)),
          m_view(new TensorDifferenceView),
          m_stack(new EmptyStack(m_view, this))
    {
        auto* const column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->addWidget(m_stack);
        connect(&m_desk, &CompareDesk::runChanged, this, &TensorDifferencePanel::follow);
        connect(&m_desk, &CompareDesk::selectionChanged, this, &TensorDifferencePanel::follow);
        connect(&m_desk, &CompareDesk::shownRowChanged, this, [this] {
            m_pin->setChecked(m_desk.isPinned());
            follow();
        });
        connect(&m_desk, &CompareDesk::judgementChanged, this, &TensorDifferencePanel::follow);
        connect(m_view, &TensorDifferenceView::planeWanted, this, [this](const AxisChoice& axes) { fetch(axes); });
        m_pin = new QAction(tr("Keep this tensor while others are selected"), this);
        m_pin->setObjectName("comparePin");
        m_pin->setCheckable(true);
        m_pin->setIcon(themedIcon("pin"));
        connect(m_pin, &QAction::triggered, this, [this](bool pinned) {
            m_desk.setPinned(pinned);
            m_pin->setChecked(m_desk.isPinned());
        });
        follow();
    }

    QList<QAction*> headActions() override { return {m_pin}; }
    QWidget* headWidget() override
    {
        if (!m_head) {
            m_head = new QLabel;
            m_head->setProperty("type", "small");
            m_head->setProperty("tone", "meta");
            connect(m_head, &QObject::destroyed, this, [this] { m_head = nullptr; });
            showHead();
        }
        return m_head;
    }
    QWidget* focusTarget() override { return m_view; }

private:
    void follow()
    {
        const int row = m_desk.shownRow();
        const int64_t step = m_desk.judgement().stepOf(row);
        if (row == m_row && step == m_step && m_desk.drift() == m_drift) return;
        m_row = row;
        m_step = step;
        m_drift = m_desk.drift();
        if (showStage(*m_stack, m_desk, this)) return showNothing();
        if (row < 0) {
            m_stack->showEmpty(m_desk.selected(CompareSide::here).empty() && m_desk.selected(CompareSide::there).empty()
                                   ? tr("Select an operator on either side, or a row of the differences.")
                                   : tr("What is selected was not computed on both sides."));
            return showNothing();
        }
        if (step < 0) {
            m_stack->showEmpty(tr("Not run on both sides in this iteration."));
            return showNothing();
        }
        fetch(std::nullopt);
    }

    void showNothing()
    {
        m_view->show(nullptr, {});
        showHead();
    }

    void fetch(std::optional<AxisChoice> axes)
    {
        const DriftRow row = m_desk.drift()->rows[static_cast<size_t>(m_row)];
        DifferenceRequest request;
        const int64_t keep = axes ? m_view->marked() : -1;
        request.axes = std::move(axes);
        document().bridge().ask(
            this, QStringLiteral("difference"),
            [row, step = m_step, request](Inspector& inspector) {
                auto found = std::make_shared<TensorDifference>();
                Status status = inspector.withBothSides(row, step, [&](const Tensor& here, const Tensor* there) {
                    if (there) *found = differenceOf(here, *there, request);
                    else found->why = "B has no such value";
                });
                if (!status.ok()) found->why = std::move(status).takeError().message();
                return std::shared_ptr<const TensorDifference>(std::move(found));
            },
            [this, keep](std::shared_ptr<const TensorDifference> found) {
                if (!found->present) {
                    m_stack->showEmpty(toText(found->why));
                    return showNothing();
                }
                m_stack->showContent();
                m_view->show(std::move(found), facts());
                if (keep >= 0) m_view->mark(keep);
                showHead();
            });
    }

    std::vector<std::pair<QString, QString>> facts() const
    {
        std::vector<std::pair<QString, QString>> facts;
        const DriftFigures* const figures = m_desk.judgement().figuresOf(m_row);
        if (!figures) return facts;
        for (const Metric metric : {Metric::cosine, Metric::snr, Metric::maxAbs, Metric::meanAbs, Metric::equal, Metric::ulp}) {
            const double value = measured(*figures, metric);
            if (std::isnan(value)) continue;
            facts.emplace_back(QString::fromUtf8(metricName(metric)), toText(metricText(metric, value)));
        }
        return facts;
    }

    void showHead()
    {
        if (!m_head) return;
        const TensorDifference* const shown = m_view->difference();
        if (!shown || m_row < 0 || !m_desk.drift()) return m_head->clear();
        const DriftRow& row = m_desk.drift()->rows[static_cast<size_t>(m_row)];
        QStringList parts;
        // The plane, where there is more than one.
        for (int d = 0; d < shown->shape.rank(); ++d) {
            const bool isFixed = d != shown->axes.column && std::ranges::find(shown->axes.rows, d) == shown->axes.rows.end();
            if (!isFixed || shown->shape[d] < 2) continue;
            const QString axis = shown->shape.rank() == 4 && d == 3 ? tr("channel") : tr("axis %1 at").arg(d);
            parts.append(tr("%1 %2 of %L3").arg(axis).arg(shown->axes.fixed[static_cast<size_t>(d)]).arg(shown->shape[d]));
        }
        if (m_desk.drift()->rows[static_cast<size_t>(m_row)].writes > 1) parts.append(tr("step %L1").arg(m_step));
        parts.append(toText(shown->typeHere));
        parts.append(tensorText(document().model(), row));
        if (!m_desk.reason().isEmpty() && !m_desk.isPinned()) parts.append(m_desk.reason());
        m_head->setText(parts.join(QStringLiteral(" · ")));
    }

    CompareDesk& m_desk;
    TensorDifferenceView* m_view;
    EmptyStack* m_stack;
    QLabel* m_head = nullptr;
    QAction* m_pin = nullptr;
    int m_row = -2;
    int64_t m_step = -1;
    const Drift* m_drift = nullptr; ///< that the row is of; only compared, never read
};

} // namespace

Panel* makeTensorDifferencePanel(Document& document) { return new TensorDifferencePanel(document); }

} // namespace loopscope::viewer

#include "tensor_difference_panel.moc"
