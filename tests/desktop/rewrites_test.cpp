// What rewrites make of a model, in the whole window: the Raised tab beside a TensorFlow 1 graph, and a model compared with itself, fused.
#include "tests/desktop/driven_window.h"

#include "viewer/canvas/graph_panel.h"
#include "viewer/canvas/raised_panel.h"
#include "viewer/compare/compare_desk.h"

#include <QFile>
#include <QRegularExpression>
#include <QTextBrowser>

using namespace loopscope;
using namespace loopscope::viewer;
using loopscope::viewer::testing::rowsOf;

class RewritesWindowTest : public QObject, viewer::testing::DrivenWindow {
    Q_OBJECT
private:
    RaisedPanel& raised()
    {
        auto* const panel = qobject_cast<RaisedPanel*>(m_window->area()->show("panelRaised", false));
        settle();
        return *panel;
    }
    /// The node of a picture that a name ends the address of; none: there is none.
    static const SceneNode* nodeNamed(const GraphCanvas& canvas, const std::string& ending)
    {
        for (const SceneNode& node : canvas.scene()->nodes)
            if (node.id.ends_with(ending)) return &node;
        return nullptr;
    }
    QString writeFile(const char* name, const QByteArray& text)
    {
        QFile file(m_folder->path() + "/" + name);
        if (!file.open(QIODevice::WriteOnly)) return {};
        file.write(text);
        return file.fileName();
    }
    static QStringList textsOf(const std::vector<std::string>& all)
    {
        QStringList texts;
        for (const std::string& each : all) texts.append(QString::fromStdString(each));
        return texts;
    }

    /// Presses what the line about the failed operator offers, and answers.
    void giveFromTheBanner(const QString& source)
    {
        QAbstractButton* offer = nullptr;
        for (auto* const button : find<QWidget>("errorBanner")->findChildren<QAbstractButton*>())
            if (button->text().startsWith("Give its output")) offer = button;
        QVERIFY(offer && offer->isVisible());
        offer->setFocus(Qt::TabFocusReason);
        offer->click();
        auto* const field = find<QLineEdit>("giveOutputSource");
        QVERIFY(field);
        QVERIFY(field->placeholderText().contains("run.lstrace"));
        field->setText(source);
        QTest::keyClick(field, Qt::Key_Return);
        settle();
        QTest::qWait(20); // the question goes
    }

private slots:
    void init() { begin(); }
    void cleanup() { end(); }

    void whatWasRaisedIsATabOfTheDataflowTask()
    {
        open("v1_collatz.lsir", {{"n", "6"}});
        execute("start");
        QStringList strip;
        for (const PanelStrip* const each : m_window->area()->strips())
            if (each->indexOf(m_window->area()->panel("panelGraph")) >= 0)
                for (int i = 0; i < each->count(); ++i) strip.append(each->panel(i)->objectName());
        QCOMPARE(strip, QStringList({"panelGraph", "panelRaised", "panelListing"}));
        const GraphCanvas& canvas = raised().canvas();
        QVERIFY(canvas.scene() != nullptr);
        QVERIFY(nodeNamed(canvas, "main/collatz:body/x/next/If:then/triple") != nullptr);
    }

    void bothPicturesSelectAndStepTogether()
    {
        open("v1_collatz.lsir", {{"n", "6"}});
        execute("start");
        RaisedPanel& panel = raised();
        QVERIFY(m_window->document()->select("main/collatz:frame/triple"));
        QCOMPARE(textsOf(panel.canvas().selection().addresses()), QStringList("main/collatz:body/x/next/If:then/triple"));
        // The other way round.
        const SceneNode* const rest = nodeNamed(panel.canvas(), "/rest");
        QVERIFY(rest != nullptr);
        panel.canvas().selection().setCurrent(panel.canvas().scene()->findNode(rest->id));
        settle();
        QVERIFY2(selected().contains("/rest") && selected().startsWith("main/collatz"), qPrintable(selected()));
        // The next node, its loop's iteration, and the side that is not taken.
        execute("goto main/collatz@1:frame/rest");
        const CanvasState& state = panel.canvas().state();
        const auto at = [&](const char* ending) {
            return static_cast<size_t>(panel.canvas().scene()->findNode(nodeNamed(panel.canvas(), ending)->id));
        };
        QVERIFY(state.nodes[at("/rest")].next);
        bool hasIteration = false;
        for (size_t r = 0; r < state.regions.size(); ++r)
            if (panel.canvas().scene()->regions[r].kind == RegionKind::loop) hasIteration |= state.regions[r].iteration == 1;
        QVERIFY(hasIteration);
        execute("goto main/collatz@1:frame/half"); // ready, but with a dead operand
        QCOMPARE(state.nodes[at("/half")].run, RunState::untaken);
        QVERIFY(state.nodes[at("/half")].next);
        execute("goto main/collatz@1:frame/x/NextIteration"); // 3 is odd: the half is dead
        QCOMPARE(state.nodes[at("/half")].run, RunState::untaken);
        QCOMPARE(state.nodes[at("/triple")].run, RunState::run);
        QVERIFY(state.nodes[at("/x/next/If:then/up")].run == RunState::run);
    }

