// Several documents in one window: a tab each, with a session, an arrangement and a title of its own.
#include "driven_window.h"

#include "viewer/window/document_tabs.h"
#include "viewer/window/file_page.h"

#include <QDropEvent>
#include <QMenu>
#include <QMimeData>
#include <QTabBar>

namespace loopscope::viewer::testing {

class TabsTest : public QObject, DrivenWindow {
    Q_OBJECT

    QTabBar* bar() { return find<QTabBar>("documentTabs"); }
    QStringList names()
    {
        QStringList names;
        for (int tab = 0; tab < bar()->count(); ++tab) names.append(bar()->tabText(tab));
        return names;
    }
    void beside(const QStringList& files)
    {
        QStringList paths;
        for (const QString& file : files) paths.append(file.contains('/') ? file : "samples/text/" + file);
        m_window->openBeside(paths);
        settle();
    }
    QPoint middleOf(int tab) { return bar()->tabRect(tab).center(); }

private slots:
    void init() { begin(); }
    void cleanup() { end(); }

    void oneFileHasNoTab()
    {
        beside({"collatz.lsir"});
        QVERIFY(!bar()->isVisible());
    }

    void aFurtherFileOpensATabAndLeavesTheOtherAsItWas()
    {
        beside({"collatz.lsir"});
        m_window->document()->backend().setInput("x", "27");
        trigger("run");
        execute("goto main/while#0@3:body");
        const QString stood = address();
        QCOMPARE(m_window->task(), Task::debug);
        beside({"swap.lsir"});
        QVERIFY(bar()->isVisible());
        QCOMPARE(names(), QStringList({"collatz.lsir", "swap.lsir"}));
        QCOMPARE(m_window->windowTitle(), "swap.lsir · Loopscope");
        QCOMPARE(m_window->task(), Task::browse);
        QVERIFY(!stop().started);

        QTest::mouseClick(bar(), Qt::LeftButton, Qt::NoModifier, middleOf(0));
        settle();
        QCOMPARE(m_window->windowTitle(), "collatz.lsir · Loopscope");
        QCOMPARE(m_window->task(), Task::debug);
        QCOMPARE(address(), stood);
        trigger("stepInto"); // it goes on where it stood
        QVERIFY(address() != stood);
    }

    void whatIsOpenAlreadyComesToTheFront()
    {
        beside({"collatz.lsir", "swap.lsir", "collatz.lsir"});
        QCOMPARE(m_window->tabs().count(), 2);
        QCOMPARE(m_window->windowTitle(), "collatz.lsir · Loopscope");
    }

    void keysGoThroughTheFilesAndCloseThem()
    {
        beside({"collatz.lsir", "swap.lsir", "newton.lsir"});
        trigger("nextFile");
        QCOMPARE(m_window->windowTitle(), "collatz.lsir · Loopscope");
        trigger("previousFile");
        QCOMPARE(m_window->windowTitle(), "newton.lsir · Loopscope");
        QCOMPARE(m_window->keyOf("closeTab"), "Ctrl+W");
        press("Ctrl+W");
        QCOMPARE(names(), QStringList({"collatz.lsir", "swap.lsir"}));
        QCOMPARE(m_window->windowTitle(), "swap.lsir · Loopscope");
        press("Ctrl+W");
        press("Ctrl+W");
        QVERIFY(!m_window->document());
        QVERIFY(find("welcomePage")->isVisible());
    }

    void aMiddleClickAndTheCrossClose()
    {
        beside({"collatz.lsir", "swap.lsir", "newton.lsir"});
        QTest::mouseClick(bar(), Qt::MiddleButton, Qt::NoModifier, middleOf(0));
        settle();
        QCOMPARE(names(), QStringList({"swap.lsir", "newton.lsir"}));
        QTest::mouseClick(bar()->tabButton(1, QTabBar::RightSide), Qt::LeftButton);
        settle();
        QCOMPARE(m_window->windowTitle(), "swap.lsir · Loopscope");
        QVERIFY(!bar()->isVisible());
    }

