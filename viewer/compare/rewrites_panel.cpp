// Rewrites: what fusing made of the model, or what another file has in place of its operators, a row each, to be stepped through in both
// pictures and switched off one at a time; behind them what was not fused, with the first condition that failed.
#include "viewer/bridge/proving.h"
#include "viewer/compare/compare_panels.h"
#include "viewer/compare/compare_parts.h"
#include "viewer/style/icons.h"
#include "viewer/widgets/panel.h"

#include <QAbstractTableModel>
#include <QAction>
#include <QShortcut>
#include <QVBoxLayout>

#include <algorithm>

namespace loopscope::viewer {

namespace {

/// Rewrites first, then a heading and the refusals.
class RewritesModel : public QAbstractTableModel {
    Q_OBJECT
public:
    RewritesModel(std::shared_ptr<const FusedSide> fused, QObject* parent) : QAbstractTableModel(parent), m_fused(std::move(fused)) {}

    int rewrites() const { return static_cast<int>(m_fused->rewrites.size()); }
    bool isRewrite(int row) const { return row >= 0 && row < rewrites(); }
    bool isHeading(int row) const { return row == rewrites(); }
    const FusedSide::Rewrite& rewrite(int row) const { return m_fused->rewrites[static_cast<size_t>(row)]; }
    const FusedSide::Refusal& refusal(int row) const { return m_fused->refusals[static_cast<size_t>(row - rewrites() - 1)]; }

    int rowCount(const QModelIndex& parent = {}) const override
    {
        const auto refusals = static_cast<int>(m_fused->refusals.size());
        return parent.isValid() ? 0 : rewrites() + (refusals > 0 ? 1 + refusals : 0);
    }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 5; }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override
    {
        static constexpr const char *ofRules[] = {"Rewrite", "Made of", "Promises", "Proved", "Used"},
                                    *ofFile[] = {"Rewrite", "Made of", "Matched", "Measured", "Used"};
        const auto& names = isFile() ? ofFile : ofRules;
        return orientation == Qt::Horizontal && role == Qt::DisplayRole ? QVariant(tr(names[section])) : QVariant();
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!index.isValid()) return {};
        if (isHeading(index.row())) return heading(index.column(), role);
        return isRewrite(index.row()) ? rewriteData(index, role) : refusalData(index, role);
    }

    const std::string& file() const { return m_fused->file; }
    bool isFile() const { return !m_fused->file.empty(); } ///< the other side is another file
    /// How far apart both sides are behind each rewrite of a file.
    void setMeasured(std::vector<ProvedRewrite> measured) { setVerdicts(std::move(measured), {}); }
    void setVerdicts(std::vector<ProvedRewrite> verdicts, const QString& waiting)
    {
        m_verdicts = std::move(verdicts);
        m_waiting = waiting;
        if (rewrites() > 0) emit dataChanged(index(0, 3), index(rewrites() - 1, 3));
    }

private:
    QVariant heading(int column, int role) const
    {
        if (role == sectionRole) return true;
        if (role == boldRole) return column == 0;
        return role == Qt::DisplayRole && column == 0 ? QVariant(tr("Not fused: %L1").arg(m_fused->refusals.size())) : QVariant();
    }
    QVariant rewriteData(const QModelIndex& index, int role) const
    {
        const FusedSide::Rewrite& at = rewrite(index.row());
        QStringList from;
        for (const std::string& name : at.from) from.append(toText(name));
        if (role == Qt::ToolTipRole) {
            const QString use = !at.isKept.empty() ? tr("stays: %1").arg(toText(at.isKept)) : at.isOn ? tr("used") : tr("switched off");
            if (isFile())
                return tr("%1 at %2 of B\nwas %3 in %4 of A\n%5")
                    .arg(toText(at.to), toText(at.name), from.join(", "), toText(at.place.graph), use);
            return tr("%1 at %2/%3, by the rule %4\nmade of %5\n%6")
                .arg(toText(at.to), toText(at.place.graph), toText(at.name), toText(at.place.rule), from.join(", "), use);
        }
        if (role == toneRole && !at.isOn) return static_cast<int>(Tone::text3);
        if (role == italicRole) return !at.isOn;
        switch (index.column()) {
        case 0: return role == Qt::DisplayRole ? QVariant(toText(at.to)) : QVariant();
        case 1: return role == Qt::DisplayRole ? QVariant(from.join(", ")) : role == monoRole ? QVariant(true) : QVariant();
        case 2: return role == Qt::DisplayRole ? QVariant(toText(at.equality)) : QVariant();
        case 3: return verdictData(at, role);
        default:
            return role == Qt::DisplayRole ? QVariant(!at.isKept.empty() ? tr("stays") : at.isOn ? tr("✓ on") : tr("✕ off")) : QVariant();
        }
    }
    QVariant verdictData(const FusedSide::Rewrite& at, int role) const
    {
        const auto found = std::ranges::find(m_verdicts, at.place, &ProvedRewrite::place);
        if (found == m_verdicts.end()) return role == Qt::DisplayRole && at.isOn ? QVariant(m_waiting) : QVariant();
        if (role == toneRole) return static_cast<int>(found->holds ? Tone::ok : Tone::err);
        if (role != Qt::DisplayRole) return {};
        return (found->holds ? QStringLiteral("✓ ") : QStringLiteral("✕ ")) + toText(found->text);
    }
    QVariant refusalData(const QModelIndex& index, int role) const
    {
        const FusedSide::Refusal& at = refusal(index.row());
        if (role == Qt::ToolTipRole)
            return tr("not fused: %1 at %2: %3 (%4)").arg(toText(at.to), toText(at.place.where), toText(at.reason), toText(at.place.rule));
        if (role == toneRole) return static_cast<int>(Tone::text2);
        if (role != Qt::DisplayRole) return {};
        return index.column() == 0   ? toText(at.to)
               : index.column() == 1 ? toText(at.place.where) + QStringLiteral(": ") + toText(at.reason)
                                     : QString();
    }

