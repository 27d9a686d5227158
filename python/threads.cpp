#include "python/threads.h"

#include "python/arrays.h"

#include <array>
#include <csignal>

namespace loopscope {

namespace {

struct Listener {
    std::atomic<CancelFlag*> flag = nullptr;
    std::atomic<bool> wasHit = false;
};
std::array<Listener, 64> listeners;
std::mutex listening; ///< guards the two below
int listenerCount = 0;
struct sigaction pythonAction = {};

extern "C" void interruptRuns(int)
{
    for (Listener& one : listeners)
        if (CancelFlag* const flag = one.flag.load()) {
            one.wasHit.store(true);
            flag->request();
        }
}

} // namespace

Interruptible::Interruptible(CancelFlag& flag)
{
    const std::lock_guard lock(listening);
    for (size_t k = 0; k < listeners.size() && m_place < 0; ++k)
        if (listeners[k].flag.load() == nullptr) m_place = static_cast<int>(k);
    if (m_place < 0) return;
    Listener& own = listeners[static_cast<size_t>(m_place)];
    own.wasHit.store(false);
    own.flag.store(&flag);
    if (listenerCount++ > 0) return;
    struct sigaction action = {};
    action.sa_handler = interruptRuns;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &pythonAction);
}

Interruptible::~Interruptible()
{
    if (m_place < 0) return;
    const std::lock_guard lock(listening);
    if (--listenerCount == 0) sigaction(SIGINT, &pythonAction, nullptr);
    listeners[static_cast<size_t>(m_place)].flag.store(nullptr);
}

bool Interruptible::wasHit() const { return m_place >= 0 && listeners[static_cast<size_t>(m_place)].wasHit.load(); }

Turn::Turn(Lock& lock) : m_lock(lock)
{
    if (lock.owner.load() == std::this_thread::get_id())
        fail(Error(ErrorCode::usage, "it is in use by a call that has not returned, further up on this thread"));
    if (!lock.mutex.try_lock()) {
        const py::gil_scoped_release released;
        lock.mutex.lock();
    }
    lock.owner.store(std::this_thread::get_id());
}

Turn::~Turn()
{
    m_lock.owner.store(std::thread::id());
    m_lock.mutex.unlock();
}

} // namespace loopscope
