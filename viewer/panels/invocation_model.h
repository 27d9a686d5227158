// The tree of a run: call site → iterations → operators. Rows are made when they are looked at, so a million iterations cost forty rows.
#pragma once

#include "engine/api/inspector.h"
#include "viewer/panels/common.h"

#include <QAbstractItemModel>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer {

/// What of a run the tree shows.
struct RunFacts {
    std::shared_ptr<const StopSnapshot> stop;
    std::map<std::string, int64_t> trips; ///< executions of loops that were seen to their end, by address of the operator
    std::optional<int64_t> steps;         ///< of the whole run
};

/// Who knows which sides branches took, by canonical address of the operator.
struct SideSource {
    std::function<std::optional<int>(const std::string& op)> sideOf;
    std::function<void(const std::string& invocation)> want; ///< that is not known; refreshSides() follows
};

class InvocationModel : public QAbstractItemModel {
    Q_OBJECT
public:
    InvocationModel(const Model& model, QObject* parent) : QAbstractItemModel(parent), m_model(model) {}
    ~InvocationModel() override;

    void setFacts(RunFacts facts);
    void setSides(SideSource sides) { m_sides = std::move(sides); }
    void refreshSides(); ///< more are known

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& = {}) const override { return 2; }
    bool hasChildren(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    /// Canonical address of what a row means: an operator, an iteration, an invocation; of a range its first.
    std::string addressOf(const QModelIndex& index) const;
    bool isOperator(const QModelIndex& index) const;
    /// It ran in this run and is over, or at least began: its state can be looked at.
    bool hasRun(const QModelIndex& index) const;
    /// The loop that a row is, or lies in: "main/while#1" with the iterations outside; empty: none.
    std::string loopOf(const QModelIndex& index) const;
    /// The same row after another stop.
    QString keyOf(const QModelIndex& index) const;
    /// Rows from the root to the next operator.
    std::vector<QModelIndex> pathToCursor() const;

private:
    enum class Kind : uint8_t { invocation, op, iterations, iteration, operators };
    /// Relative to the cursor.
    enum class Time : uint8_t { past, now, lastRun, future };
    struct Node {
        Kind kind = Kind::invocation;
        Node* parent = nullptr;
        int row = 0;
        Time time = Time::past;
        bool onPath = false; ///< the cursor lies in it
        bool isNext = false;
        bool built = false;
        GraphId graph; ///< of the invocation, or that owns op
        OperatorId op;
        int64_t low = 0, high = 0; ///< iterations or operators, both ends
        int depth = -1;            ///< frame on the stack that it is, or whose operators it holds
        std::string address;       ///< canonical
        std::string role;          ///< of a side of a branch
        QString text, right;
        std::vector<std::unique_ptr<Node>> children;
    };

    Node* nodeOf(const QModelIndex& index) const;
    QModelIndex indexOf(const Node& node, int column = 0) const;
    void build(Node& node) const;
    bool canExpand(const Node& node) const;
    Node& add(Node& parent, Kind kind) const;
    void addOperators(Node& parent, GraphId graph, const std::string& invocation, int64_t low, int64_t high, int depth, Time time) const;
    void addOperator(Node& parent, GraphId graph, const std::string& invocation, int64_t op, int depth, Time time) const;
    void addOperatorRange(Node& parent, GraphId graph, const std::string& invocation, int64_t low, int64_t high, int depth,
                          Time time) const;
    void addIterations(Node& parent, const Node& loop, int64_t low, int64_t high) const;
    void addIterationRange(Node& parent, const Node& loop, int64_t low, int64_t high) const;
    void addRole(Node& parent, GraphId graph, const std::string& address, const QString& name, Time time) const;
    void buildCall(Node& node) const;
    void buildSides(Node& node) const;
    bool judgeSides(Node& node) const;
    void refreshSides(Node& node);
    void describe(Node& node) const;
    int frameOf(const std::string& address) const;
    const FrameSnapshot* loopFrame(const Node& loop) const; ///< the frame that runs the loop now
    int64_t staticSteps(GraphId graph) const;

    const Model& m_model;
    RunFacts m_facts;
    SideSource m_sides;
    std::map<std::string, int> m_frames; ///< canonical address of the invocation → depth
    mutable std::map<int32_t, int64_t> m_steps;
    std::unique_ptr<Node> m_root;
};

} // namespace loopscope::viewer
