// What is shown instead of a file that cannot be read: what is wrong, where in the file, what can be done.
#pragma once

#include <QWidget>

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

signals:
    void reloadRequested(const QString& path);
    void welcomeRequested();

private:
    void restyle();

    QString m_path;
    QLabel *m_icon, *m_title, *m_text, *m_known;
    QPlainTextEdit* m_bytes;
};

} // namespace loopscope::viewer
