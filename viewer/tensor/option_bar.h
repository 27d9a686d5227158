// Small parts of the tensor viewer: what can be chosen for the value that is shown, and how far long work is.
#pragma once

#include <QWidget>

#include <functional>
#include <vector>

namespace loopscope::viewer {

/// One chip.
struct ViewOption {
    QString text;
    bool on = false;
    std::function<void()> run;
    QString tip; ///< empty: the text says it
};

/// A line of chips, gone where there is nothing to choose.
class OptionBar final : public QWidget {
    Q_OBJECT
public:
    explicit OptionBar(QWidget* parent);
    void setOptions(std::vector<ViewOption> options);

private:
    std::vector<ViewOption> m_options;
};

/// Two pixels high.
class ProgressLine final : public QWidget {
    Q_OBJECT
public:
    explicit ProgressLine(QWidget* parent);
    void setShare(double share); ///< 0 … 1

protected:
    void paintEvent(QPaintEvent*) override;

private:
    double m_share = 0;
};

} // namespace loopscope::viewer