    void bothPicturesScrollTogether()
    {
        m_window->resize(1700, 900);
        open("v1_collatz.lsir", {{"n", "6"}});
        execute("start");
        RaisedPanel& panel = raised();
        auto* const graph = qobject_cast<GraphPanel*>(m_window->area()->panel("panelGraph"));
        QVERIFY(graph->canvas().isVisible() && panel.canvas().isVisible()); // side by side where there is room
        const SceneNode* const half = nodeNamed(graph->canvas(), "/half");
        QVERIFY(half != nullptr);
        graph->canvas().camera().setViewport(2, QPointF(half->rect.x, half->rect.y) * 2 - QPointF(100, 100));
        const QPointF v1 = graph->canvas().camera().nodeRect(graph->canvas().scene()->findNode(half->id)).center() -
                           QRectF(graph->canvas().rect()).center();
        // Some node near the middle has come to the same place; with the link off nothing follows.
        const QPointF before = panel.canvas().camera().origin();
        auto* const link = m_window->findChild<QAction*>("raisedLink");
        QVERIFY(link && link->isChecked());
        link->setChecked(false);
        graph->canvas().camera().setViewport(2, QPointF(0, 0));
        QCOMPARE(panel.canvas().camera().origin(), before);
        link->setChecked(true);
        graph->canvas().camera().setViewport(2, QPointF(40, 60));
        QVERIFY(panel.canvas().camera().origin() != before);
        QVERIFY(v1.x() < graph->canvas().width());
    }

    void aBreakpointInTheRaisedPictureHoldsAtItsNode()
    {
        open("v1_collatz.lsir", {{"n", "6"}});
        execute("start");
        RaisedPanel& panel = raised();
        emit panel.canvas().breakpointRequested(QString::fromStdString(nodeNamed(panel.canvas(), "/triple")->id));
        settle();
        QCOMPARE(stop().breakpoints.size(), size_t(1));
        QVERIFY(stop().breakpoints.front().address.ends_with("/triple"));
        const int node = panel.canvas().scene()->findNode(nodeNamed(panel.canvas(), "/triple")->id);
        QCOMPARE(panel.canvas().state().nodes[static_cast<size_t>(node)].breakpoint, BreakpointMark::enabled);
        const GraphCanvas& dataflow = qobject_cast<GraphPanel*>(m_window->area()->panel("panelGraph"))->canvas();
        const int there = dataflow.scene()->findNode("main/collatz:frame/triple");
        QCOMPARE(dataflow.state().nodes[static_cast<size_t>(there)].breakpoint, BreakpointMark::enabled);
        emit panel.canvas().breakpointRequested(QString::fromStdString(nodeNamed(panel.canvas(), "/triple")->id)); // and away again
        settle();
        QVERIFY(stop().breakpoints.empty());
    }