    void filesThatAreDroppedOpenATabEach()
    {
        beside({"collatz.lsir"});
        QMimeData files;
        files.setUrls({QUrl::fromLocalFile(QDir().absoluteFilePath("samples/text/swap.lsir")),
                       QUrl::fromLocalFile(QDir().absoluteFilePath("samples/text/newton.lsir"))});
        QDragEnterEvent enters(QPoint(400, 400), Qt::CopyAction, &files, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(m_window.get(), &enters);
        QDropEvent drop(QPointF(400, 400), Qt::CopyAction, &files, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(m_window.get(), &drop);
        QTRY_COMPARE(m_window->tabs().count(), 3);
        QCOMPARE(names(), QStringList({"collatz.lsir", "swap.lsir", "newton.lsir"}));
    }

    void eachHasASessionOfItsOwn()
    {
        beside({"collatz.lsir"});
        execute("break main/while#0:body/if#2");
        beside({"newton.lsir"});
        execute("break main/while#0");
        QTest::mouseClick(bar(), Qt::LeftButton, Qt::NoModifier, middleOf(0));
        settle();
        QCOMPARE(stop().breakpoints.size(), size_t{1});
        restart();
        beside({"collatz.lsir"});
        QCOMPARE(m_window->banner().text(), "Restore view and 1 breakpoint");
        beside({"newton.lsir"});
        QCOMPARE(m_window->banner().text(), "Restore view and 1 breakpoint");
    }

    void allFilesOfLastTimeAreOffered()
    {
        beside({"collatz.lsir", "newton.lsir"});
        restart();
        auto* const recent = find<QMenu>("recentFiles");
        emit recent->aboutToShow();
        QVERIFY(!recent->actions().isEmpty());
        QCOMPARE(recent->actions().back()->text(), "All 2 files of last time");
        recent->actions().back()->trigger();
        QTRY_COMPARE(m_window->tabs().count(), 2);
    }

    void aFileThatCannotBeReadLeavesTheOthersOpen()
    {
        beside({"collatz.lsir"});
        const QString broken = m_folder->path() + "/broken.lsir";
        QFile file(broken);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("this is no model\n");
        file.close();
        beside({broken});
        QVERIFY(find("filePage")->isVisible());
        QCOMPARE(names(), QStringList({"collatz.lsir", "broken.lsir"}));
        trigger("previousFile");
        QVERIFY(m_window->document());
        trigger("nextFile");
        QVERIFY(find("filePage")->isVisible());
        press("Ctrl+W");
        QCOMPARE(m_window->windowTitle(), "collatz.lsir · Loopscope");
        QVERIFY(!bar()->isVisible());
    }

    void whatCouldBeReadOfADamagedFileIsShown()
    {
        const QString path = m_folder->path() + "/cut.tflite";
        QVERIFY(m_services->runCommand({"convert", "samples/text/collatz.lsir", "-o", path.toStdString()}).ok());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadWrite));
        file.resize(file.size() * 7 / 8);
        file.close();
        beside({path});
        auto* const show = find<QPushButton>("showPart");
        QVERIFY(show->isVisible());
        show->click();
        settle();
        QVERIFY(m_window->document());
        QCOMPARE(m_window->tabs().count(), 1);
        QVERIFY(!bar()->isVisible()); // the page has given way to it
        QVERIFY(m_window->banner().text().startsWith("only a part of cut.tflite"));
        QVERIFY(!m_window->document()->problems().empty());
        QVERIFY(!m_window->document()->model().graphs.empty());
        // It is there to be looked at.
        for (const char* const command : {"run", "stepOver", "restart", "record", "nextNaN"})
            QVERIFY2(!m_window->action(command)->isEnabled(), command);
        execute("run");
        QVERIFY(!stop().started);
        const std::string last = m_window->document()->problems().back().text;
        QVERIFY2(last.find("only a part of the file") != std::string::npos, last.c_str());
        trigger("reload");
        QVERIFY(find("filePage")->isVisible());
    }

