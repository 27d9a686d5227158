// What the panels of the Compare task share for one document: the other side, which rows belong together, and which of them is selected.
// GUI thread; pictures are built on a thread of their own, runs are compared by `drift`, a command of the debugger.
#pragma once

#include "viewer/bridge/document.h"
#include "viewer/canvas/scene_index.h"
#include "viewer/compare/class_scores.h"
#include "viewer/compare/fused_rows.h"
#include "viewer/compare/judgement.h"
#include "viewer/compare/linked_views.h"
#include "viewer/compare/paired_scenes.h"
#include "viewer/widgets/parts.h"

#include <QJsonObject>
#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace loopscope::viewer {

class CompareDesk : public QObject {
    Q_OBJECT
public:
    /// That of a document; made when first asked for, owned by the document.
    static CompareDesk& of(Document& document);

    enum class Stage : uint8_t {
        none,   ///< there is nothing to compare with
        notRun, ///< there is, but the runs were not compared
        ready,
    };
    Stage stage() const;
    /// Begins the run if it has not begun, and compares. A run of the debugger: progress and Esc are the window's.
    void compare();
    /// Why that did not work, in one line; empty: it did, or nobody tried.
    QString problem() const { return m_problem; }
    /// The pictures are being built.
    bool isBusy() const { return m_building; }

    Document& document() { return m_document; }
    QString nameOf(CompareSide side) const;
    QString detailOf(CompareSide side) const; ///< "u8, 0.5 MB": the dtype of most results, and the file's size
    const Model* modelOf(CompareSide side) const;
    GraphId root() const { return m_run.root; } ///< what this side runs
    /// Null until they are built, and where the other side has no graph (arrays).
    const PairedScenes* scenes() const { return m_scenes.get(); }
    std::shared_ptr<const IndexedScene> sceneOf(CompareSide side) const { return side == CompareSide::here ? m_here : m_there; }
    /// Null: the runs were not compared.
    const Drift* drift() const { return m_run.drift.get(); }
    const Reference* reference() const { return m_run.reference.get(); }
    std::shared_ptr<const Drift> sharedDrift() const { return m_run.drift; }
    /// The class that each side gives its highest score. None: nothing looks like scores, or they are being read.
    const std::optional<TopClasses>& topClasses() const { return m_topClasses; }
    /// Both sides can change places: the other one is no bundle of arrays, which nothing can run.
    bool canSwap() const
    {
        return reference() && reference()->model() && !m_run.path.starts_with(kFusedSide) && !m_run.path.starts_with(kKernelsSide);
    }

    /// How rows are judged.
    Judgement& judgement() { return m_judgement; }
    const Judgement& judgement() const { return m_judgement; }
    /// Where both pictures stand.
    LinkedViews& views() { return m_views; }
    /// The iterations that are looked at, and what is folded: {"iterations": {"main/while#1": 3}, "folded": ["main/if#2"]}.
    QJsonObject places() const;
    void restorePlaces(const QJsonObject& places);
    /// The loop or v1 frame that a region of a side's picture draws, by the address that it has here; empty: it draws none that is
    /// compared.
    std::string loopOf(CompareSide side, const SceneRegion& region) const;

    // --- Selection and ways through the differences -----------------------------------------------------------------------------------
    int row() const { return m_row; } ///< of the drift; −1: none
    const std::vector<std::string>& selected(CompareSide side) const { return m_selected[static_cast<size_t>(side)]; }
    /// The operators of the other side that belong to one of this side.
    std::vector<std::string> partnersOf(CompareSide side, const std::string& address) const;
    QString reason() const; ///< "by tensor name": why the selected ones belong together; empty: they do not
    void selectRow(int row);
    void selectAt(CompareSide side, const std::string& address);
    /// What a rewrite of the fused model was made of, and what it made.
    void selectRewrite(int rewrite);
    /// What is compared of what comes out of it; −1: nothing.
    int rowOfRewrite(int rewrite) const;
    /// The first row over the limit, then the next one by order of execution; `step` −1: backwards. False: there is none.
    /// A row of a loop counts by its first write over the limit.
    bool goToDifference(int step);
    /// The next worse row by the metric; from the worst on it begins with the least again. False: no row differs.
    bool goToWorse();
    /// The row whose tensors are shown: the selected one, or the one that was pinned.
    int shownRow() const { return m_pinned < 0 ? m_row : m_pinned; }
    bool isPinned() const { return m_pinned >= 0; }
    void setPinned(bool pinned);

    // --- Both pictures ----------------------------------------------------------------------------------------------------------------
    /// Closes or opens a call, group or frame on both sides, `id` as ViewState::folded has it.
    void setFolded(CompareSide side, const std::string& id, bool folded);
    void unfoldAll();
    bool isFolded(CompareSide side, const std::string& id) const { return foldedOf(side).contains(id); }

    /// "B left while#0 after 17 iterations, A after 23".
    QStringList tripLines() const;
    /// What the figures cannot tell: "the two files hold other weights: …". Empty: nothing.
    QString caveat() const { return m_caveat; }

signals:
    void runChanged(); ///< another side, or newly compared
    void scenesChanged();
    void judgementChanged(); ///< metric, limit or iterations
    void selectionChanged();
    void shownRowChanged();
    void topClassesChanged();
    void placesChanged();
    void swapRequested();
    /// Another side, fusedSideText(); `row` of its rewrites is to be shown then.
    void fusedSideWanted(const QString& side, int row);

private:
    explicit CompareDesk(Document& document);
    void adopt();
    void build();
    void reselect();
    std::string chosenOperator() const;
    void askForClasses();
    const std::set<std::string>& foldedOf(CompareSide side) const { return side == CompareSide::here ? m_folded.here : m_folded.there; }
    void select(CompareSide side, const std::string& address, int row);
    std::string shownFor(CompareSide side, const std::string& address) const;
    void setSelection(int row, std::vector<std::string> here, std::vector<std::string> there);

    Document& m_document;
    ComparedRun m_run;
    std::shared_ptr<const PairedScenes> m_scenes;
    std::shared_ptr<const IndexedScene> m_here, m_there;
    std::vector<RewritePlaces> m_rewrites; ///< as FusedSide::rewrites; empty: the other side is no fused model
    FoldedSides m_folded;
    Judgement m_judgement;
    LinkedViews m_views;
    std::optional<TopClasses> m_topClasses;
    int m_row = -1, m_pinned = -1;
    std::vector<std::string> m_selected[2];
    QString m_caveat, m_problem;
    bool m_building = false, m_selecting = false;
    Background m_work; ///< last: it uses nothing above but ends before it goes
};

} // namespace loopscope::viewer
