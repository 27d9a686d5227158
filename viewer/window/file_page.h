// What is shown instead of a file that cannot be read: what is wrong, where in the file, what can be done.
#pragma once

#include "viewer/window/file_parts.h"

#include <QPoint>
#include <QWidget>

#include <optional>

class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace loopscope {
class Error;
}

namespace loopscope::viewer {

class FilePage : public QWidget {
    Q_OBJECT
public:
    explicit FilePage(QWidget* parent = nullptr);
    void show(const QString& path, const Error& error);
    QString path() const { return m_path; }

signals:
    void reloadRequested(const QString& path);
    void partRequested(const QString& path); ///< to see what could be read
    void welcomeRequested();

private:
    void restyle();
    void markByte();
    void showParts();

    QString m_path;
    std::optional<QPoint> m_marked; ///< column and line of the byte that the message is about
    QList<FilePart> m_readable;     ///< what is left of the file
    QLabel *m_icon, *m_title, *m_text, *m_known, *m_partsTitle;
    QPlainTextEdit* m_bytes;
    QWidget* m_parts;
    QPushButton *m_showPart, *m_reload;
};

} // namespace loopscope::viewer
