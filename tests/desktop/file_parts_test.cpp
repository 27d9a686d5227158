// What is left of files that were cut off or damaged.
#include "app/desktop/terminal_backend.h"
#include "viewer/window/file_parts.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <random>

using namespace loopscope;
using namespace loopscope::viewer;

namespace {

using State = FilePart::State;

/// A sample in another format.
QByteArray converted(const char* sample, const char* extension)
{
    QTemporaryDir folder;
    const QString path = folder.filePath(QString("model.") + extension);
    app::DesktopServices services{app::Arguments()};
    if (!services.runCommand({"convert", sample, "-o", path.toStdString()}).ok()) qFatal("%s", sample);
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) qFatal("no file");
    return file.readAll();
}

} // namespace

class FilePartsTest : public QObject {
    Q_OBJECT
private slots:
    void aWholeModelHasAllParts()
    {
        const QList<FilePart> parts = filePartsOf(converted("samples/text/collatz.lsir", "tflite"));
        QCOMPARE(parts.size(), 6);
        QCOMPARE(parts[0], (FilePart{State::whole, "Mark TFL3, schema version 3", {}}));
        QCOMPARE(parts[2], (FilePart{State::whole, "Subgraphs", "5"}));
        QCOMPARE(parts[3].note, QString("9"));
        for (const FilePart& part : parts) QCOMPARE(part.state, State::whole);
    }
    void lessIsLeftTheMoreIsCutOff()
    {
        const QByteArray whole = converted("samples/text/collatz.lsir", "tflite");
        qsizetype before = 6;
        for (qsizetype size = whole.size(); size >= 0; size -= 64) {
            const QList<FilePart> parts = filePartsOf(whole.first(size));
            const auto there = std::ranges::count(parts, State::whole, &FilePart::state);
            QVERIFY2(there <= before, qPrintable(QString::number(size)));
            before = there;
        }
        QCOMPARE(before, 1); // its mark
        QCOMPARE(filePartsOf(whole.first(8)).back(), (FilePart{State::missing, "Table of contents", "missing"}));
    }
    void nodesOfAGraphDefAreCounted()
    {
        const QByteArray whole = converted("samples/text/v1_collatz.lsir", "pb");
        const QList<FilePart> all = filePartsOf(whole), cut = filePartsOf(whole.first(whole.size() / 2));
        QCOMPARE(all.size(), 1);
        QCOMPARE(all[0].state, State::whole);
        QCOMPARE(cut[0].state, State::partly);
        QVERIFY(cut[0].note.section(' ', 0, 0).toInt() > 0);
        QVERIFY(cut[0].note.section(' ', 0, 0).toInt() < all[0].note.section(' ', 0, 0).toInt());
        QCOMPARE(cut.back().note, QString("cut off or damaged"));
    }
    void graphsOfATextAreCounted()
    {
        const QByteArray whole = "graph main(x: f32[2]) {\n  return x\n}\n\ngraph cut(y: f32[2]) {\n  z = neg(y)";
        QCOMPARE(filePartsOf(whole), (QList<FilePart>{{State::partly, "Graphs", "1 of 2"}}));
        QVERIFY(hasReadablePart(filePartsOf(whole)) && hasReadablePart(filePartsOf(whole.first(20) + "\n")));
    }
    void pagesOfARecordingAreCounted()
    {
        QByteArray file = QByteArray("SQLite format 3").append('\0') + QByteArray("\x10\0", 2) + QByteArray(10, '\0') +
                          QByteArray("\0\0\0\3", 4) + QByteArray(68, '\0');
        file.append(QByteArray(qsizetype{2} * 4096 - file.size(), '\0'));
        QCOMPARE(filePartsOf(file).back(), (FilePart{State::partly, "Pages", "2 of 3"}));
        QCOMPARE(filePartsOf(file.first(50)).back(), (FilePart{State::missing, "Header", "cut off or damaged"}));
    }
    void damageIsNoReasonToReadOutside()
    {
        std::mt19937 random(1);
        for (const QByteArray& whole : {converted("samples/text/collatz.lsir", "tflite"), converted("samples/text/v1_collatz.lsir", "pb")})
            for (int round = 0; round < 2000; ++round) {
                QByteArray damaged = whole.first(static_cast<qsizetype>(random() % static_cast<size_t>(whole.size() + 1)));
                for (int i = 0; i < 4 && !damaged.isEmpty(); ++i)
                    damaged[static_cast<qsizetype>(random() % static_cast<size_t>(damaged.size()))] = static_cast<char>(random());
                const QByteArray exact(damaged.constData(), damaged.size()); // sanitizers see its end
                QVERIFY(filePartsOf(exact).size() <= 7);
            }
    }
    void sharedVectorsAreNotFollowedForEver()
    {
        constexpr uint32_t count = 1000; // of subgraphs, all at one place, and of its operators: a million in all
        QByteArray bytes;
        const auto add = [&](std::initializer_list<uint16_t> fields) {
            for (const uint16_t field : fields) bytes.append(reinterpret_cast<const char*>(&field), sizeof field);
        };
        const auto number = [&](uint32_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
        const auto vector = [&] { // of offsets to what follows
            number(count);
            for (uint32_t i = 0; i < count; ++i) number(4 * (count - i) + 12);
        };
        number(20);
        bytes.append("TFL3");
        add({10, 8, 0, 0, 4, 0}); // fields of the root: its third one
        number(12);
        number(4);
        vector();
        add({12, 8, 0, 0, 0, 4});
        number(12);
        number(4);
        vector();
        add({4, 4, 0, 0, 0, 0});
        number(12);
        const QList<FilePart> parts = filePartsOf(bytes);
        QCOMPARE(parts[2], (FilePart{State::whole, "Subgraphs", "1,000"}));
        QCOMPARE(parts[3], (FilePart{State::partly, "Operators", "99,000 of 1,000,000"}));
    }
    void otherFilesHaveNoParts()
    {
        for (const QByteArray& bytes : {QByteArray(), QByteArray("TFL3"), QByteArray("hello, these are notes"), QByteArray("PK\3\4")})
            QVERIFY(filePartsOf(bytes).isEmpty());
    }
};

QTEST_GUILESS_MAIN(FilePartsTest)
#include "file_parts_test.moc"
