// How Qt's own widgets look: flat, dense, one accent (docs/desktop.md, "Grid, type, density"). Widgets choose variants by properties:
// QPushButton[primary=true], QPushButton[chip=true], QLabel[tone="dim|meta|error|warning|ok"],
// QLabel[type="title|figure|section|small|value"], QToolButton[place="head"], QFrame[frame="panel"].
#include "viewer/style/theme.h"

#include <algorithm>

#include <QHash>

namespace loopscope::viewer {

namespace {

// @name is a colour, %name% a size in pixels.
constexpr const char* kSheet = R"(
QMainWindow, QDialog { background: @window; }
QToolTip { background: @raised; color: @text; border: 1px solid @line2; padding: 3px 6px; }

#panelScroll, #panelScroll > #qt_scrollarea_viewport { background: transparent; }

QMenuBar { background: @window; padding: 0 4px; }
QMenuBar::item { padding: 4px 8px; background: transparent; border-radius: 4px; }
QMenuBar::item:selected, QMenuBar::item:pressed { background: @accentWeak; color: @text; }
QMenu { background: @surface; border: 1px solid @line2; padding: 4px 0; }
QMenu::item { padding: 4px 24px 4px 12px; border: 1px solid transparent; }
QMenu::item:selected { background: @accentWeak; color: @text; }
QMenu::item:disabled { color: @disabled; }
QMenu::icon { padding-left: 8px; }
QMenu::separator { height: 1px; background: @line; margin: 4px 0; }

QAbstractItemView { background: @surface; color: @text; border: 0; outline: 0; selection-background-color: @accentWeak;
  selection-color: @text; alternate-background-color: @raised; gridline-color: @line; }
QAbstractItemView::item:hover { background: @hover; }
QAbstractItemView::item:selected { background: @accentWeak; color: @text; }
QHeaderView { background: @raised; border: 0; }
QHeaderView::section { background: @raised; color: @text2; border: 0; border-bottom: 1px solid @line; padding: 0 6px; height: %head%px;
  font-size: %small%px; }
QHeaderView::section:vertical { border-bottom: 0; border-right: 1px solid @line; }
QTableCornerButton::section { background: @raised; border: 0; border-bottom: 1px solid @line; }

QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle:vertical { background: @thumb; border-radius: 3px; margin: 2px; min-height: 24px; }
QScrollBar::handle:horizontal { background: @thumb; border-radius: 3px; margin: 2px; min-width: 24px; }
QScrollBar::handle:hover, QScrollBar::handle:pressed { background: @line2; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; }

QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox { background: @surface; color: @text; border: 1px solid @line; border-radius: 4px;
  padding: 0 8px; min-height: %field%px; selection-background-color: @accentWeak; selection-color: @text; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus { border-color: @accent; }
QLineEdit[invalid="true"] { border-color: @err; }
QLineEdit:disabled, QSpinBox:disabled, QComboBox:disabled { color: @disabled; background: @window; }
QAbstractItemView QLineEdit { border: 1px solid @accent; border-radius: 0; padding: 0 2px; min-height: 0; }
QComboBox::drop-down { border: 0; width: 18px; }
QComboBox::down-arrow { image: url(:/style/arrow-down.svg); width: 10px; height: 10px; }
QComboBox QAbstractItemView { border: 1px solid @line2; }
QPlainTextEdit, QTextEdit { background: @surface; color: @text; border: 0; selection-background-color: @accentWeak; selection-color: @text; }

QPushButton { background: @surface; color: @text; border: 1px solid @line2; border-radius: 4px; padding: 0 12px; min-height: %button%px; }
QPushButton:hover { background: @hover; }
QPushButton:pressed, QPushButton:checked { background: @accentWeak; border-color: @accent; }
QPushButton:focus { border: 2px solid @accent; padding: 0 11px; min-height: %buttonFocus%px; }
QPushButton:disabled { color: @disabled; border-color: @line; background: @window; }
QPushButton[primary="true"] { background: @accent; color: @onAccent; border-color: @accent; }
QPushButton[primary="true"]:focus { border-color: @text; }
QPushButton[primary="true"]:disabled { background: @window; color: @disabled; border-color: @line; }
QPushButton[chip="true"] { min-height: %chip%px; max-height: %chip%px; border: 1px solid @line; border-radius: %chipRadius%px; padding: 0 7px;
  font-size: %small%px; color: @text2; }
QPushButton[chip="true"]:checked { background: @accentWeak; border-color: @accent; color: @accent; }
QPushButton[chip="true"]:focus { border: 1px solid @text; }
QPushButton[link="true"] { background: transparent; border: 1px solid transparent; color: @accent; padding: 0 4px; min-height: 18px; }
QPushButton[link="true"]:hover { text-decoration: underline; }
QPushButton[link="true"]:focus { border: 1px dotted @text; }

QToolButton { background: transparent; border: 1px solid transparent; border-radius: 4px; color: @text2; min-width: %tool%px; min-height: %tool%px; padding: 0; }
QToolButton:hover { background: @hover; }
QToolButton:pressed, QToolButton:checked { background: @accentWeak; color: @accent; }
QToolButton:focus { border-color: @accent; }
QToolButton:disabled { color: @disabled; }
QToolButton[place="head"] { min-width: 22px; min-height: 20px; }
QLineEdit QToolButton { min-width: 0; min-height: 0; border: 0; }
QToolButton::menu-indicator { image: none; }
QToolBar { background: @window; border: 0; border-bottom: 1px solid @line; spacing: 2px; padding: 0 8px; }
QToolBar::separator { background: @line; width: 1px; margin: 8px 6px; }

QCheckBox, QRadioButton { spacing: 6px; }
QCheckBox:focus, QRadioButton:focus { color: @accent; }
QSplitter::handle { background: @window; }
QStatusBar { background: @window; border-top: 1px solid @line; color: @text2; font-size: %small%px; }
QStatusBar::item { border: 0; }
QTabBar { background: @window; }
QTabBar::tab { background: @window; color: @text2; border: 0; border-right: 1px solid @line; padding: 0 10px; height: %tab%px;
  font-size: %small%px; }
QTabBar::tab:selected { background: @surface; color: @text; border-top: 2px solid @accent; }
QTabBar::tab:focus { color: @accent; }
QProgressBar { background: @line; border: 0; max-height: 2px; min-height: 2px; }
QProgressBar::chunk { background: @accent; }
QFrame[frame="panel"] { background: @surface; border: 1px solid @line; }
QFrame[frame="panel"][focused="true"] { border-color: @accent; }

QLabel[tone="dim"] { color: @text2; }
QLabel[tone="meta"] { color: @text3; }
QLabel[tone="error"] { color: @err; }
QLabel[tone="warning"] { color: @warn; }
QLabel[tone="ok"] { color: @ok; }
QLabel[type="title"] { font-size: %title%px; font-weight: 600; }
QLabel[type="figure"] { font-size: %figure%px; font-weight: 600; }
QLabel[type="section"] { font-size: %section%px; font-weight: 600; }
QLabel[type="small"] { font-size: %small%px; }
QLabel[type="value"] { font-family: "%fixed%"; font-size: %small%px; }
)";

} // namespace

QString styleSheet()
{
    const Theme& theme = Theme::instance();
    static const std::pair<const char*, Token> names[] = {{"accentWeak", Token::accentWeak},
                                                          {"onAccent", Token::onAccent},
                                                          {"accent", Token::accent},
                                                          {"window", Token::window},
                                                          {"surface", Token::surface},
                                                          {"raised", Token::raised},
                                                          {"line2", Token::line2},
                                                          {"line", Token::line},
                                                          {"text2", Token::text2},
                                                          {"text3", Token::text3},
                                                          {"text", Token::text},
                                                          {"hover", Token::hover},
                                                          {"err", Token::err},
                                                          {"warn", Token::warn},
                                                          {"ok", Token::ok}};
    QString sheet = QString::fromUtf8(kSheet);
    // Longer names first, so that @text does not eat @text2.
    for (const auto& [name, token] : names) sheet.replace(QLatin1Char('@') + QLatin1String(name), theme.color(token).name());
    sheet.replace(QLatin1String("@disabled"), theme.color(Token::text3).name());
    const QColor thumb = theme.color(Token::line2);
    sheet.replace(QLatin1String("@thumb"), QStringLiteral("rgba(%1,%2,%3,45%)").arg(thumb.red()).arg(thumb.green()).arg(thumb.blue()));
    const auto scaled = [&](double pixels) { return QString::number(qRound(pixels * theme.textPercent() / 100)); };
    const std::pair<const char*, QString> sizes[] = {{"head", scaled(19)},
                                                     {"small", scaled(11)},
                                                     {"field", scaled(24)},
                                                     {"button", scaled(24)},
                                                     {"buttonFocus", QString::number(scaled(24).toInt() - 2)},
                                                     {"chip", scaled(theme.dense() ? 14 : 16)},
                                                     {"chipRadius", scaled(theme.dense() ? 8 : 9)},
                                                     {"tool", QString::number(14 * (100 + std::max(100, theme.textPercent())) / 100 - 2)},
                                                     {"tab", scaled(24)},
                                                     {"title", scaled(20)},
                                                     {"figure", scaled(15)},
                                                     {"section", scaled(13)},
                                                     {"fixed", theme.font(FontUse::value).family()}};
    for (const auto& [name, value] : sizes) sheet.replace(QLatin1Char('%') + QLatin1String(name) + QLatin1Char('%'), value);
    return sheet;
}

} // namespace loopscope::viewer
