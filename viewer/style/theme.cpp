// Type, sizes and the palette that Qt's own widgets take their colours from.
#include "viewer/style/theme.h"

#include "viewer/style/proxy_style.h"
#include "viewer/style/resources.h"

#include <QApplication>
#include <QEvent>
#include <QFontDatabase>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenuBar>
#include <QPalette>

namespace loopscope::viewer {

namespace {

QPalette systemPalette(const Theme& theme)
{
    const auto color = [&](Token token) { return theme.color(token); };
    QPalette palette;
    palette.setColor(QPalette::Window, color(Token::window));
    palette.setColor(QPalette::WindowText, color(Token::text));
    palette.setColor(QPalette::Base, color(Token::surface));
    palette.setColor(QPalette::AlternateBase, color(Token::raised));
    palette.setColor(QPalette::Text, color(Token::text));
    palette.setColor(QPalette::PlaceholderText, color(Token::text3));
    palette.setColor(QPalette::Button, color(Token::surface));
    palette.setColor(QPalette::ButtonText, color(Token::text));
    palette.setColor(QPalette::BrightText, color(Token::err));
    palette.setColor(QPalette::Light, color(Token::raised));
    palette.setColor(QPalette::Midlight, color(Token::line));
    palette.setColor(QPalette::Mid, color(Token::line2));
    palette.setColor(QPalette::Dark, color(Token::line2));
    palette.setColor(QPalette::Shadow, color(Token::line2));
    palette.setColor(QPalette::Highlight, color(Token::accentWeak));
    palette.setColor(QPalette::HighlightedText, color(Token::text));
    palette.setColor(QPalette::Link, color(Token::accent));
    palette.setColor(QPalette::LinkVisited, color(Token::accent));
    palette.setColor(QPalette::ToolTipBase, color(Token::raised));
    palette.setColor(QPalette::ToolTipText, color(Token::text));
    const QColor disabled = color(Token::text3); // still 4.5 : 1: what cannot be pressed can be read
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::HighlightedText})
        palette.setColor(QPalette::Disabled, role, disabled);
    return palette;
}

/// A style sheet gives fields half of their text's colour as that of their placeholder, which is too faint to be read.
void keepPlaceholder(QObject* field, const QColor& color)
{
    auto* const widget = qobject_cast<QLineEdit*>(field);
    if (widget == nullptr) return;
    QPalette palette = widget->palette();
    if (palette.color(QPalette::Active, QPalette::PlaceholderText) == color &&
        palette.color(QPalette::Inactive, QPalette::PlaceholderText) == color)
        return;
    palette.setColor(QPalette::PlaceholderText, color);
    widget->setPalette(palette);
}

QString uiFamily()
{
    static const QString family = QFontDatabase::systemFont(QFontDatabase::GeneralFont).family();
    return family;
}

QString fixedFamily()
{
    static const QString family = QFontDatabase::systemFont(QFontDatabase::FixedFont).family();
    return family;
}

} // namespace

Theme& Theme::instance()
{
    static Theme theme;
    return theme;
}

QFont Theme::font(FontUse use, bool bold) const
{
    struct Type {
        double size;
        bool bold, fixed;
    };
    static constexpr Type types[] = {{20, true, false},  {15, true, false}, {13, true, false},  {12, false, false},
                                     {11, false, false}, {11, false, true}, {10, false, false}, {10, false, true}};
    const Type& type = types[static_cast<size_t>(use)];
    QFont font(type.fixed ? fixedFamily() : uiFamily());
    font.setStyleHint(type.fixed ? QFont::Monospace : QFont::SansSerif);
    font.setPixelSize(std::max(1, qRound(type.size * m_percent / 100)));
    font.setWeight(bold || type.bold ? QFont::DemiBold : QFont::Normal);
    // Widths that do not depend on the size keep a layout right at every zoom.
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

int Theme::rowHeight() const { return qRound((m_dense ? 18 : 20) * m_percent / 100.0); }

bool Theme::reducedMotion() const
{
    return qEnvironmentVariableIsSet("LOOPSCOPE_REDUCED_MOTION") || QGuiApplication::platformName() == QLatin1String("offscreen") ||
           !QApplication::isEffectEnabled(Qt::UI_General);
}

void Theme::set(ThemeName name)
{
    m_follows = false;
    if (name == m_name) return;
    m_name = name;
    update();
}

void Theme::followSystem()
{
    m_follows = true;
    adoptSystem();
    update();
}

void Theme::setTextPercent(int percent)
{
    percent = std::clamp(percent, 80, 200);
    if (percent == m_percent) return;
    m_percent = percent;
    update();
}

void Theme::wear(QWidget& widget, FontUse use, bool bold)
{
    const auto dress = [this, &widget, use, bold] { widget.setFont(font(use, bold)); };
    dress();
    connect(this, &Theme::changed, &widget, dress);
}

void Theme::setDense(bool dense)
{
    if (dense == m_dense) return;
    m_dense = dense;
    update();
}

// Qt before 6.5 does not tell the platform's scheme: the lightness of the window colour does, once our own palette is out of the way.
void Theme::adoptSystem()
{
    if (!qGuiApp) return;
    const QPalette ours = QGuiApplication::palette();
    QGuiApplication::setPalette(QPalette());
    const bool dark = QGuiApplication::palette().color(QPalette::Window).lightness() < 128;
    QGuiApplication::setPalette(ours);
    m_name = dark ? ThemeName::dark : ThemeName::light;
}

void Theme::update()
{
    if (m_applied) apply();
    emit changed();
}

void Theme::apply()
{
    auto* app = qobject_cast<QApplication*>(QCoreApplication::instance());
    if (!app) return;
    loadStyleResources();
    if (!m_applied) {
        m_applied = true;
        if (m_follows) adoptSystem();
        QApplication::setStyle(new ProxyStyle);
        app->installEventFilter(this);
    }
    QApplication::setPalette(systemPalette(*this));
    QApplication::setFont(font(FontUse::body));
    app->setStyleSheet(styleSheet());
}

void Theme::showMnemonics(bool shown)
{
    if (shown == m_mnemonics) return;
    m_mnemonics = shown;
    for (QWidget* const window : QApplication::topLevelWidgets()) {
        window->update();
        for (QMenuBar* const bar : window->findChildren<QMenuBar*>()) bar->update();
    }
}

bool Theme::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::Polish) keepPlaceholder(watched, color(Token::text3));
    // They stay while a menu is open, and go with the next click.
    const bool alt =
        (event->type() == QEvent::KeyPress || event->type() == QEvent::KeyRelease) && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Alt;
    if (alt)
        showMnemonics(event->type() == QEvent::KeyPress || QApplication::activePopupWidget() ||
                      qobject_cast<QMenuBar*>(QApplication::focusWidget()));
    else if (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::WindowDeactivate) showMnemonics(false);
    if (event->type() == QEvent::ThemeChange && m_follows) {
        const ThemeName before = m_name;
        adoptSystem();
        if (m_name != before) update();
    }
    return QObject::eventFilter(watched, event);
}

} // namespace loopscope::viewer