    std::shared_ptr<const FusedSide> m_fused;
    std::vector<ProvedRewrite> m_verdicts;
    QString m_waiting; ///< where there is no verdict: "proving …"
};

class RewritesPanel : public Panel {
    Q_OBJECT
public:
    explicit RewritesPanel(Document& document)
        : Panel(document, "panelRewrites", tr("Rewrites")),
          m_desk(CompareDesk::of(document)),
          m_model(document.backend().fused(), this),
          m_toggle(new QAction(themedIcon("swap"), tr("Switch the rewrite off or on (Space)"), this)),
          m_prove(new QAction(tr("Prove"), this))
    {
        m_view = new RowView("rewriteTable", tr("Rewrites"));
        m_view->setModel(&m_model);
        giveRoom(false);
        m_view->setSharedColumn(1); // what it became is read first, then what it was made of
        m_stack = new EmptyStack(m_view, this);
        auto* const column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->addWidget(m_stack);
        m_toggle->setObjectName("rewriteToggle");
        connect(m_toggle, &QAction::triggered, this, [this] { toggle(m_view->currentIndex().row()); });
        connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
            m_toggle->setEnabled(m_model.isRewrite(now.row()));
            select(now.row());
        });
        connect(m_view, &QTreeView::clicked, this, [this](const QModelIndex& index) {
            if (index.column() == 4) toggle(index.row());
        });
        connect(m_view, &RowView::chosen, this, [this](const QModelIndex& index) { select(index.row()); });
        auto* const space = new QShortcut(Qt::Key_Space, m_view, nullptr, nullptr, Qt::WidgetShortcut);
        connect(space, &QShortcut::activated, this, [this] { toggle(m_view->currentIndex().row()); });
        m_toggle->setEnabled(false);
        m_prove->setObjectName("rewritesProve");
        m_prove->setToolTip(tr("Proves each rewrite on the inputs of the last run and on drawn ones"));
        m_prove->setEnabled(m_model.rewrites() > 0 && dynamic_cast<const Proving*>(&document.backend()) != nullptr);
        connect(m_prove, &QAction::triggered, this, &RewritesPanel::prove);
        if (m_model.isFile()) {
            for (const auto signal : {&CompareDesk::scenesChanged, &CompareDesk::judgementChanged})
                connect(&m_desk, signal, this, &RewritesPanel::showMeasured);
            showMeasured();
        }
        int used = 0;
        for (int row = 0; row < m_model.rewrites(); ++row) used += m_model.rewrite(row).isOn ? 1 : 0;
        setTitle(used == m_model.rewrites() ? tr("Rewrites %L1").arg(used) : tr("Rewrites %L1 of %L2").arg(used).arg(m_model.rewrites()));
        if (m_model.rowCount() == 0) m_stack->showEmpty(tr("Nothing was fused, and nothing began to look like a pattern."));
        else m_stack->showContent();
    }
    QWidget* focusTarget() override { return m_view; }
    QList<QAction*> headActions() override { return m_model.isFile() ? QList{m_toggle} : QList{m_prove, m_toggle}; }
    bool settled() const override { return m_prove->isEnabled() || m_model.rewrites() == 0 || !m_isProving; }

    /// F8 and Shift+F8: the next and the previous rewrite. "row 3": that one.
    bool command(const QString& name) override
    {
        if (name.startsWith(QLatin1String("row "))) {
            m_view->setCurrentIndex(m_model.index(name.mid(4).toInt(), 0));
            return true;
        }
        const int step = name == QLatin1String("nextFinding") ? 1 : name == QLatin1String("previousFinding") ? -1 : 0;
        if (step == 0 || m_model.rewrites() == 0) return false;
        const int now = m_view->currentIndex().row(), count = m_model.rewrites();
        const int next = !m_model.isRewrite(now) ? (step > 0 ? 0 : count - 1) : (now + step + count) % count;
        m_view->setCurrentIndex(m_model.index(next, 0));
        return true;
    }

