#include "viewer/tensor/option_bar.h"

#include "viewer/style/theme.h"
#include "viewer/widgets/parts.h"

#include <QHBoxLayout>
#include <QPainter>

namespace loopscope::viewer {

OptionBar::OptionBar(QWidget* parent) : QWidget(parent)
{
    setObjectName("tensorOptions");
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 0, 8, 2);
    row->setSpacing(4);
    row->addStretch(1);
    hide();
}

void OptionBar::setOptions(std::vector<ViewOption> options)
{
    const bool same =
        std::ranges::equal(options, m_options, [](const ViewOption& a, const ViewOption& b) { return a.text == b.text && a.on == b.on; });
    m_options = std::move(options);
    setVisible(!m_options.empty());
    if (same) return; // the chips look their action up
    auto* const row = static_cast<QHBoxLayout*>(layout());
    for (Chip* const chip : findChildren<Chip*>(Qt::FindDirectChildrenOnly)) {
        chip->hide();
        chip->deleteLater();
    }
    for (size_t i = 0; i < m_options.size(); ++i) {
        auto* chip = new Chip(m_options[i].text, this);
        chip->setToolTip(m_options[i].tip);
        chip->setCheckable(true);
        chip->setChecked(m_options[i].on);
        connect(chip, &QAbstractButton::clicked, this, [this, i] {
            if (i < m_options.size()) std::function<void()>(m_options[i].run)(); // which may replace the options
        });
        row->insertWidget(static_cast<int>(i), chip);
        chip->show();
    }
}

ProgressLine::ProgressLine(QWidget* parent) : QWidget(parent)
{
    setObjectName("tensorProgress");
    setFixedHeight(2);
    hide();
}

void ProgressLine::setShare(double share)
{
    m_share = share;
    update();
}

void ProgressLine::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::line));
    painter.fillRect(QRectF(0, 0, width() * m_share, height()), themed(Token::accent));
}

} // namespace loopscope::viewer
