// The line above a tensor's values: its name and type, the modes, and chips for axes, difference and range. What does not fit folds.
#pragma once

#include "viewer/tensor/tensor_mode.h"

#include <QBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QString>
#include <QToolButton>
#include <QWidget>

#include <array>

namespace loopscope::viewer {

class TensorBar : public QWidget {
    Q_OBJECT
public:
    explicit TensorBar(QWidget* parent);

    struct Content {
        QString name, displayName, type;
        QString packed; ///< "packed, 2 per byte"; empty: it is not
        bool isImage = false, isQuantized = false;
        QString axes, difference, range; ///< empty: no such chip
        bool differs = false;            ///< a difference is shown
    };
    void setContent(const Content& content, const ShownModes& modes);
    /// As wide as there is room.
    void fold(int room);
    /// Below this not even the modes have room.
    int leastWidth() const;

    QString type() const { return m_type->text(); }
    QString name() const { return m_name->text(); }
    QString range() const { return m_range->text(); }
    /// What the bar had no room to say; empty: nothing.
    QString unsaid() const { return m_packed->isHidden() ? m_packed->text() : QString(); }
    QPoint below(const QWidget& chip) const { return chip.mapToGlobal(QPoint(0, chip.height())); }
    QPoint belowAxes() const { return below(*m_axes); }
    QPoint belowDifference() const { return below(*m_difference); }
    QPoint belowRange() const { return below(*m_range); }

signals:
    void modeChosen(int mode, bool beside);
    void axesWanted();
    void differenceWanted();
    void rangeWanted();

private:
    QToolButton* makeModeButton(size_t mode);
    void restyle();

    std::array<QToolButton*, kTensorModes> m_modes{};
    QLabel *m_name, *m_type, *m_packed;
    QPushButton *m_axes, *m_difference;
    QToolButton* m_range;
    QBoxLayout* m_lines;
    Content m_content;
};

} // namespace loopscope::viewer