private:
    /// To the verdicts once there are some; the names have it before.
    void giveRoom(bool toVerdicts) { m_view->setColumnWidths({120, 84, toVerdicts ? 230 : 64, 52}); }

    void select(int row)
    {
        if (m_model.isRewrite(row)) m_desk.selectRewrite(row);
        if (row <= m_model.rewrites() || m_desk.scenes() == nullptr) return;
        const FusionSwitch& place = m_model.refusal(row).place;
        const std::string address = placeOfOperator(*m_desk.modelOf(CompareSide::here), *m_desk.scenes()->here, place.graph, place.where);
        if (!address.empty()) m_desk.selectAt(CompareSide::here, address);
    }

    void showMeasured()
    {
        std::vector<ProvedRewrite> all;
        const Judgement& judgement = m_desk.judgement();
        for (int k = 0; k < m_model.rewrites(); ++k) {
            const int row = m_desk.rowOfRewrite(k);
            const DriftFigures* const figures = row < 0 ? nullptr : judgement.figuresOf(row);
            if (figures == nullptr) continue;
            const Verdict verdict = judgement.verdictOf(row);
            const std::string text = !figures->mismatch.empty() ? figures->mismatch
                                     : verdict == Verdict::equal
                                         ? "equal"
                                         : std::string(metricName(judgement.metric())) + " " +
                                               metricText(judgement.metric(), measured(*figures, judgement.metric()));
            all.push_back({m_model.rewrite(k).place, text, verdict == Verdict::equal || verdict == Verdict::within});
        }
        giveRoom(!all.empty());
        m_model.setMeasured(std::move(all));
    }

    void prove()
    {
        const auto* const proving = dynamic_cast<const Proving*>(&document().backend());
        if (proving == nullptr || m_isProving) return;
        m_isProving = true;
        m_prove->setEnabled(false);
        giveRoom(true);
        m_model.setVerdicts({}, tr("proving …"));
        m_work.run([proving](const std::stop_token& stop) { return proving->proveFused(stop); },
                   [this](Result<std::vector<ProvedRewrite>> proved) {
                       m_isProving = false;
                       m_prove->setEnabled(true);
                       if (proved.ok()) return m_model.setVerdicts(std::move(proved).value(), tr("not decided"));
                       m_model.setVerdicts({}, tr("not proved"));
                       document().report({Problem::Severity::error, proved.error().message(), {}, "the rewrites are not proved"});
                   });
    }

    void toggle(int row)
    {
        if (!m_model.isRewrite(row)) return;
        if (const FusedSide::Rewrite& at = m_model.rewrite(row); !at.isKept.empty())
            return document().report(
                {Problem::Severity::notice, "the rewrite to " + at.to + " cannot be switched off: " + at.isKept, {}, {}});
        std::vector<FusionSwitch> off;
        for (int k = 0; k < m_model.rewrites(); ++k)
            if (const FusedSide::Rewrite& each = m_model.rewrite(k); (k == row) == each.isOn) off.push_back(each.place);
        const std::string file = m_model.file();
        emit m_desk.fusedSideWanted(toText(file.empty() ? fusedSideText(off) : rewrittenSideText(file, off)), row);
    }

    CompareDesk& m_desk;
    RewritesModel m_model;
    RowView* m_view = nullptr;
    EmptyStack* m_stack = nullptr;
    QAction *m_toggle, *m_prove;
    bool m_isProving = false;
    Background m_work; ///< last
};

} // namespace

Panel* makeRewritesPanel(Document& document) { return document.backend().fused() ? new RewritesPanel(document) : nullptr; }

} // namespace loopscope::viewer

#include "rewrites_panel.moc"
