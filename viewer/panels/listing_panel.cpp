// Listing and structured view: lines of the model in step with the graph, with breakpoints, the next operator and the last values.
#include "engine/ir/ids.h"
#include "engine/observe/address_names.h"
#include "engine/ops/control_flow.h"
#include "viewer/panels/common.h"
#include "viewer/panels/listing_head.h"
#include "viewer/panels/listing_values.h"
#include "viewer/panels/listing_view.h"
#include "viewer/panels/panels.h"
#include "viewer/style/icons.h"
#include "viewer/widgets/parts.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr int kStaleDelayMs = 120; ///< values of earlier invocations are looked up by travelling: not while somebody steps quickly

class ListingPanel : public Panel {
    Q_OBJECT
public:
    ListingPanel(Document& document, bool structured)
        : Panel(document, structured ? "panelStructured" : "panelListing", structured ? "Structured" : "Listing"),
          m_structured(structured)
    {
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        m_head = new ListingHead(this);
        m_head->setVisible(!structured);
        m_view = new ListingView(this);
        if (structured) m_view->setObjectName("structuredView");
        m_find = new QLineEdit(this);
        m_find->setObjectName("listingFind");
        m_find->setPlaceholderText("Find in these lines");
        m_find->setAccessibleName("Find in these lines");
        m_find->setClearButtonEnabled(true);
        m_find->hide();
        column->addWidget(m_head);
        column->addWidget(m_view, 1);
        column->addWidget(m_find);
        m_ask.setSingleShot(true);
        m_ask.setInterval(0);
        m_stale.setSingleShot(true);
        m_stale.setInterval(kStaleDelayMs);
        m_follow = new QAction("Follow the selection", this);
        m_follow->setCheckable(true);
        m_follow->setChecked(true);
        m_follow->setIcon(themedIcon("follow"));

        connect(&m_ask, &QTimer::timeout, this, [this] { ask(false); });
        connect(&m_stale, &QTimer::timeout, this, [this] { ask(true); });
        connect(m_view, &ListingView::sightChanged, this, [this] { m_ask.start(); });
        connect(m_view, &ListingView::lineActivated, this, &ListingPanel::select);
        connect(m_view, &ListingView::lineOpened, this, [this] { command("drillIn"); });
        connect(m_view, &ListingView::gutterClicked, this, [this](int line) {
            const ListingLine& at = lines()[static_cast<size_t>(line)];
            if (at.op.valid()) toggleBreakpoint(this->document(), at.address);
        });
        connect(m_view, &ListingView::commandKey, this, &ListingPanel::command);
        connect(m_find, &QLineEdit::textChanged, m_view, &ListingView::setFindText);
        connect(m_find, &QLineEdit::returnPressed, this, [this] { command("findNext"); });
        connect(&document, &Document::stopChanged, this, &ListingPanel::stopped);
        connect(&document, &Document::frameChanged, this, [this] { followFrame(); });
        connect(&document, &Document::lookedAtChanged, this, [this] { followFrame(); });
        connect(&document, &Document::sidesChanged, this, [this] { m_ask.start(); });
        m_scrubbed.setSingleShot(true);
        m_scrubbed.setInterval(0); // where scrubbing ends, the run is about to move
        connect(&m_scrubbed, &QTimer::timeout, this, [this] {
            if (!this->document().bridge().busy()) update(!this->document().preview());
            if (this->document().preview()) m_ask.start();
        });
        connect(&document, &Document::previewChanged, &m_scrubbed, qOverload<>(&QTimer::start));
        connect(&document, &Document::selectionChanged, this, [this] { followSelection(); });
        connect(&document, &Document::revealRequested, this,
                [this](const QString& address) { reveal(staticAddress(address.toStdString())); });
        connect(&Theme::instance(), &Theme::changed, this, [this] {
            m_head->updateGeometry();
            m_head->update();
            m_follow->setIcon(themedIcon("follow"));
        });
        if (structured) {
            load(GraphId(), "");
        } else if (!document.model().graphs.empty()) {
            followFrame();
            if (!m_graph.valid()) load(GraphId(0), document.model().graphs.front().id);
        }
        followSelection();
    }

