// Colours, sizes and type of the desktop, by name (docs/desktop.md, "Colour"). Widgets and painters take every colour from here, so that a
// change of theme is a repaint. GUI thread only.
#pragma once

#include "viewer/scene/family.h"

#include <QColor>
#include <QFont>
#include <QObject>
#include <QString>

#include <algorithm>
#include <array>

class QWidget;

namespace loopscope::viewer {

enum class ThemeName : uint8_t { light, dark, highContrast };

enum class Token : uint8_t {
    window,
    surface,
    sunken,
    raised,
    line,
    line2,
    text,
    text2,
    text3,
    accent,
    onAccent,
    accentWeak,
    hover,
    cur,
    curLine,
    curText,
    bp,
    err,
    errWeak,
    warn,
    warnWeak,
    ok,
    okWeak,
    dead,
    deadWeak,
    sideA,
    sideB,
};
inline constexpr size_t kTokenCount = 27;

struct Palette {
    std::array<QRgb, kTokenCount> tokens{};
    std::array<QRgb, kFamilyCount> families{};
};
const Palette& paletteOf(ThemeName theme);
double contrastRatio(QRgb a, QRgb b); ///< WCAG 2

enum class FontUse : uint8_t { title, figure, section, body, small, value, tiny, binding };

/// The one theme of the program. Emits changed() when colours, text size or density change; everything repaints then.
class Theme : public QObject {
    Q_OBJECT
public:
    static Theme& instance();

    ThemeName name() const { return m_name; }
    bool followsSystem() const { return m_follows; }
    void set(ThemeName name);
    void followSystem();
    QColor color(Token token) const { return QColor::fromRgb(paletteOf(m_name).tokens[static_cast<size_t>(token)]); }
    QColor color(Family family) const { return QColor::fromRgb(paletteOf(m_name).families[static_cast<size_t>(family)]); }

    QFont font(FontUse use, bool bold = false) const;
    /// A widget has that font from now on, also when the size of text changes.
    void wear(QWidget& widget, FontUse use, bool bold = false);
    int textPercent() const { return m_percent; } ///< 80 to 200
    void setTextPercent(int percent);
    bool dense() const { return m_dense; }
    void setDense(bool dense);
    int rowHeight() const; ///< 20 comfortable, 18 dense, times the text size
    /// Of a bar or field that is drawn `height` high: it grows with the text and never shrinks, so that its icons fit.
    int barHeight(int height) const { return height * std::max(100, m_percent) / 100; }

    /// Applies palette and style sheet to the application; called by whoever owns the QApplication and again on each change.
    void apply();

    /// Underlined letters of menus and buttons: only once Alt is pressed, as everywhere on the desktop.
    bool mnemonicsShown() const { return m_mnemonics; }

    /// The platform wants no motion: nothing fades then, nor in tests (QT_QPA_PLATFORM=offscreen).
    bool reducedMotion() const;

signals:
    void changed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    Theme() = default;
    void adoptSystem();
    void update();
    void showMnemonics(bool shown);
    ThemeName m_name = ThemeName::light;
    bool m_follows = false;
    int m_percent = 100;
    bool m_dense = false;
    bool m_applied = false;
    bool m_mnemonics = false;
};

/// The style sheet of the application in the colours and sizes of the moment.
QString styleSheet();

inline QColor themed(Token token) { return Theme::instance().color(token); }
inline QColor themed(Family family) { return Theme::instance().color(family); }

} // namespace loopscope::viewer