    void whatIsNotRaisedIsAProblemWithNodeAndRule()
    {
        const QString path = writeFile("left.lsir", "lsir 1\nmodel tf producer=2474\n\ngraph main {\n"
                                                    "  p = Placeholder() dtype=bool shape=shape[] : bool[]\n"
                                                    "  a = Placeholder() dtype=i32 shape=shape[] : i32[]\n"
                                                    "  b = Placeholder() dtype=i32 shape=shape[] : i32[]\n"
                                                    "  m = Merge(a, b) N=2 T=i32 : (i32, i32)\n"
                                                    "  y = Identity(m) T=i32 : i32\n}\n");
        open(path, {{"p", "true"}, {"a", "1"}, {"b", "2"}});
        QTRY_VERIFY(!m_window->document()->problems().empty());
        const Problem& problem = m_window->document()->problems().front();
        QVERIFY2(problem.text.starts_with("not raised: ") && problem.text.find("Merge") != std::string::npos, problem.text.c_str());
        QCOMPARE(problem.where, std::string("main/m"));
        QVERIFY(m_window->document()->select(problem.where));
    }

    void aModelIsComparedWithItselfFused()
    {
        open("tests/cli/fusion.lsir", {{"x", "@1"}, {"image", "@2"}});
        QVERIFY(m_window->run("compareFused"));
        settle();
        QCOMPARE(m_window->task(), Task::compare);
        CompareDesk& desk = CompareDesk::of(*m_window->document());
        QVERIFY2(desk.drift() != nullptr, qPrintable(desk.problem()));
        QVERIFY(m_window->windowTitle().startsWith("fusion.lsir, before and after fusing"));
        enter("panelRewrites");
        auto* const table = qobject_cast<QTreeView*>(find("rewriteTable"));
        QVERIFY(table != nullptr);
        const QStringList rows = rowsOf(table);
        const int row = static_cast<int>(rows.indexOf(QRegularExpression("^SOFTMAX \\| so1, so2, softmax_out \\|.*")));
        QVERIFY2(row >= 0, qPrintable(rows.join('\n')));
        // Stepped through: what went in is selected in A, what came out in B.
        const int before = table->currentIndex().row();
        press("F8");
        QCOMPARE(table->currentIndex().row(), before + 1);
        table->setCurrentIndex(table->model()->index(row, 0));
        settle();
        QCOMPARE(desk.selected(CompareSide::here).size(), size_t(3));
        QCOMPARE(desk.selected(CompareSide::there).size(), size_t(1));
        QVERIFY(desk.reason().startsWith("fused by the rule softmax"));
        // None of these is an operator that only A has.
        for (const std::string& address : desk.selected(CompareSide::here))
            QVERIFY(std::ranges::find(desk.scenes()->onlyHere, address) == desk.scenes()->onlyHere.end());
    }

    void rewritesBetweenTwoFilesAreRows()
    {
        const QString fused = m_folder->path() + "/fused.lsir";
        QVERIFY(m_services->runCommand({"fuse", "tests/cli/fusion.lsir", "-o", fused.toStdString()}).ok());
        open("tests/cli/fusion.lsir", {{"x", "@1"}, {"image", "@2"}});
        m_window->compareWith(fused);
        settle();
        CompareDesk& desk = CompareDesk::of(*m_window->document());
        QVERIFY2(desk.drift() != nullptr, qPrintable(desk.problem()));
        QVERIFY2(m_window->windowTitle().contains("against fused.lsir"), qPrintable(m_window->windowTitle()));
        enter("panelRewrites");
        auto* table = qobject_cast<QTreeView*>(find("rewriteTable"));
        QVERIFY(table != nullptr);
        const auto rowOf = [&] { return static_cast<int>(rowsOf(table).indexOf(QRegularExpression("^softmax \\| .*so1.*"))); };
        QVERIFY2(rowOf() >= 0, qPrintable(rowsOf(table).join('\n')));
        // What comes out of it was measured, and both sides are selected.
        QVERIFY2(!rowsOf(table)[rowOf()].section(" | ", 3, 3).isEmpty(), qPrintable(rowsOf(table)[rowOf()]));
        table->setCurrentIndex({});
        table->setCurrentIndex(table->model()->index(rowOf(), 0));
        settle();
        QCOMPARE(desk.selected(CompareSide::here).size(), size_t(3));
        QCOMPARE(desk.selected(CompareSide::there).size(), size_t(1));
        for (const std::string& address : desk.selected(CompareSide::here))
            QVERIFY(std::ranges::find(desk.scenes()->onlyHere, address) == desk.scenes()->onlyHere.end());
        // Switched off B computes it as A does; switched on again it is as in its file.
        const auto count = [&] {
            return CompareDesk::of(*m_window->document()).modelOf(CompareSide::there)->graphs.front().operators.size();
        };
        const size_t before = count();
        type(" ");
        settle();
        table = qobject_cast<QTreeView*>(find("rewriteTable"));
        QVERIFY2(rowsOf(table)[rowOf()].endsWith("✕ off"), qPrintable(rowsOf(table)[rowOf()]));
        QCOMPARE(count(), before + 2);
        QVERIFY2(m_window->windowTitle().contains("against fused.lsir"), qPrintable(m_window->windowTitle()));
        type(" ");
        settle();
        table = qobject_cast<QTreeView*>(find("rewriteTable"));
        QVERIFY(rowsOf(table)[rowOf()].endsWith("✓ on"));
        QCOMPARE(count(), before);
    }

