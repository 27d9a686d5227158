#include "viewer/window/banner.h"

#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

namespace loopscope::viewer {

Banner::Banner(QWidget* parent) : QFrame(parent)
{
    setObjectName("errorBanner");
    auto* const row = new QHBoxLayout(this);
    row->setContentsMargins(12, 6, 8, 6);
    row->setSpacing(8);
    m_icon = new QLabel(this);
    row->addWidget(m_icon);
    auto* const words = new QVBoxLayout;
    words->setSpacing(0);
    m_title = new QLabel(this);
    m_title->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_text = new QLabel(this);
    m_text->setProperty("type", "small");
    words->addWidget(m_title);
    words->addWidget(m_text);
    for (QLabel* const label : {m_title, m_text}) {
        label->setWordWrap(true);
        label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    }
    row->addLayout(words, 1);
    m_buttons = new QHBoxLayout;
    m_buttons->setSpacing(8);
    row->addLayout(m_buttons);
    auto* const close = new QToolButton(this);
    close->setIcon(themedIcon("close"));
    close->setIconSize(QSize(12, 12));
    close->setToolTip(tr("Hide this line"));
    close->setAccessibleName(tr("Hide this line"));
    connect(close, &QToolButton::clicked, this, &Banner::leave);
    row->addWidget(close);
    connect(&Theme::instance(), &Theme::changed, this, &Banner::restyle);
    hide();
}

void Banner::restyle()
{
    const bool error = m_kind == Kind::error, warning = m_kind == Kind::warning;
    const QColor color = themed(error ? Token::err : warning ? Token::warn : Token::accent);
    const QColor back = themed(error ? Token::errWeak : warning ? Token::warnWeak : Token::accentWeak);
    setStyleSheet(
        QStringLiteral("#errorBanner { background: %1; border: 0; border-bottom: 1px solid %2; }").arg(back.name(), color.name()));
    m_icon->setPixmap(iconPixmap(error     ? "error"
                                 : warning ? "warning"
                                           : "notice",
                                 Theme::instance().barHeight(16), color, devicePixelRatioF()));
    m_title->setFont(Theme::instance().font(FontUse::body, true));
}

void Banner::show(Kind kind, const QString& title, const QString& text, const std::vector<Choice>& choices)
{
    m_kind = kind;
    m_title->setText(title);
    m_text->setText(text);
    m_text->setVisible(!text.isEmpty());
    setAccessibleName(title + ". " + text);
    while (QLayoutItem* const item = m_buttons->takeAt(0)) {
        item->widget()->deleteLater();
        delete item;
    }
    for (const Choice& choice : choices) {
        auto* const button = new QPushButton(choice.first, this);
        button->setFocusPolicy(Qt::TabFocus); // who clicks goes on where he was
        connect(button, &QPushButton::clicked, this, [this, action = choice.second] {
            leave();
            if (action) action();
        });
        m_buttons->addWidget(button);
    }
    restyle();
    QFrame::show();
}

/// Qt would hand the keyboard on to whatever stands next, a button of the tool bar.
void Banner::leave()
{
    const QWidget* const focus = QApplication::focusWidget();
    const bool had = focus != nullptr && isAncestorOf(focus);
    hide();
    if (had) emit left();
}

QString Banner::text() const { return m_title->text(); }

} // namespace loopscope::viewer
