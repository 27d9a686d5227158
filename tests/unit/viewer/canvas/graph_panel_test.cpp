// The graph panel with a real run behind it: stops, breakpoints, selection both ways, calls opened three ways, the loop slider.
#include "../text_backend.h"
#include "canvas_fixture.h"
#include "viewer/canvas/graph_panel.h"
#include "viewer/style/theme.h"

#include <QFileInfo>
#include <QSignalSpy>
#include <QTemporaryDir>

namespace loopscope::viewer {

using namespace testing;

class GraphPanelTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }
    void init();
    void cleanup();
    void hasTheNamesOfTheDesign();
    void followsStops();
    void selectionGoesBothWays();
    void opensCalleesThreeWays();
    void breakpointIsACommand();
    void sliderIsACommand();
    void revealOpensWhatHides();
    void upGoesToTheCaller();
    void exportsPictures();

private:
    TextBackend* m_backend = nullptr;
    std::unique_ptr<Document> m_document;
    std::unique_ptr<GraphPanel> m_panel;
};

void GraphPanelTest::init()
{
    auto backend = std::make_unique<TextBackend>(sample(QStringLiteral("collatz")), std::vector<Array>{arrayOf<int32_t>(Shape(), {27})});
    m_backend = backend.get();
    m_document = std::make_unique<Document>(std::move(backend));
    m_panel = std::make_unique<GraphPanel>(*m_document);
    m_panel->resize(600, 600);
    m_panel->show();
    ViewState view;
    view.inlined.insert("main/while#0");
    m_document->setView(view);
    QTRY_VERIFY(!m_panel->canvas().isBuilding());
    QVERIFY(m_panel->canvas().scene()->findNode("main/while#0:body/add#3") >= 0);
}

void GraphPanelTest::cleanup()
{
    m_panel.reset();
    m_document.reset();
}

void GraphPanelTest::hasTheNamesOfTheDesign()
{
    QCOMPARE(m_panel->objectName(), QStringLiteral("panelGraph"));
    QVERIFY(m_panel->findChild<GraphCanvas*>(QStringLiteral("graphCanvas")));
    QVERIFY(m_panel->findChild<QWidget*>(QStringLiteral("minimap")));
    QCOMPARE(m_panel->focusTarget(), static_cast<QWidget*>(&m_panel->canvas()));
}

void GraphPanelTest::followsStops()
{
    executeAndSettle(*m_document, QStringLiteral("start"));
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@5:body/add#3"));
    QVERIFY(m_backend->errors.empty());
    QVERIFY(statesOf(m_panel->canvas(), QStringLiteral("main/while#0:body/add#3")).contains(QStringLiteral("next")));
    QVERIFY(statesOf(m_panel->canvas(), QStringLiteral("main/while#0:body/equal#1")).contains(QStringLiteral("run")));
    QCOMPARE(m_panel->canvas().describe()[QStringLiteral("regions")].toArray()[0].toObject()[QStringLiteral("iteration")].toInt(), 5);
    keep(*m_panel, QStringLiteral("panel-stopped"));
}

void GraphPanelTest::selectionGoesBothWays()
{
    QVERIFY(m_document->select("main/while#0:body/equal#1"));
    QCOMPARE(m_panel->canvas().selected().front(), std::string("main/while#0:body/equal#1"));
    const int node = m_panel->canvas().scene()->findNode("main/while#0:body/add#3");
    QTest::mouseClick(&m_panel->canvas(), Qt::LeftButton, {}, m_panel->canvas().nodeRect(node).center().toPoint());
    QVERIFY(QString::fromStdString(m_document->selection().address).startsWith(QStringLiteral("main/while#0")));
    QCOMPARE(m_document->selection().op, OperatorId(3));
    m_document->clearSelection();
    QVERIFY(m_panel->canvas().selected().empty());
}

