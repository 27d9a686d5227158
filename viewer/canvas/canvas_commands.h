// Commands of the graph context: what they do to a canvas, and the menu that offers them.
#pragma once

#include <QObject>
#include <QString>

#include <functional>
#include <string>
#include <unordered_map>

class QAction;
class QMenu;

namespace loopscope::viewer {

class GraphCanvas;
struct CanvasPicture;
struct SceneNode;
struct ViewState;
enum class OpenCallee : uint8_t;

class CanvasCommands : public QObject {
    Q_OBJECT
public:
    explicit CanvasCommands(GraphCanvas& canvas);

    /// False: no command of the graph.
    bool perform(const QString& id);
    void fillMenu(QMenu& menu, int node);
    /// False: the node is no group.
    bool toggleGroup(int node, bool open);
    bool foldRegion(int region);

private:
    void addWays();
    void addViews();
    void open(OpenCallee how);
    void toggle(bool ViewState::*option);
    void copyNames() const;
    int regionUnderCurrent() const;
    QAction* add(QMenu& menu, const QString& text, const char* id);
    void addOperator(QMenu& menu, const SceneNode& node);
    void addWhole(QMenu& menu);

    GraphCanvas& m_canvas;
    const CanvasPicture& m_picture;
    std::unordered_map<std::string, std::function<void()>> m_commands;
};

} // namespace loopscope::viewer