    /// What is open stays in front while the panels of what comes are made, and no turn of the event loop makes many of them.
    void aFileIsOpenedInShortTurns()
    {
        open("collatz.lsir");
        const auto made = [] {
            const QWidgetList all = QApplication::allWidgets();
            return std::ranges::count_if(all, [](const QWidget* each) { return qobject_cast<const Panel*>(each) != nullptr; });
        };
        const Document* const before = m_window->document();
        qsizetype last = made(), most = 0;
        int turnsBefore = 0;
        QTimer turn;
        connect(&turn, &QTimer::timeout, this, [&] {
            const qsizetype now = made();
            most = std::max(most, now - last);
            last = now;
            turnsBefore += m_window->isOpening() && m_window->document() == before && now > 0 ? 1 : 0;
        });
        turn.start(0);
        m_window->open("samples/text/newton.lsir");
        settle();
        turn.stop();
        QVERIFY(m_window->document() != before);
        QVERIFY2(most <= 2, qPrintable(QString::number(most))); // two hear commands from the beginning
        QVERIFY(turnsBefore > 3);
        QVERIFY(!m_window->isOpening());
        // Given up, what is open stays.
        const Document* const shown = m_window->document();
        m_window->open("samples/text/collatz.lsir");
        QVERIFY(QTest::qWaitFor([&] { return made() > last; }));
        QVERIFY(m_window->cancelOpening());
        settle();
        QVERIFY(m_window->document() == shown);
        QCOMPARE(made(), last);
    }

    void aDamagedCheckpointLeavesTheGraphToLookAt()
    {
        const QString path = m_folder->path() + "/growth.ckpt";
        for (const char* const part : {".meta", ".index"}) QVERIFY(QFile::copy(QString("tests/cli/saver/growth.ckpt") + part, path + part));
        beside({path + ".meta"});
        QVERIFY(m_window->document());
        QVERIFY(!m_window->document()->model().graphs.front().operators.empty());
        QVERIFY(m_window->banner().isVisible());
        QVERIFY2(m_window->banner().text().startsWith("variables 'rate', 'bonus' have no value: ") ||
                     m_window->banner().text().startsWith("variable 'rate' has no value: "),
                 qPrintable(m_window->banner().text()));
        QCOMPARE(m_window->document()->problems().size(), size_t(1));
        QVERIFY(m_window->action("run")->isEnabled());
    }

    void whatCouldBeReadOfOtherFormatsIsShown()
    {
        const auto writeCut = [&](const QString& path, qint64 eighths) {
            QFile file(path);
            if (file.open(QIODevice::ReadWrite)) file.resize(file.size() * eighths / 8);
        };
        const QString graph = m_folder->path() + "/cut.pb", text = m_folder->path() + "/cut.lsir";
        QVERIFY(m_services->runCommand({"convert", "samples/text/v1_collatz.lsir", "-o", graph.toStdString()}).ok());
        writeCut(graph, 7);
        QVERIFY(QFile::copy("samples/text/collatz.lsir", text));
        QVERIFY(QFile::setPermissions(text, QFile::ReadOwner | QFile::WriteOwner));
        writeCut(text, 5);
        for (const QString& path : {graph, text}) {
            beside({path});
            auto* const show = find<QPushButton>("showPart");
            QVERIFY2(show->isVisible(), qPrintable(path));
            show->click();
            settle();
            QVERIFY2(m_window->document(), qPrintable(path));
            QVERIFY(!m_window->document()->model().graphs.front().operators.empty());
            QVERIFY(!m_window->document()->problems().empty());
            QVERIFY(!m_window->action("run")->isEnabled());
            m_window->tabs().closeFront();
            settle();
        }
    }

    void aFileWithoutAGraphOffersNothing()
    {
        const QString path = m_folder->path() + "/notes.txt";
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("no model at all");
        file.close();
        beside({path});
        QVERIFY(find("filePage")->isVisible());
        QVERIFY(!find("showPart")->isVisible());
    }

    void whatFailsBehindIsSaidWhenItComesToTheFront()
    {
        beside({"collatz.lsir", "swap.lsir"});
        DocumentSheet* const behind = m_window->tabs().sheets().front().get();
        behind->document().execute("goto main/nowhere");
        QTRY_VERIFY(behind->document().bridge().settled() && !behind->document().problems().empty());
        QVERIFY(m_window->document()->problems().empty());
        QCOMPARE(m_window->windowTitle(), "swap.lsir · Loopscope");
        m_window->tabs().bring(behind);
        settle();
        QCOMPARE(m_window->document(), &behind->document());
    }
};

} // namespace loopscope::viewer::testing

QTEST_MAIN(loopscope::viewer::testing::TabsTest)
#include "tabs_test.moc"
