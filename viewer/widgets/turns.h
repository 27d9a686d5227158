// Work that waits for another turn of the event loop, so that none of them is long.
#pragma once

#include <QTimer>

#include <utility>

namespace loopscope::viewer {

/// `work` in a turn of its own, unless `context` is gone by then.
template <typename Work> void afterThisTurn(QObject* context, Work work)
{
    auto* const turn = new QTimer(context);
    turn->setSingleShot(true);
    QObject::connect(turn, &QTimer::timeout, turn, &QObject::deleteLater);
    QObject::connect(turn, &QTimer::timeout, context, std::move(work));
    turn->start(1); // after 0 it would be the same turn
}

} // namespace loopscope::viewer
