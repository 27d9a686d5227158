#include "viewer/tensor/tensor_bar.h"

#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QGuiApplication>
#include <QHBoxLayout>

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr int kBehindModes = 6; ///< to the name
constexpr std::array<const char*, kTensorModes> kIcons = {"table", "heat-map", "image", "histogram", "plot", "", ""};
constexpr std::array<const char*, kTensorModes> kSigns = {"", "", "", "", "", "\u03a3", "q"};
constexpr std::array<const char*, kTensorModes> kTips = {"Table", "Heat map", "Image", "Histogram", "Plot", "Statistics", "Quantization"};

QPushButton* chip(QWidget* parent, const QString& name)
{
    auto* const button = new QPushButton(parent);
    button->setProperty("chip", true);
    button->setAccessibleName(name);
    button->setToolTip(name);
    return button;
}

} // namespace

TensorBar::TensorBar(QWidget* parent)
    : QWidget(parent),
      m_name(new QLabel(this)),
      m_type(new QLabel(this)),
      m_packed(new QLabel(this)),
      m_axes(chip(this, "Which axes go down and to the right")),
      m_difference(chip(this, "Difference to another iteration or run (d)")),
      m_range(new QToolButton(this))
{
    setObjectName("tensorBar");
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed); // the views give way, the panel scrolls
    // In a narrow column what the value is stands below the modes.
    m_lines = new QBoxLayout(QBoxLayout::LeftToRight, this);
    m_lines->setContentsMargins(6, 2, 6, 2);
    m_lines->setSpacing(0);
    auto* const modes = new QHBoxLayout;
    modes->setSpacing(0);
    for (size_t i = 0; i < kTensorModes; ++i) modes->addWidget(m_modes[i] = makeModeButton(i));
    modes->addSpacing(kBehindModes);
    modes->addStretch(1);
    m_lines->addLayout(modes);
    auto* const row = new QHBoxLayout;
    row->setSpacing(0);
    m_lines->addLayout(row, 1);
    m_name->setMinimumWidth(1); // fold() cuts it
    m_type->setMinimumWidth(1);
    m_packed->setContentsMargins(6, 0, 0, 0);
    m_range->setProperty("place", "head");
    m_range->setAccessibleName("Range of the colours");
    m_range->setToolTip("Range of the colours");
    m_difference->setCheckable(true);
    row->addWidget(m_name);
    row->addSpacing(4);
    row->addWidget(m_type);
    row->addWidget(m_packed);
    row->addSpacing(4);
    row->addWidget(m_axes);
    row->addSpacing(4);
    row->addWidget(m_difference);
    row->addStretch(1);
    row->addWidget(m_range);
    connect(m_axes, &QPushButton::clicked, this, &TensorBar::axesWanted);
    connect(m_difference, &QPushButton::clicked, this, &TensorBar::differenceWanted);
    connect(m_range, &QToolButton::clicked, this, &TensorBar::rangeWanted);
    connect(&Theme::instance(), &Theme::changed, this, &TensorBar::restyle);
    restyle();
}

QToolButton* TensorBar::makeModeButton(size_t mode)
{
    auto* const button = new QToolButton(this);
    button->setProperty("place", "head");
    button->setCheckable(true);
    button->setAutoRaise(true);
    button->setText(kSigns[mode]);
    button->setToolTip(QString("%1 (%2), with Shift beside what is shown").arg(kTips[mode]).arg(mode + 1));
    button->setAccessibleName(kTips[mode]);
    button->setObjectName("tensorMode" + QString::number(mode + 1));
    connect(button, &QToolButton::clicked, this,
            [this, mode] { emit modeChosen(static_cast<int>(mode), (QGuiApplication::keyboardModifiers() & Qt::ShiftModifier) != 0); });
    return button;
}

void TensorBar::restyle()
{
    const Theme& theme = Theme::instance();
    for (size_t i = 0; i < kTensorModes; ++i) {
        m_modes[i]->setFixedSize(theme.barHeight(24), theme.barHeight(22));
        m_modes[i]->setIconSize({theme.barHeight(16), theme.barHeight(16)});
        if (kIcons[i][0] != '\0') m_modes[i]->setIcon(themedIcon(kIcons[i]));
    }
    m_name->setFont(theme.font(FontUse::value, true));
    m_type->setFont(theme.font(FontUse::value));
    m_packed->setFont(theme.font(FontUse::small));
    m_range->setFont(theme.font(FontUse::small));
}

void TensorBar::setContent(const Content& content, const ShownModes& modes)
{
    m_content = content;
    for (size_t i = 0; i < kTensorModes; ++i) m_modes[i]->setChecked(modes.at(i));
    m_modes[static_cast<size_t>(TensorMode::image)]->setEnabled(content.isImage);
    m_modes[static_cast<size_t>(TensorMode::quantization)]->setEnabled(content.isQuantized);
    m_name->setText(content.name);
    m_name->setToolTip(content.displayName);
    m_type->setText(content.type);
    m_type->setToolTip(content.packed);
    m_packed->setText(content.packed);
    m_axes->setText(content.axes);
    m_difference->setText(content.difference);
    m_difference->setChecked(content.differs);
    m_range->setText(content.range);
}

int TensorBar::leastWidth() const
{
    const QMargins margins = layout()->contentsMargins();
    return margins.left() + margins.right() + kBehindModes + m_modes.front()->width() * static_cast<int>(kTensorModes);
}

void TensorBar::fold(int room)
{
    m_packed->setVisible(!m_content.packed.isEmpty());
    m_axes->setVisible(!m_content.axes.isEmpty());
    m_difference->setVisible(!m_content.difference.isEmpty());
    m_range->setVisible(!m_content.range.isEmpty());
    m_name->setText(m_content.name);
    m_type->show();
    m_lines->setDirection(QBoxLayout::LeftToRight);
    const auto wanted = [this] {
        for (int i = 0; i < m_lines->count(); ++i) m_lines->itemAt(i)->invalidate(); // else they keep the width of what is hidden
        m_lines->invalidate();
        return m_lines->sizeHint().width();
    };
    // A line that would lose its name or type takes a second one first.
    const int chips = (m_range->isHidden() ? 0 : m_range->sizeHint().width()) + (m_packed->isHidden() ? 0 : m_packed->sizeHint().width());
    if (wanted() - chips > room) m_lines->setDirection(QBoxLayout::TopToBottom);
    // From the right: the range, then the difference.
    if (wanted() > room) m_packed->hide();
    if (wanted() > room) m_range->hide();
    if (wanted() > room && !m_content.differs) m_difference->hide();
    if (const int over = wanted() - room; over > 0) {
        const QFontMetrics metrics(m_name->font());
        const int least = metrics.horizontalAdvance("mmmm"), now = metrics.horizontalAdvance(m_name->text());
        m_name->setText(metrics.elidedText(m_name->text(), Qt::ElideMiddle, std::max(least, now - over)));
    }
    if (wanted() > room) m_axes->hide();
}

} // namespace loopscope::viewer