    QWidget* focusTarget() override { return m_view; }
    QList<QAction*> headActions() override { return {m_follow}; }

    bool command(const QString& name) override
    {
        const int at = m_view->cursorLine();
        if (name == "find") {
            m_find->show();
            m_find->setFocus();
            m_find->selectAll();
            return true;
        }
        if (name == "findNext" || name == "findPrevious") {
            if (m_find->text().isEmpty()) return false;
            const int hit = m_view->findNext(name == "findNext");
            if (hit >= 0) {
                m_view->setCursorLine(hit);
                select(hit);
            }
            return true;
        }
        if (name == "cancel" && m_find->isVisible() && (m_find->hasFocus() || m_view->hasFocus())) {
            m_find->clear();
            m_find->hide();
            m_view->setFocus();
            return true;
        }
        if (name == "up") {
            if (m_structured) return false;
            const std::string outer = callerOf(m_address);
            showInvocation(outer.empty() ? m_address : outer);
            return true;
        }
        if (at < 0 || at >= static_cast<int>(lines().size())) return false;
        const ListingLine& line = lines()[static_cast<size_t>(at)];
        if (name == "copyName") {
            const QString value = m_view->state().values.contains(at) ? "   " + m_view->state().values.at(at).text : QString();
            QApplication::clipboard()->setText(
                (toText(line.text()) + "   " + toText(line.type) + value).trimmed().replace(QChar(0x2212), '-'));
            return true;
        }
        if (!line.op.valid()) return false;
        if (name == "drillIn") return drillIn(line);
        if (name == "inspect") {
            document().select(line.address);
            document().reveal(line.address);
            return true;
        }
        if (name == "toggleBreakpoint") {
            toggleBreakpoint(document(), line.address);
            return true;
        }
        if (name == "producer" || name == "consumer") return walk(line, name == "producer");
        if (name == "previousWrite" || name == "nextWrite") {
            const Operator& op = document().model().graph(line.graph).op(line.op);
            if (op.results.empty()) return false;
            document().perform(request::GoToWrite{name == "previousWrite" ? HistoryQuery::lastWrite : HistoryQuery::nextWrite,
                                                  document().model().graph(line.graph).value(op.results.front()).id});
            return true;
        }
        return false;
    }

private:
    const std::vector<ListingLine>& lines() const { return m_view->listing().lines; }

    void load(GraphId graph, const std::string& address)
    {
        if (m_loaded && graph == m_graph && address == m_address) return;
        m_loaded = true;
        m_graph = graph;
        m_address = address;
        m_texts.clear();
        m_changed.clear();
        const Model& model = document().model();
        // Small graphs at once, so that a step into a call shows its lines in the same frame.
        if (!m_structured && model.graph(graph).operators.size() < 2000) {
            m_work.run([](std::stop_token) { return 0; }, [](int) {});
            show(std::make_shared<const Listing>(listGraph(model, graph, address)));
            return;
        }
        m_work.run(
            [&model, graph, address, structured = m_structured](std::stop_token) {
                return std::make_shared<const Listing>(structured ? listStructured(model) : listGraph(model, graph, address));
            },
            [this](std::shared_ptr<const Listing> listing) { show(std::move(listing)); });
    }

    void show(std::shared_ptr<const Listing> listing)
    {
        m_view->setListing(std::move(listing));
        update(true);
        if (m_view->cursorLine() < 0) reveal(m_view->state().current); // whatever brought it here
    }

    void showInvocation(const std::string& address)
    {
        const Result<Address> parsed = parseAddress(address);
        if (!parsed.ok()) return;
        const Result<ResolvedAddress> place = resolveAddress(document().model(), *parsed);
        if (!place.ok() || !place->graph.valid()) return;
        load(place->graph, staticAddress(toString(place->address)));
        update(true);
    }

    void stopped()
    {
        m_moved = true;
        followFrame();
        update(true);
        m_moved = false;
    }