void GraphPanelTest::opensCalleesThreeWays()
{
    QSignalSpy split(m_panel.get(), &GraphPanel::splitRequested);
    m_panel->canvas().select({"main/while#0:body/if#2"});
    QVERIFY(m_panel->command(QStringLiteral("splitCallee")));
    QCOMPARE(split.count(), 1);
    QVERIFY(split[0][0].toString().startsWith(QStringLiteral("main/while#0:body/if#2:")));
    QVERIFY(m_panel->command(QStringLiteral("inlineCallee")));
    QVERIFY(m_document->view().inlined.contains("main/while#0:body/if#2"));
    QTRY_VERIFY(m_panel->canvas().scene()->findNode("main/while#0:body/if#2:else/mul#0") >= 0);
    QCOMPARE(m_document->openCallee(), OpenCallee::inlineHere);
    ViewState plain;
    m_document->setView(plain);
    QTRY_VERIFY(!m_panel->canvas().isBuilding());
    m_panel->canvas().select({"main/while#0"});
    QVERIFY(m_panel->command(QStringLiteral("drillIn")));
    QCOMPARE(m_document->view().root, std::string("main/while#0:body"));
}

void GraphPanelTest::breakpointIsACommand()
{
    emit m_panel->canvas().breakpointRequested(QStringLiteral("main/while#0:body/add#3"));
    QTRY_VERIFY(!m_document->bridge().busy());
    QTRY_VERIFY(!m_backend->lines.empty());
    QCOMPARE(m_backend->lines.back(), std::string("break main/while#0:body/add#3"));
}

void GraphPanelTest::sliderIsACommand()
{
    executeAndSettle(*m_document, QStringLiteral("start"));
    executeAndSettle(*m_document, QStringLiteral("goto main/while#0@5:body/add#3"));
    emit m_panel->canvas().loopMoved(0, 20, true);
    QTRY_COMPARE(m_document->stop()->stack.back().info.iteration, int64_t(20));
    QVERIFY(m_backend->errors.empty());
    QCOMPARE(m_backend->lines.back(), std::string("iter 20"));
    emit m_panel->canvas().loopMoved(0, 30, false); // dragging only looks
    QCOMPARE(m_document->preview(), std::optional<int64_t>(30));
    QCOMPARE(m_backend->lines.back(), std::string("iter 20"));
}

void GraphPanelTest::revealOpensWhatHides()
{
    m_document->setView({});
    QTRY_VERIFY(!m_panel->canvas().isBuilding());
    QVERIFY(m_panel->canvas().scene()->findNode("main/while#0:body/if#2:else/mul#0") < 0);
    m_document->reveal("main/while#0@3:body/if#2:else/mul#0");
    QTRY_VERIFY(m_panel->canvas().scene()->findNode("main/while#0:body/if#2:else/mul#0") >= 0);
    const int node = m_panel->canvas().scene()->findNode("main/while#0:body/if#2:else/mul#0");
    QVERIFY(QRectF(m_panel->canvas().rect()).contains(m_panel->canvas().nodeRect(node)));
}

void GraphPanelTest::upGoesToTheCaller()
{
    ViewState inside;
    inside.root = "main/while#0:body";
    m_document->setView(inside);
    QTRY_VERIFY(!m_panel->canvas().isBuilding());
    QVERIFY(m_panel->command(QStringLiteral("up")));
    QCOMPARE(m_document->view().root, std::string("main"));
    QCOMPARE(m_document->selection().op, OperatorId(0));
}

void GraphPanelTest::exportsPictures()
{
    QTemporaryDir folder;
    for (const char* name : {"a.png", "a.svg", "a.pdf"}) {
        const QString file = folder.filePath(QString::fromLatin1(name));
        QVERIFY(m_panel->command(QStringLiteral("exportTo ") + file));
        QVERIFY2(QFileInfo(file).size() > 2000, name);
    }
    QVERIFY(m_document->problems().empty());
    const QImage picture(folder.filePath(QStringLiteral("a.png")));
    QCOMPARE(picture.width(), static_cast<int>(2 * (m_panel->canvas().scene()->bounds.width + 24)));
    QVERIFY(m_panel->command(QStringLiteral("exportTo ") + folder.filePath(QStringLiteral("a.gif"))));
    QCOMPARE(m_document->problems().size(), size_t(1));
}

} // namespace loopscope::viewer

QTEST_MAIN(loopscope::viewer::GraphPanelTest)
#include "graph_panel_test.moc"
