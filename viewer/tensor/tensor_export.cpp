// What the tensor panel shows, written to a file: the whole value as .npy, the plane that is shown as .csv.
#include "viewer/bridge/text.h"
#include "viewer/tensor/tensor_panel_impl.h"

#include <QFileDialog>
#include <QSaveFile>

namespace loopscope::viewer {

namespace {

/// Bytes written aside and renamed. Empty: it worked.
QString writeFile(const QString& path, const QByteArray& bytes)
{
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) return path + ": " + file.errorString();
    return {};
}

} // namespace

void TensorPanel::askExport()
{
    if (declared() == nullptr) return;
    const QString place = m_feed ? m_fed.place : toText(document().valueAddress(m_selection));
    const QString name = QString(place).replace('/', '_').replace(':', '_');
    const QString path =
        QFileDialog::getSaveFileName(this, "Export", name + ".npy", "NumPy array (*.npy);;Comma-separated values, as shown (*.csv)");
    if (!path.isEmpty()) exportTo(path);
}

void TensorPanel::exportTo(const QString& path)
{
    const auto done = [this, path](const QString& problem) {
        say(problem.isEmpty() ? "written: " + path : problem, problem.isEmpty() ? Token::ok : Token::err);
        emit exported(path, problem);
    };
    if (path.endsWith(".csv")) {
        QByteArray csv;
        const Grid& grid = m_content.plane.grid;
        for (int64_t c = grid.colBegin; c < grid.colBegin + grid.cols; ++c) csv += "," + m_content.plane.columnName(c).toUtf8();
        csv += "\n";
        for (int64_t r = grid.rowBegin; r < grid.rowBegin + grid.rows; ++r) {
            const auto quoted = [](QString text) {
                return text.contains(',') || text.contains('"') ? '"' + text.replace("\"", "\"\"") + '"' : text;
            };
            csv += quoted(m_content.plane.rowName(r)).toUtf8();
            for (int64_t c = grid.colBegin; c < grid.colBegin + grid.cols; ++c) csv += "," + quoted(m_model->text(r, c, false)).toUtf8();
            csv += "\n";
        }
        return done(writeFile(path, csv));
    }
    const auto write = [path](const Array& array) -> QString {
        const Result<std::vector<std::byte>> bytes = writeNpy(array.view());
        if (!bytes.ok()) return toText(bytes.error().message());
        return writeFile(path, QByteArray(reinterpret_cast<const char*>(bytes->data()), static_cast<qsizetype>(bytes->size())));
    };
    if (!document().stop()->started) return done("no value: nothing has run");
    document().bridge().ask(
        this, "export",
        [question = currentRequest(), write](Inspector& inspector) {
            const Result<Array> array = copyValue(inspector, question);
            return array.ok() ? write(*array) : toText(array.error().message());
        },
        done);
}

} // namespace loopscope::viewer