    /// The graph of the frame that is looked at.
    void followFrame()
    {
        if (const std::string& looked = document().lookedAt(); !looked.empty() && !m_structured) {
            showInvocation(looked);
            return;
        }
        const int depth = frameInView(document());
        if (m_structured || depth < 0) return update(true);
        const FrameSnapshot& frame = document().stop()->stack[static_cast<size_t>(depth)];
        if (frame.info.graph.valid()) load(frame.info.graph, graphAddressOf(staticAddress(frame.address)));
        update(true);
    }

    void followSelection()
    {
        if (m_own) return;
        const Selection& selection = document().selection();
        if (m_follow->isChecked() && !selection.address.empty() && selection.graph.valid()) {
            const std::string place = staticAddress(selection.address);
            if (!m_structured && selection.op.valid() && (selection.graph != m_graph || graphAddressOf(invocationOf(place)) != m_address))
                load(selection.graph, graphAddressOf(invocationOf(place)));
            reveal(place);
        }
        update(false);
    }

    void reveal(const std::string& address)
    {
        const int line = m_view->lineOf(address);
        if (line >= 0) m_view->setCursorLine(line);
    }

    bool drillIn(const ListingLine& line)
    {
        const Operator& op = document().model().graph(line.graph).op(line.op);
        const CallForm form = callForm(op);
        if (form.kind == CallKind::none || form.callees.empty()) return false;
        const Callee& callee = form.kind == CallKind::loop ? form.callees.back() : form.callees.front();
        if (!callee.graph.valid()) return false;
        const std::string inner = line.address + ":" + callee.role;
        if (m_structured) {
            m_view->setCursorLine(std::min(m_view->cursorLine() + 1, static_cast<int>(lines().size()) - 1));
            return true;
        }
        showInvocation(inner);
        return true;
    }

    bool walk(const ListingLine& line, bool back)
    {
        const Graph& graph = document().model().graph(line.graph);
        const Operator& op = graph.op(line.op);
        OperatorId target;
        if (back) {
            for (const ValueId id : op.inputs)
                if (id.valid() && graph.value(id).producer.valid()) target = std::max(target, graph.value(id).producer);
        } else {
            for (size_t o = static_cast<size_t>(line.op.index) + 1; o < graph.operators.size() && !target.valid(); ++o)
                for (const ValueId id : op.results)
                    if (std::ranges::count(graph.operators[o].inputs, id) > 0) target = OperatorId(static_cast<int64_t>(o));
        }
        if (!target.valid()) return false;
        document().select(invocationOf(line.address) + "/" + addressSite(graph.op(target), target.index));
        return true;
    }

    void select(int number)
    {
        const ListingLine& line = lines()[static_cast<size_t>(number)];
        if (!line.op.valid()) return;
        m_own = true;
        document().select(line.address);
        m_own = false;
        update(false);
    }

    /// The frame whose operator a line shows; −1: it is of none that is open.
    int depthOf(const ListingLine& line) const
    {
        if (!line.op.valid()) return -1;
        const auto stop = const_cast<ListingPanel*>(this)->document().stop();
        for (int depth = static_cast<int>(stop->stack.size()) - 1; depth >= 0; --depth) {
            const FrameSnapshot& frame = stop->stack[static_cast<size_t>(depth)];
            if (frame.info.graph != line.graph || static_cast<size_t>(depth) >= m_frames.size()) continue;
            if (line.address == m_frames[static_cast<size_t>(depth)] + "/" + lastPart(line.address)) return depth;
        }
        return -1;
    }

    bool hasRun(const ListingLine& line, int depth) const
    {
        const auto stop = const_cast<ListingPanel*>(this)->document().stop();
        if (stop->isDataflow) return m_tallied.contains({line.graph.index, line.op.index});
        const FrameInfo& frame = stop->stack[static_cast<size_t>(depth)].info;
        return !frame.next.valid() || line.op.index < frame.next.index;
    }

