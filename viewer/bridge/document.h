// One open model or recording as the window sees it: the debugger, what is selected, which moment is looked at, which problems there are.
// Panels talk to each other through it and to nothing else. GUI thread.
#pragma once

#include "engine/observe/address_names.h"
#include "viewer/bridge/debug_bridge.h"
#include "viewer/scene/view_state.h"

#include <QObject>
#include <QStringList>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer {

/// "main/while#1:body/add#14" of "main/while#1@37:body/add#14"; what is no address comes back as it is.
inline std::string staticAddress(const std::string& address) { return withoutIterations(address); }

/// What is selected: an operator or one of its results, or a carried value. Addresses are canonical; without iterations before a run.
struct Selection {
    std::string address; ///< of the operator, or of the graph for its inputs and outputs; empty: nothing
    GraphId graph;
    OperatorId op; ///< invalid for inputs
    ValueId value; ///< of `graph`; for an operator its main result
    bool operator==(const Selection&) const = default;
};

/// Where the values that are shown of an invocation come from: a frame of the present stop, another moment, or nowhere.
struct ValuePlace {
    int depth = -1;         ///< of a frame of the present stop; −1: of none
    std::string invocation; ///< of another moment, canonical: what is looked at, or that under the pointer that scrubs a loop
    int sampledStep = -1;   ///< step of that address that is the scrubbed loop: an iteration near it will do; −1: it is exact
    bool isElsewhere() const { return !invocation.empty(); }
    bool operator==(const ValuePlace&) const = default;
};

struct Problem {
    enum class Severity : uint8_t { error, warning, notice } severity = Severity::error;
    std::string text;   ///< docs/desktop.md, "Messages"
    std::string where;  ///< address, file or step; empty: nowhere
    std::string advice; ///< what to do
    bool operator==(const Problem&) const = default;
};

class Document : public QObject {
    Q_OBJECT
public:
    explicit Document(std::unique_ptr<Backend> backend, QObject* parent = nullptr);
    ~Document() override;

    DebugBridge& bridge() { return m_bridge; }
    const DebugBridge& bridge() const { return m_bridge; }
    const Model& model() const { return m_bridge.model(); }
    Backend& backend() { return m_bridge.backend(); }
    std::shared_ptr<const StopSnapshot> stop() const { return m_bridge.stop(); }

    const Selection& selection() const { return m_selection; }
    /// What an address names, with the iterations of the present stop where it has none; none if the model has no such place.
    std::optional<Selection> find(const std::string& address) const;
    /// Selects an operator by canonical or static address; fills graph, op and value. False if the model has no such place.
    bool select(const std::string& address);
    void select(const Selection& selection);
    void clearSelection();

    /// The frame of the stack that listing, graph and values are about: index into StopSnapshot::stack, −1: innermost.
    int frame() const { return m_frame; }
    void setFrame(int depth);

    /// The invocation that graph, listing and values are about where that is not one of the stack: "main/while#1@5:body", which ended.
    /// Empty: a frame of the present stop. The run stays where it is; the next stop ends looking.
    const std::string& lookedAt() const { return m_lookedAt; }
    void lookAt(const std::string& invocation);

    /// The graph shown, as a static address ("main/while#1:body"), shared by canvas and listing.
    const ViewState& view() const { return m_view; }
    void setView(ViewState view);

    /// Sides of branches as far as they are known in this timeline: of open frames, and of what wantSides() asked about.
    const BranchSides& sides() const { return m_sides; }
    /// The side that the operator at a canonical address took.
    std::optional<int> sideOf(const std::string& op) const;
    /// Somebody shows an invocation, canonical, and does not know the sides of its branches: sidesChanged() follows once it has ended and
    /// is found. Of one in a branch first that branch is asked about.
    void wantSides(const std::string& invocation);

    /// How callees open: as the user opened the last one. So do those that a stop lies in.
    OpenCallee openCallee() const { return m_open; }
    void setOpenCallee(OpenCallee open);
    /// `address` with the iterations of the present stop where both lie in the same invocations; canonical.
    std::string atStop(const std::string& address) const;
    /// The same with the iterations of what is looked at.
    std::string atView(const std::string& address) const;
    /// How an expression names a value of a frame of the present stop: its id in the innermost one, else its place in braces.
    std::string expressionOf(const Selection& selection) const;
    /// Gives the value, or an element of it ("[0,1]"), other contents: the run goes on from there in a timeline of its own.
    void setValue(const Selection& selection, const std::string& element, const QString& expression);
    /// Whether values that are shown can be changed: they are those of the present stop of a run that is no recording.
    bool canSetValues() const;
    /// Of the selected value itself, with the iterations of what is looked at: of operators the output, of graphs the input by name.
    std::string valueAddress(const Selection& selection) const;
    /// Makes canvas and listing go there.
    void reveal(const std::string& address) { emit revealRequested(QString::fromStdString(address)); }

    /// While a loop is scrubbed: the iteration of which values are shown as far as they are known already, marked as not exact.
    std::optional<int64_t> preview() const { return m_preview; }
    const std::string& previewLoop() const { return m_previewLoop; } ///< static; empty: none
    /// `loop`: its body or frame as an address, with or without iterations; empty: that is not known.
    void setPreview(std::optional<int64_t> iteration, const std::string& loop = {});

    /// Where the values of a graph, a static address ("main/while#1:body"), are to be read.
    ValuePlace valuePlace(const std::string& graph) const;
    /// The same of what is in view: the frame, or what is looked at.
    ValuePlace valuePlace() const;

    /// Static addresses of what the search has found last, to be marked where it is drawn.
    const QStringList& hits() const { return m_hits; }
    void setHits(const QStringList& addresses);

    /// What was clicked; the console shows the command that does the same.
    void perform(Request request, const QString& tag = {}) { m_bridge.perform(std::move(request), tag); }
    /// What a person typed.
    void execute(const QString& line) { m_bridge.execute(line); }

    const std::vector<Problem>& problems() const { return m_problems; }
    void report(Problem problem);
    void clearProblems();

signals:
    void selectionChanged();
    void frameChanged();
    void lookedAtChanged();
    void sidesChanged();
    void viewChanged();
    /// As of DebugBridge, after the document has adapted itself.
    void stopChanged();
    void problemsChanged();
    void previewChanged();
    void hitsChanged();
    void openCalleeChanged();
    /// Somebody asks to look at a place: canvas and listing scroll there and open what hides it.
    void revealRequested(const QString& address);

private:
    void follow();
    void keepSides();

    DebugBridge m_bridge;
    Selection m_selection;
    int m_frame = -1;
    std::string m_lookedAt;
    std::optional<int64_t> m_preview;
    std::string m_previewLoop; ///< static
    BranchSides m_sides;
    std::pair<int64_t, int> m_sidesOf;  ///< run and timeline
    std::set<std::string> m_sidesAsked; ///< invocations; what gave nothing is asked again after the next stop
    ViewState m_view;
    OpenCallee m_open = OpenCallee::inlineHere;
    QStringList m_hits;
    std::vector<Problem> m_problems;
};

} // namespace loopscope::viewer
