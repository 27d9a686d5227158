// Where the panels of a task lie: a tree of splitters with tab strips on top (docs/desktop.md, "Window"). Sizes are exact, so that a window
// of 1280×800 looks as it was drawn; extra room goes to the part that stretches. Every move can be made from a tab's menu, by keyboard.
//
// An arrangement is JSON, with panels by object name:
//   {"split": "h", "sizes": [240, 540, 484], "stretch": 1, "parts": [ARRANGEMENT, …]}      a row ("h") or a column ("v")
//   {"tabs": ["panelListing", "panelStructured"], "current": "panelListing"}               a strip
// and at the top also "windows": [{"tabs": […], "rect": [x, y, w, h]}]. Panels that nobody makes are left out.
#pragma once

#include "viewer/widgets/panel.h"

#include <QJsonObject>
#include <QWidget>

#include <functional>
#include <map>
#include <memory>
#include <vector>

class QSplitter;

namespace loopscope::viewer {

class PanelStrip;

enum class Side : uint8_t { left, right, up, down };

class PanelArea : public QWidget {
    Q_OBJECT
public:
    /// Makes a panel by object name; null: there is none of that name.
    using Factory = std::function<Panel*(const QString& name)>;
    explicit PanelArea(Factory factory, QWidget* parent = nullptr);
    ~PanelArea() override;

    /// `home` is what "Reset arrangement" goes back to, and where panels come back that were closed.
    void arrange(const QJsonObject& arrangement, const QJsonObject& home);
    /// Other sizes for the same parts, as for a window of another width.
    void draw(const QJsonObject& drawn);
    QJsonObject arrangement() const;
    /// Makes the panels that an arrangement needs, one in each turn of the event loop, then what they will lie in; `then`, which arranges
    /// them, comes in a turn of its own.
    void prepare(const QJsonObject& arrangement, std::function<void()> then);
    void reset() { arrange(m_home, m_home); }

    /// The panel, made now if need be; null if there is none of that name.
    Panel* panel(const QString& name);
    QList<Panel*> panels() const; ///< made so far
    bool isOpen(const QString& name) const;
    /// Whether `front` lies over `behind`: both in one strip, that one in front.
    bool isCovering(const QString& front, const QString& behind) const;
    /// Brings a panel to the front and opens it where it belongs if it was closed; with `focus` it gets the keyboard.
    Panel* show(const QString& name, bool focus);
    void close(const QString& name);
    void move(const QString& name, Side side);
    void openWindow(const QString& name);
    void nextTab(int offset); ///< of the strip that has the focus
    /// The windows that panels have of their own: hidden while their document is not in front.
    void showWindows(bool shown);
    /// The panel that has the keyboard; null: none.
    Panel* focusPanel() const;
    /// The bar under the head of the panel's strip (PanelStrip::setProgress); only one strip has one.
    void setProgress(const QString& name, double done);
    QList<PanelStrip*> strips() const;

signals:
    void arrangementChanged();
    void stateChanged(); ///< of a panel

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Filling { ///< of a strip
        PanelStrip* strip = nullptr;
        std::vector<Panel*> panels;
        Panel* front = nullptr;
    };
    struct Frame { ///< strips and splitters that hold nothing yet
        QJsonObject arrangement;
        std::unique_ptr<QWidget> root;
        std::vector<Filling> fillings;
    };
    QWidget* build(const QJsonObject& node, std::vector<Filling>& fillings);
    Frame frameOf(const QJsonObject& arrangement);
    QJsonObject describe(QWidget* node) const;
    PanelStrip* newStrip();
    PanelStrip* stripOf(const Panel* panel) const;
    PanelStrip* neighbour(PanelStrip* strip, Side side) const;
    PanelStrip* splitAt(Side side);
    PanelStrip* homeStrip(const QString& name);
    void takeOut(Panel* panel);
    void prune(PanelStrip* strip);
    Panel* made(const QString& name);
    void make(QStringList names, std::function<void()> then);
    struct Before { ///< what panels lay in that now get another place
        QWidget* root = nullptr;
        QList<QWidget*> windows;
    };
    Before clear();
    void remove(const Before& before);
    void spread(QWidget* node, QSize size);
    void showMenu(Panel* panel, const QPoint& global);

    Factory m_factory;
    std::map<QString, Panel*> m_panels; ///< owned: in their strip, or children of the area while they are closed
    QJsonObject m_home;
    Frame m_prepared;
    QWidget* m_root = nullptr;
    QList<QWidget*> m_windows;
    bool m_spread = false; ///< sizes were given out to the splitters
};

} // namespace loopscope::viewer