    /// Everything but values; `moved`: values are of another stop or graph.
    void update(bool moved)
    {
        const auto stop = document().stop();
        m_frames.clear();
        for (const FrameSnapshot& frame : stop->stack) m_frames.push_back(staticAddress(frame.address));
        m_tallied.clear();
        if (stop->isDataflow)
            for (const DataflowTally& tally : stop->tallies) m_tallied.insert({tally.graph.index, tally.op.index});
        ListingState state = m_view->state();
        if (moved) {
            state.values.clear();
            state.ran.clear();
            state.notes.clear();
            state.untaken.clear();
        }
        state.selected = staticAddress(document().selection().address);
        state.marks.clear();
        for (const BreakpointRow& row : stop->breakpoints) {
            if (row.address.empty()) continue;
            const std::string place = staticAddress(row.address);
            if (!place.starts_with(".../")) {
                state.marks[place] = breakMarkOf(row);
                continue;
            }
            for (const ListingLine& line : lines())
                if (line.op.valid() && sitsOn(row, line.address)) state.marks[line.address] = breakMarkOf(row);
        }
        state.current.clear();
        state.last.clear();
        const int depth = frameInView(document());
        state.quiet = depth >= 0;
        if (depth >= 0 && !stop->finished && !looksElsewhere()) {
            const FrameSnapshot& frame = stop->stack[static_cast<size_t>(depth)];
            const Graph& graph = document().model().graph(frame.info.graph);
            const auto address = [&](OperatorId op) {
                return m_frames[static_cast<size_t>(depth)] + "/" + addressSite(graph.op(op), op.index);
            };
            if (frame.info.next.valid()) {
                state.current = address(frame.info.next);
                if (frame.info.next.index > 0 && !stop->isDataflow) state.last = address(OperatorId(frame.info.next.index - 1));
            }
        }
        m_view->setState(std::move(state));
        updateHead();
        if (m_moved) reveal(m_view->state().current);
        if (moved) m_ask.start();
    }