    void layersInFunctionsAreFusedAsOnTheCommandLine()
    {
        open("tests/cli/fusion_called.lsir", {{"x", "@1"}});
        QVERIFY(m_window->run("compareFused"));
        settle();
        CompareDesk& desk = CompareDesk::of(*m_window->document());
        QVERIFY2(desk.drift() != nullptr, qPrintable(desk.problem()));
        enter("panelRewrites");
        auto* const table = qobject_cast<QTreeView*>(find("rewriteTable"));
        const int row = static_cast<int>(rowsOf(table).indexOf(QRegularExpression("^FULLY_CONNECTED\\+bias \\| net/dense, .*")));
        QVERIFY2(row >= 0, qPrintable(rowsOf(table).join('\n')));
        table->setCurrentIndex({});
        table->setCurrentIndex(table->model()->index(row, 0));
        settle();
        QCOMPARE(textsOf(desk.selected(CompareSide::here)), QStringList({"main/net:call/dense", "main/net:call/shifted"}));
        QCOMPARE(desk.selected(CompareSide::there).size(), size_t(1));
        const Model& there = *desk.modelOf(CompareSide::there);
        const std::vector<Operator>& left = there.graph(there.findGraph("main")).operators;
        QVERIFY(std::ranges::none_of(left,
                                     [](const Operator& op) { return op.kind.name == "VarHandleOp" || op.kind.name == "ReadVariableOp"; }));
        QVERIFY(std::ranges::none_of(left, [](const Operator& op) { return op.name == "w"; })); // nothing reads it any more
    }

    void theRaisedFormIsProvedByAButton()
    {
        open("v1_collatz.lsir", {{"n", "6"}});
        execute("run");
        raised();
        auto* const prove = m_window->findChild<QAction*>("raisedProve");
        QVERIFY(prove && prove->isEnabled());
        auto* const verdict = find<QLabel>("raisedVerdict");
        QVERIFY(verdict->isHidden());
        prove->trigger();
        settle();
        QTRY_VERIFY2(verdict->text().startsWith(QString::fromUtf8("✓ exact")), qPrintable(verdict->text()));
        QVERIFY(verdict->isVisible());
        QVERIFY(prove->isEnabled());
    }

    void verdictsStandInTheRewritesRows()
    {
        open("tests/cli/fusion.lsir", {{"x", "@1"}, {"image", "@2"}});
        QVERIFY(m_window->run("compareFused"));
        settle();
        enter("panelRewrites");
        auto* const table = qobject_cast<QTreeView*>(find("rewriteTable"));
        const auto verdictOf = [&](const char* rewrite) {
            const QStringList found = rowsOf(table).filter(QRegularExpression(QString("^") + rewrite + " \\| "));
            return found.isEmpty() ? QString("no row") : found.front().section(" | ", 3, 3);
        };
        QCOMPARE(verdictOf("SOFTMAX"), QString());
        m_window->findChild<QAction*>("rewritesProve")->trigger();
        settle();
        QTRY_VERIFY2(verdictOf("RELU").startsWith(QString::fromUtf8("✓ ")), qPrintable(rowsOf(table).join('\n')));
        QVERIFY2(!verdictOf("SOFTMAX").isEmpty(), qPrintable(rowsOf(table).join('\n')));
    }

