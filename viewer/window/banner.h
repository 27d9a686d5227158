// A line across the window that says what went wrong or offers something, with what can be done about it. Never a dialog.
#pragma once

#include <QFrame>
#include <QString>

#include <functional>
#include <utility>
#include <vector>

class QHBoxLayout;
class QLabel;

namespace loopscope::viewer {

class Banner : public QFrame {
    Q_OBJECT
public:
    enum class Kind : uint8_t { error, warning, notice };
    using Choice = std::pair<QString, std::function<void()>>;

    explicit Banner(QWidget* parent = nullptr);
    /// Every choice also hides the banner.
    void show(Kind kind, const QString& title, const QString& text, const std::vector<Choice>& choices);
    QString text() const;

signals:
    /// It is hidden, and had the keyboard.
    void left();

private:
    void leave();
    void restyle();

    Kind m_kind = Kind::notice;
    QLabel *m_icon, *m_title, *m_text;
    QHBoxLayout* m_buttons;
};

} // namespace loopscope::viewer