    /// Where the values of a line are to be read.
    ValuePlace placeOf(const ListingLine& line) const
    {
        const auto& doc =
            const_cast<ListingPanel*>(this)->document(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
        return doc.valuePlace(graphAddressOf(invocationOf(line.address)));
    }

    /// What is shown is of another moment than this stop.
    bool looksElsewhere() const
    {
        const auto& doc =
            const_cast<ListingPanel*>(this)->document(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
        return !m_structured && doc.valuePlace(m_address).isElsewhere();
    }

    void updateHead()
    {
        if (m_structured || !m_graph.valid()) return;
        const auto stop = document().stop();
        const Graph& graph = document().model().graph(m_graph);
        QString address = toText(m_address), counts = counted(static_cast<qint64>(graph.operators.size()), "op");
        if (const ValuePlace place = document().valuePlace(m_address); place.isElsewhere())
            return m_head->setTexts(toText(place.invocation), place.sampledStep >= 0 ? "≈ sampled" : "looked at", counts);
        for (size_t depth = m_frames.size(); depth-- > 0;) {
            const FrameSnapshot& frame = stop->stack[depth];
            if (frame.info.graph != m_graph || graphAddressOf(m_frames[depth]) != m_address) continue;
            address = toText(frame.address);
            const qint64 ran =
                !frame.info.next.valid() || stop->finished ? static_cast<qint64>(graph.operators.size()) : frame.info.next.index;
            if (!stop->isDataflow) counts += QString(" · %1 run").arg(ran);
            break;
        }
        m_head->setTexts(address, toText(signatureText(graph)), counts);
    }

    /// Values of the lines in sight; with `earlier` also those that iterations before gave.
    void ask(bool earlier)
    {
        const auto stop = document().stop();
        ListingState state = m_view->state();
        std::map<int, std::vector<ListingQuestion>> here;
        std::map<std::string, ListingElsewhere> elsewhere; // by invocation
        const bool looks = !document().lookedAt().empty() || document().preview();
        for (const int number : m_view->linesInSight()) {
            const ListingLine& line = lines()[static_cast<size_t>(number)];
            if (!line.op.valid()) continue;
            if (line.isCall) noteSide(state, number, line);
            if (ValuePlace place = looks ? placeOf(line) : ValuePlace(); place.isElsewhere()) {
                ListingElsewhere& other = elsewhere[place.invocation];
                other.place = std::move(place);
                other.questions.push_back({number, line.graph, line.op});
                continue;
            }
            const int depth = depthOf(line);
            if (depth < 0) continue;
            state.ran[number] = hasRun(line, depth) || stop->finished;
            if (line.isCall) noteCall(state, number, line, depth);
            here[depth].push_back({number, line.graph, line.op});
        }
        if (stop->failed && !m_view->state().current.empty()) noteFailure(state);
        m_view->setState(state);
        if (document().bridge().busy()) return;
        if (!elsewhere.empty()) askElsewhere(elsewhere);
        if (here.empty()) return;
        document().bridge().ask(
            this, earlier ? "stale" : "values",
            [here, earlier, tick = stop->tick](Inspector& inspector) {
                return inspector.tick() == tick ? factsHere(inspector, here, earlier)
                                                : ListingFacts(); // it has moved on: another question follows
            },
            [this, earlier](const ListingFacts& facts) { answered(facts, earlier); });
    }

    void askElsewhere(const std::map<std::string, ListingElsewhere>& invocations)
    {
        std::vector<ListingElsewhere> asked;
        for (const auto& [invocation, one] : invocations) asked.push_back(one);
        document().bridge().ask(
            this, "elsewhere", [asked](Inspector& inspector) { return factsElsewhere(inspector, asked); },
            [this](const ListingElsewhereFacts& answer) {
                ListingState state = m_view->state();
                for (const auto& [number, read] : answer.read) {
                    if (number >= static_cast<int>(lines().size()) || !placeOf(lines()[static_cast<size_t>(number)]).isElsewhere()) return;
                    const auto found = answer.facts.values.find(number);
                    const bool ran = found != answer.facts.values.end() && found->second.age == OperatorValues::Age::current;
                    state.ran[number] = ran;
                    state.values.erase(number);
                    if (!ran) continue;
                    ListingValue value;
                    value.text = onScreen(found->second.text);
                    value.isAbnormal = found->second.abnormal;
                    value.moment = momentText(read);
                    state.values[number] = value;
                }
                for (const auto& [number, taken] : answer.facts.taken) foldBranches(state, number, taken);
                m_view->setState(std::move(state));
            });
    }

    void answered(const ListingFacts& facts, bool earlier)
    {
        const auto stop = document().stop();
        ListingState state = m_view->state();
        bool missing = false;
        for (const auto& [number, values] : facts.values) {
            if (number >= static_cast<int>(lines().size())) return;
            if (const auto kept = state.values.find(number); kept != state.values.end() && kept->second.isError) continue;
            if (values.age == OperatorValues::Age::none) {
                missing = true;
                continue;
            }
            const ListingLine& line = lines()[static_cast<size_t>(number)];
            ListingValue value;
            value.text = onScreen(values.text);
            value.isAbnormal = values.abnormal;
            if (values.age == OperatorValues::Age::earlier) {
                const int depth = depthOf(line);
                const qint64 iteration = depth >= 0 ? stop->stack[static_cast<size_t>(depth)].info.iteration : -1;
                value.moment = iteration > 0 ? "@" + QString::number(iteration - 1) : QString("before:");
                if (depth >= 0) state.ran[number] = false;
            } else {
                auto& [text, tick] = m_texts[number];
                if (tick != stop->tick) {
                    value.isChanged = !text.isEmpty() && text != value.text;
                    text = value.text;
                    tick = stop->tick;
                    if (value.isChanged) m_changed[number] = stop->tick;
                }
                value.isChanged = m_changed.contains(number) && m_changed[number] == stop->tick;
                if (stop->isDataflow) state.ran[number] = true;
            }
            state.values[number] = value;
        }
        for (const auto& [number, taken] : facts.taken) foldBranches(state, number, taken);
        m_view->setState(std::move(state));
        if (!earlier && missing) m_stale.start();
    }

    void noteCall(ListingState& state, int number, const ListingLine& line, int depth)
    {
        const auto stop = document().stop();
        const auto inner = static_cast<size_t>(depth) + 1;
        if (inner >= stop->stack.size() || stop->stack[inner].info.site != line.op) return;
        const FrameSnapshot& frame = stop->stack[inner];
        if (frame.info.iteration >= 0)
            state.notes[number] =
                QString("@%1 of %2").arg(frame.info.iteration).arg(frame.knownTrips ? QString::number(*frame.knownTrips) : QString("?"));
        if (frame.info.role == CallRole::thenBranch || frame.info.role == CallRole::elseBranch)
            foldBranches(state, number, frame.info.role == CallRole::thenBranch ? 0 : 1);
        if (frame.info.role == CallRole::branch) foldBranches(state, number, frame.info.branch);
    }

    /// The side that a branch took in the invocation that the line is about, which may have ended.
    void noteSide(ListingState& state, int number, const ListingLine& line)
    {
        if (!document().stop()->started) return;
        const Operator& op = document().model().graph(line.graph).op(line.op);
        const CallKind kind = callForm(op).kind;
        if (kind != CallKind::branch && kind != CallKind::select) return;
        const std::string address = document().atView(line.address);
        if (const std::optional<int> side = document().sideOf(address)) {
            // One that is known from a later stop has not run yet here.
            const int depth = depthOf(line);
            if (depth >= 0 && !looksElsewhere() && !hasRun(line, depth)) return;
            foldBranches(state, number, *side);
            if (!m_structured) state.notes[number] = toText(roleOfSide(op, *side)) + " taken";
        } else if (depthOf(line) < 0) {
            document().wantSides(invocationOf(address));
        }
    }

    /// Of the heads below a branch operator all but one are folded.
    void foldBranches(ListingState& state, int number, int taken)
    {
        if (!m_structured) return;
        const int indent = lines()[static_cast<size_t>(number)].indent;
        int branch = 0;
        for (size_t i = static_cast<size_t>(number) + 1; i < lines().size(); ++i) {
            const ListingLine& head = lines()[i];
            if (head.branchEnd < 0 || head.indent < indent) break;
            if (branch++ != taken) state.untaken.insert(static_cast<int>(i));
            else state.untaken.erase(static_cast<int>(i));
            i = static_cast<size_t>(head.branchEnd) - 1;
        }
    }

    void noteFailure(ListingState& state)
    {
        const auto stop = document().stop();
        const int line = m_view->lineOf(state.current);
        if (line < 0) return;
        for (const StopReason& reason : stop->report.reasons) {
            if (reason.cause != StopCause::error) continue;
            std::string text = reason.text;
            for (const std::string& place : {stop->address, staticAddress(stop->address)})
                if (text.starts_with(place + ": ")) text.erase(0, place.size() + 2);
            ListingValue value;
            value.text = toText(text);
            value.isError = true;
            state.values[line] = value;
        }
    }

    const bool m_structured;
    ListingHead* m_head = nullptr;
    ListingView* m_view = nullptr;
    QLineEdit* m_find = nullptr;
    QAction* m_follow = nullptr;
    QTimer m_ask, m_stale, m_scrubbed;
    bool m_loaded = false, m_own = false, m_moved = false;
    GraphId m_graph;
    std::string m_address;                              ///< static, of the invocation shown
    std::vector<std::string> m_frames;                  ///< static addresses of the stack
    std::set<std::pair<int32_t, int32_t>> m_tallied;    ///< v1: nodes that ran
    std::map<int, std::pair<QString, int64_t>> m_texts; ///< by line: the last value and the tick at which it was asked for
    std::map<int, int64_t> m_changed;                   ///< by line: tick of the stop that found it changed
    Background m_work;                                  ///< last: its end waits for what reads the model
};

} // namespace

Panel* makeListingPanel(Document& document) { return new ListingPanel(document, false); }

Panel* makeStructuredPanel(Document& document) { return new ListingPanel(document, true); }

} // namespace loopscope::viewer

#include "listing_panel.moc"
