// docs/desktop.md: every command line on it is run, and ends where the page says.
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

namespace {

struct Example {
    QStringList words; ///< behind `loopscope gui`
    QString answer;
};

/// Words as a shell would split them.
QStringList wordsOf(const QString& line) { return QProcess::splitCommand(QString(line).replace('\'', '"')); }

QList<Example> examplesOf(const QString& page)
{
    QList<Example> examples;
    QFile file(page);
    if (!file.open(QIODevice::ReadOnly)) return examples;
    bool inside = false;
    for (const QString& line : QString::fromUtf8(file.readAll()).split('\n')) {
        const QString text = line.startsWith("    ") ? line.trimmed() : QString();
        if (text.startsWith("$ loopscope gui ")) {
            examples.append({wordsOf(text.mid(16)), {}});
            inside = true;
        } else if (inside && examples.last().words.endsWith("\\")) {
            examples.last().words.removeLast();
            examples.last().words += wordsOf(text);
        } else if (inside && !text.isEmpty()) {
            examples.last().answer += text + '\n';
        } else {
            inside = false;
        }
    }
    return examples;
}

} // namespace

class PagesTest : public QObject {
    Q_OBJECT
private slots:
    void commandsOfThePageLeadWhereItSays_data()
    {
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<QString>("answer");
        const QList<Example> examples = examplesOf("docs/desktop.md");
        QVERIFY(examples.size() >= 5);
        for (const Example& example : examples) QTest::newRow(qPrintable(example.words.join(' '))) << example.words << example.answer;
    }
    void commandsOfThePageLeadWhereItSays()
    {
        QFETCH(QStringList, words);
        QFETCH(QString, answer);
        QTemporaryDir folder;
        QSize size(1280, 800);
        QString picture;
        for (qsizetype i = 0; i + 1 < words.size(); ++i)
            if (words[i] == "--screenshot") words[i + 1] = picture = folder.path() + '/' + QFileInfo(words[i + 1]).fileName();
        QVERIFY(!picture.isEmpty());
        QProcess program;
        program.start(LOOPSCOPE_GUI, words);
        QVERIFY(program.waitForFinished(60000));
        QCOMPARE(QString::fromUtf8(program.readAllStandardError()).remove(QRegularExpression("QStandardPaths: .*\n")), QString());
        QCOMPARE(program.exitCode(), 0);
        QCOMPARE(QString::fromUtf8(program.readAllStandardOutput()), answer);
        QCOMPARE(QImage(picture).size(), size);
    }
    void aDisplayThatCannotBeUsedIsOneLine()
    {
        QProcess program;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        for (const char* const name : {"QT_QPA_PLATFORM", "WAYLAND_DISPLAY"}) environment.remove(name);
        environment.insert("DISPLAY", ":4711");
        program.setProcessEnvironment(environment);
        program.start(LOOPSCOPE_GUI, QStringList{"samples/text/collatz.lsir"});
        QVERIFY(program.waitForFinished(60000));
        QCOMPARE(QString::fromUtf8(program.readAllStandardError()),
                 QString("error: no display can be used, found ':4711', expected DISPLAY, WAYLAND_DISPLAY or --screenshot FILE\n"));
        QCOMPARE(program.exitStatus(), QProcess::NormalExit);
        QCOMPARE(program.exitCode(), 7);
    }
    void wrongArgumentsAreNamed_data()
    {
        QTest::addColumn<QString>("words");
        QTest::addColumn<QString>("error");
        QTest::newRow("action") << "--exec action.stepOvr"
                                << "error: option '--exec': no action 'stepOvr'; did you mean 'stepOver' or 'stepOut'?\n";
        QTest::newRow("panel")
            << "--exec 'panel panelTensr'"
            << "error: option '--exec': no panel 'panelTensr'; did you mean 'panelTensor' or 'panelTensorA' or 'panelTensorB'?\n";
        QTest::newRow("panelOfRecordings") << "--exec 'panel panelPlot'"
                                           << "error: option '--exec': panel 'panelPlot' is not for this file\n";
        QTest::newRow("panelCommand") << "--exec 'panel panelTensor fly'"
                                      << "error: option '--exec': panel 'panelTensor' has no command 'fly'\n";
        QTest::newRow("selection") << "--exec 'select main/nothing#3'"
                                   << "error: main/nothing#3: no operator 'nothing#3' in main, which has 1 operator\n";
        QTest::newRow("command")
            << "--exec 'goto end'"
            << "error: 'goto end': the run has not begun; 'run' goes to the first stop, 'start' to the first operator\n";
        QTest::newRow("input") << "-i y=3"
                               << "error: input 'y': no such input (inputs: x: i32[])\n";
        QTest::newRow("place") << "--goto nowhere"
                               << "error: nowhere: no graph 'nowhere'\n";
    }
    void wrongArgumentsAreNamed()
    {
        QFETCH(QString, words);
        QFETCH(QString, error);
        QTemporaryDir folder;
        QProcess program;
        program.start(LOOPSCOPE_GUI, QStringList{"samples/text/collatz.lsir", "--screenshot", folder.filePath("x.png")} + wordsOf(words));
        QVERIFY(program.waitForFinished(60000));
        QCOMPARE(QString::fromUtf8(program.readAllStandardError()).remove(QRegularExpression("QStandardPaths: .*\n")), error);
        QCOMPARE(program.exitCode(), 2);
    }
};

QTEST_GUILESS_MAIN(PagesTest)
#include "pages_test.moc"