    void aRewriteIsSwitchedOffAndOn()
    {
        open("tests/cli/fusion.lsir", {{"x", "@1"}, {"image", "@2"}});
        m_window->run("compareFused");
        settle();
        enter("panelRewrites");
        auto* table = qobject_cast<QTreeView*>(find("rewriteTable"));
        const auto rowOf = [&] {
            return static_cast<int>(rowsOf(table).indexOf(QRegularExpression("^SOFTMAX \\| so1, so2, softmax_out \\|.*")));
        };
        const auto count = [&] {
            return CompareDesk::of(*m_window->document()).modelOf(CompareSide::there)->graphs.front().operators.size();
        };
        const size_t fused = count();
        table->setCurrentIndex(table->model()->index(rowOf(), 0));
        type(" ");
        settle();
        table = qobject_cast<QTreeView*>(find("rewriteTable"));
        QCOMPARE(m_window->task(), Task::compare);
        QVERIFY2(rowsOf(table)[rowOf()].endsWith("✕ off"), qPrintable(rowsOf(table)[rowOf()]));
        QCOMPARE(count(), fused + 2);
        QCOMPARE(m_window->document()->backend().inputs().front().source, std::string("@1")); // what was given stays given
        QCOMPARE(m_window->area()->focusPanel()->objectName(), QString("panelRewrites"));     // and the next key goes there again
        QCOMPARE(table->currentIndex().row(), rowOf());
        type(" ");
        settle();
        table = qobject_cast<QTreeView*>(find("rewriteTable"));
        QVERIFY(rowsOf(table)[rowOf()].endsWith("✓ on"));
        QCOMPARE(count(), fused);
    }

    void figuresStandOverOperators()
    {
        open("nan_at_613.lsir", {{"n", "620"}});
        auto* const graph = qobject_cast<GraphPanel*>(m_window->area()->panel("panelGraph"));
        QVERIFY(m_window->panelCommand("panelGraph", "overlay time"));
        QTRY_VERIFY(!m_window->document()->problems().empty()); // nothing has run that could be measured
        QVERIFY(graph->canvas().cards().overlay() == nullptr);
        execute("run");
        m_window->panelCommand("panelGraph", "overlay time");
        QTRY_VERIFY(graph->canvas().cards().overlay() != nullptr);
        const QJsonObject times = graph->canvas().describe()["overlay"].toObject();
        QCOMPARE(times["title"].toString(), QString("time per operator"));
        const QString product = times["values"].toObject()["main/while#0:body/mul#5"].toString();
        QVERIFY2(QRegularExpression("^[0-9.]+ (ns|µs|ms|s)$").match(product).hasMatch(), qPrintable(product));
        // A NaN is found wherever it was.
        m_window->panelCommand("panelGraph", "overlay health");
        QTRY_COMPARE(graph->canvas().describe()["overlay"].toObject()["title"].toString(), QString("health of results"));
        bool hasNan = false;
        for (const auto& [place, value] : graph->canvas().cards().overlay()->values)
            hasNan |= value.isWrong && value.text.startsWith("NaN ");
        QVERIFY(hasNan);
        m_window->panelCommand("panelGraph", "overlay none");
        QVERIFY(graph->canvas().cards().overlay() == nullptr);
    }

    void nodeDataOfAFileStandsOverOperators()
    {
        open("collatz.lsir", {{"x", "27"}});
        auto* const graph = qobject_cast<GraphPanel*>(m_window->area()->panel("panelGraph"));
        const QString path = writeFile("data.json", "{\"main\": {\"results\": {\"0\": {\"value\": 3}, \"main/while#0\": {\"value\": 3}},"
                                                    " \"thresholds\": [{\"value\": 5, \"bgColor\": \"#00ff00\"}]}}");
        QVERIFY(m_window->panelCommand("panelGraph", "overlay data " + path));
        QVERIFY(graph->canvas().cards().overlay() != nullptr);
        const OverlayValue* const value = graph->canvas().cards().overlay()->find(GraphId(0), OperatorId(0));
        QVERIFY(value != nullptr);
        QCOMPARE(value->text, QString("3"));
        QCOMPARE(value->color, QColor("#00ff00"));
        // What is none says so, and what was there stays.
        m_window->panelCommand("panelGraph", "overlay data " + writeFile("none.json", "[1, 2]"));
        QVERIFY(graph->canvas().cards().overlay() != nullptr);
        QVERIFY(m_window->document()->problems().back().text.find("not node data") != std::string::npos);
    }

