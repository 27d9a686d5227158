// Panels in strips and splitters: exact sizes, every move, state to JSON and back.
#include "app/desktop/terminal_backend.h"
#include "viewer/style/theme.h"
#include "viewer/widgets/panel_area.h"
#include "viewer/widgets/panel_strip.h"
#include "viewer/window/arrangements.h"

#include <QJsonArray>
#include <QMenu>
#include <QPointer>
#include <QProgressBar>
#include <QSignalSpy>
#include <QTabBar>
#include <QTest>

#include <map>
#include <memory>

using namespace loopscope;
using namespace loopscope::viewer;

namespace {

std::unique_ptr<Document> collatz()
{
    app::Arguments arguments;
    arguments.positionals = {"samples/text/collatz.lsir"};
    arguments.set("input", {"x=27"});
    Result<std::unique_ptr<Backend>> opened = app::TerminalBackend::open(arguments);
    return std::make_unique<Document>(std::move(*opened));
}

/// How often widgets have been styled anew.
class StyleCounter : public QObject {
public:
    std::map<QObject*, int> times;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::StyleChange) ++times[watched];
        return false;
    }
};

QRect rectIn(const QWidget* area, const QWidget* widget) { return {widget->mapTo(area, QPoint(0, 0)), widget->size()}; }

} // namespace

class AreaTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().apply(); }

    void init()
    {
        m_document = collatz();
        m_area = new PanelArea([this](const QString& name) { return new Panel(*m_document, name, name.mid(5)); });
        m_area->resize(1280, 718);
        m_area->arrange(drawnArrangement(Task::debug, false, 1280), drawnArrangement(Task::debug, false, 1280));
        m_area->QWidget::show();
        QVERIFY(QTest::qWaitForWindowExposed(m_area));
    }
    void cleanup()
    {
        delete m_area;
        m_document.reset();
    }

    PanelStrip* stripOf(const QString& name)
    {
        for (QWidget* up = m_area->panel(name); up; up = up->parentWidget())
            if (auto* const strip = qobject_cast<PanelStrip*>(up)) return strip;
        return nullptr;
    }

    void sizesAreThoseOfTheDrawing()
    {
        QCOMPARE(rectIn(m_area, stripOf("panelInvocations")), QRect(4, 4, 240, 350));
        QCOMPARE(rectIn(m_area, stripOf("panelBreakpoints")), QRect(4, 358, 240, 130));
        QCOMPARE(rectIn(m_area, stripOf("panelGraph")), QRect(248, 4, 540, 606));
        QCOMPARE(rectIn(m_area, stripOf("panelListing")), QRect(792, 4, 484, 228));
        QCOMPARE(rectIn(m_area, stripOf("panelTensor")), QRect(792, 236, 484, 238));
        QCOMPARE(rectIn(m_area, stripOf("panelTimeline")), QRect(4, 614, 1272, 100));
    }

    void extraWidthGoesToTheGraph()
    {
        m_area->resize(1500, 718);
        QTest::qWait(20);
        QCOMPARE(stripOf("panelGraph")->width(), 760);
        QCOMPARE(stripOf("panelInvocations")->width(), 240);
    }

    void stripsNeverOverlap_data()
    {
        QTest::addColumn<int>("task");
        QTest::addColumn<bool>("dataflow");
        QTest::addColumn<QSize>("size");
        for (int task = 0; task < kTaskCount; ++task)
            for (const QSize size : {QSize(960, 518), QSize(1280, 718), QSize(1700, 900), QSize(2560, 1400)})
                for (const bool dataflow : {false, true})
                    QTest::addRow("%d %dx%d %d", task, size.width(), size.height(), dataflow) << task << dataflow << size;
    }
    void stripsNeverOverlap()
    {
        QFETCH(int, task);
        QFETCH(bool, dataflow);
        QFETCH(QSize, size);
        m_area->resize(size);
        const QJsonObject drawn = drawnArrangement(static_cast<Task>(task), dataflow, size.width());
        m_area->arrange(drawn, drawn);
        QTest::qWait(20);
        const QList<PanelStrip*> strips = m_area->strips();
        QVERIFY(!strips.isEmpty());
        for (PanelStrip* const a : strips) {
            QVERIFY2(m_area->rect().contains(rectIn(m_area, a)), qPrintable(a->current()->objectName()));
            const auto* const tabs = a->findChild<QTabBar*>();
            QVERIFY2(tabs->width() >= tabs->tabRect(0).width(), qPrintable(a->current()->objectName()));
            QVERIFY(a->width() >= 160 && a->height() >= 96);
            for (PanelStrip* const b : strips)
                if (a != b) QVERIFY(!rectIn(m_area, a).intersects(rectIn(m_area, b)));
        }
    }

    void arrangementsComeBackFromJson()
    {
        m_area->move("panelProperties", Side::left);
        m_area->show("panelMarks", false);
        const QJsonObject saved = m_area->arrangement();
        m_area->reset();
        QVERIFY(m_area->arrangement() != saved);
        m_area->arrange(saved, saved);
        QTest::qWait(20);
        QCOMPARE(m_area->arrangement(), saved);
    }

    /// It costs what it holds; of a panel that shows a large model that is most of what another task costs.
    void aPanelIsStyledOnceForAnotherArrangement()
    {
        QList<Panel*> moved;
        const QJsonObject browse = drawnArrangement(Task::browse, false, 1280);
        for (const char* const name : {"panelGraph", "panelTensor", "panelStructure", "panelConsole"}) moved.append(m_area->panel(name));
        StyleCounter styled;
        for (Panel* const each : moved) each->installEventFilter(&styled);
        m_area->arrange(browse, browse);
        for (Panel* const each : moved) QVERIFY2(styled.times[each] == 1, qPrintable(each->objectName()));
        QVERIFY(!m_area->isOpen("panelConsole") && !m_area->panel("panelConsole")->isVisible());
        QVERIFY(m_area->isOpen("panelGraph") && m_area->panel("panelGraph")->isVisible());
        m_area->close("panelTensor");
        QVERIFY(!m_area->panel("panelTensor")->isVisible());
        QVERIFY(m_area->show("panelTensor", true)->isVisible());
    }

    void panelsAreMadeOneInATurn()
    {
        PanelArea area([this](const QString& name) { return name == "panelMarks" ? nullptr : new Panel(*m_document, name, name); });
        bool isPrepared = false;
        area.prepare(drawnArrangement(Task::debug, false, 1280), [&] { isPrepared = true; });
        while (!isPrepared) {
            const qsizetype before = area.panels().size();
            QCoreApplication::processEvents();
            QVERIFY(area.panels().size() <= before + 1);
        }
        QCOMPARE(area.panels().size(), m_area->panels().size() - 1);
    }

    /// As somebody may have written it into the settings.
    void arrangementsMayLeaveSizesOut()
    {
        const QJsonObject graph{{"tabs", QJsonArray{"panelGraph"}}}, tensor{{"tabs", QJsonArray{"panelTensor"}}},
            console{{"tabs", QJsonArray{"panelConsole"}}};
        for (const QJsonArray& sizes : {QJsonArray(), QJsonArray{300}}) {
            const QJsonObject written{{"split", "h"}, {"stretch", 1}, {"sizes", sizes}, {"parts", QJsonArray{graph, tensor, console}}};
            m_area->arrange(written, written);
            QTest::qWait(20);
            QCOMPARE(m_area->strips().size(), 3);
        }
    }

    void everyMoveKeepsEveryPanel_data()
    {
        QTest::addColumn<QString>("panel");
        for (const char* const name : {"panelGraph", "panelTimeline", "panelTensor", "panelListing", "panelConsole", "panelWatches"})
            QTest::addRow("%s", name) << QString(name);
    }
    void everyMoveKeepsEveryPanel()
    {
        QFETCH(QString, panel);
        const auto open = [this] {
            int count = 0;
            for (const PanelStrip* const strip : m_area->strips()) count += strip->count();
            return count;
        };
        const int before = open();
        for (const Side side : {Side::left, Side::up, Side::right, Side::down, Side::down, Side::left, Side::left, Side::up, Side::right}) {
            m_area->move(panel, side);
            QTest::qWait(5);
            QCOMPARE(open(), before);
            QVERIFY(m_area->isOpen(panel));
            for (const PanelStrip* const strip : m_area->strips()) QVERIFY(strip->count() > 0);
        }
    }

    void aClosedPanelComesBackWhereItBelongs()
    {
        PanelStrip* const home = stripOf("panelListing");
        m_area->close("panelStructured");
        QVERIFY(!m_area->isOpen("panelStructured"));
        m_area->show("panelStructured", false);
        QCOMPARE(stripOf("panelStructured"), home);
        QCOMPARE(home->current()->objectName(), QString("panelStructured"));
    }

    void aWindowOfItsOwnGoesHomeWhenItIsClosed()
    {
        m_area->openWindow("panelTensor");
        QVERIFY(stripOf("panelTensor")->window() != m_area->window());
        QCOMPARE(m_area->arrangement()["windows"].toArray().size(), 1);
        stripOf("panelTensor")->window()->close();
        QCOMPARE(stripOf("panelTensor")->window(), m_area->window());
    }

    void theOrderOfTabsIsPartOfTheArrangement()
    {
        QSignalSpy changed(m_area, &PanelArea::arrangementChanged);
        stripOf("panelListing")->findChild<QTabBar*>()->moveTab(0, 2);
        QVERIFY(!changed.isEmpty());
        QCOMPARE(stripOf("panelListing")->panel(2)->objectName(), QString("panelListing"));
    }

    void progressFollowsItsPanel()
    {
        m_area->setProgress("panelGraph", 0.5);
        auto* const bar = stripOf("panelGraph")->findChild<QProgressBar*>();
        QVERIFY(bar->isVisible());
        m_area->move("panelGraph", Side::left);
        m_area->setProgress("panelGraph", -1);
        QVERIFY(!bar->isVisible());
    }

    void theMenuOfATabMayOutliveIt()
    {
        emit stripOf("panelTensor")->menuRequested(m_area->panel("panelTensor"), QPoint(10, 10));
        QPointer<QMenu> menu(m_area->findChild<QMenu*>("tabMenu"));
        QVERIFY(menu && menu->isVisible());
        delete std::exchange(m_area, nullptr); // another file was opened
        QVERIFY(!menu);
    }

    void theLastPanelStays()
    {
        const QJsonObject one{{"tabs", QJsonArray{"panelGraph"}}};
        m_area->arrange(one, one);
        m_area->close("panelGraph");
        QVERIFY(m_area->isOpen("panelGraph"));
    }

    void unknownPanelsAreLeftOut()
    {
        delete m_area;
        m_area =
            new PanelArea([this](const QString& name) { return name == "panelGraph" ? new Panel(*m_document, name, "Graph") : nullptr; });
        m_area->resize(1280, 718);
        m_area->arrange(drawnArrangement(Task::debug, false, 1280), drawnArrangement(Task::debug, false, 1280));
        m_area->QWidget::show();
        QTest::qWait(20);
        QCOMPARE(m_area->strips().size(), 1);
        QCOMPARE(m_area->strips().front()->size(), QSize(1272, 710));
    }

private:
    std::unique_ptr<Document> m_document;
    PanelArea* m_area = nullptr;
};

QTEST_MAIN(AreaTest)
#include "area_test.moc"