    void anErrorStandsBesideTheOperatorThatFailed()
    {
        const QString path =
            writeFile("failing.lsir",
                      "graph main(x: i32[1], i: i32[1]) {\n  z = neg(x) : i32[1]\n  y = gather(z, i) axis=0 : i32[1]\n  return y\n}\n");
        open(path, {{"x", "[1]"}, {"i", "[7]"}});
        execute("run");
        QVERIFY(stop().failed);
        auto* const graph = qobject_cast<GraphPanel*>(m_window->area()->panel("panelGraph"));
        const QString callout = graph->canvas().describe()["callout"].toString();
        QVERIFY2(callout.startsWith("failed at step 1 "), qPrintable(callout));
        QVERIFY2(!callout.contains("main/gather#1:"), qPrintable(callout)); // it stands beside it
        // It covers no operator, where there is room at the side of the one that failed.
        const QRectF box = graph->canvas().cards().calloutBox();
        QVERIFY(!box.isEmpty());
        const Scene& scene = *graph->canvas().scene();
        for (size_t node = 0; node < scene.nodes.size(); ++node)
            QVERIFY2(!graph->canvas().camera().nodeRect(static_cast<int>(node)).intersects(box), scene.nodes[node].id.c_str());
        QCOMPARE(graph->canvas().cards().callout().address, std::string("main/gather#1"));
        QStringList operands; // lines to what failed, with what they carry
        for (const QJsonValue& mark : graph->canvas().describe()["edgeMarks"].toArray())
            operands.append(mark["mark"].toString() + " " + mark["from"].toString() + " " + mark["word"].toString());
        operands.sort();
        QCOMPARE(operands, QStringList({"failed main/neg#0 i32[1]", "failed main>i i32[1]"}));
        execute("goto start");
        QVERIFY(!graph->canvas().describe().contains("callout"));
    }

    void anOperatorWithoutAKernelIsGivenItsOutput()
    {
        open("tests/cli/no_kernel.lsir", {{"x", "[1.0, 2.0]"}});
        execute("run");
        QVERIFY(stop().failed);
        QCOMPARE(stop().address, std::string("main/custom#1"));
        giveFromTheBanner("[0.5, 4.0]");
        QTRY_COMPARE(stop().address, std::string("main/while#2@0:body/custom#1")); // the next one that has none
        const auto log = [this] { return find<QTextBrowser>("consoleLog")->toPlainText(); };
        QVERIFY2(log().contains("give main/custom#1:0 = [0.5, 4.0]"), qPrintable(log()));
        // Who answers by keys goes on in the graph, not on the tool bar.
        QVERIFY(m_window->focusWidget() && m_window->area()->isAncestorOf(m_window->focusWidget()));
        giveFromTheBanner("1");
        QTRY_VERIFY2(stop().finished, qPrintable(log()));
        QVERIFY2(log().contains("[3.5 7]"), qPrintable(log()));
        // The properties of the operator offer it, too; of one that has a kernel they do not.
        m_window->document()->select("main/custom#1");
        enter("panelProperties");
        QVERIFY(!find<QAbstractButton>("question.give")->isHidden());
        m_window->document()->select("main/neg#0");
        settle();
        QVERIFY(find<QAbstractButton>("question.give")->isHidden());
    }

    void whyAnOperatorWasNotFusedStandsInItsProperties()
    {
        open("tests/cli/fusion_refused.lsir");
        const std::string place = [this] {
            const Graph& graph = m_window->document()->model().graphs.front();
            return addressInFrames(graph, graph.value(graph.findValue("third_out")).producer);
        }();
        QVERIFY(m_window->document()->select(place));
        enter("panelProperties");
        auto* const why = find<QAbstractButton>("whyNotFused");
        QVERIFY(why && why->isVisible());
        why->click();
        auto* const lines = find<QLabel>("whyNotFusedLines");
        QTRY_VERIFY2(lines->text().contains("has a second reader"), qPrintable(lines->text()));
        QVERIFY(m_window->document()->select(place.substr(0, place.rfind('/')) + "/relu6#1"));
        QVERIFY(lines->isHidden()); // of another operator nothing is known yet
    }
};

QTEST_MAIN(RewritesWindowTest)
#include "rewrites_test.moc"
