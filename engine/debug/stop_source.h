// What expressions read at a stop: the frame that was chosen, and by travelling there the past, other iterations and the reference run.
// Private to this folder.
#pragma once

#include "engine/debug/evaluate.h"
#include "engine/debug/history/place_search.h"
#include "engine/debug/live_source.h"

#include <cstddef>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace loopscope {

/// How far prev(x, n) may go back at a stop.
inline constexpr int64_t kMostKept = 100'000;

/// Everything that it hands out stays valid as long as it lives: where an expression looks at the past, which moves the executor, values
/// are copied before they are used.
class StopSource final : public LiveSource {
public:
    /// `texts`: all that will be evaluated.
    StopSource(const DebugTarget& target, FrameContext frame, ReferenceValues* reference, std::initializer_list<std::string_view> texts)
        : LiveSource(target, frame),
          m_reference(reference)
    {
        for (const std::string_view text : texts) m_travels = m_travels || mayTravel(text);
    }

    Status checkFarHistory(uint32_t, std::optional<int64_t>) override { return {}; }
    Status checkReference(uint32_t place) override;

    Result<const Tensor*> current(uint32_t place) override;
    Result<const Tensor*> previous(uint32_t place, int64_t back) override;
    Result<const Tensor*> atIteration(uint32_t place, int64_t iteration, std::optional<uint32_t> loop) override;
    Result<const Tensor*> first(uint32_t place) override;
    Result<const Tensor*> reference(uint32_t place) override;
    Result<bool> changed(uint32_t place) override;

    /// Why current() has nothing.
    Absence absenceOf(uint32_t place) const;
    /// Bytes behind a tensor that it handed out.
    std::shared_ptr<const std::vector<std::byte>> bytesOf(const Tensor& tensor) const;

protected:
    std::optional<int64_t> finishedTrips(uint32_t loop, int depth) override;
    Step writeStep(uint32_t place) override;
    Result<const Tensor*> elsewhere(uint32_t place) override;

private:
    struct Copy {
        Tensor tensor;
        std::shared_ptr<std::vector<std::byte>> bytes;
        Step step = -1;
    };
    const Tensor* keep(const Tensor& tensor, Step step = -1);
    Result<const Tensor*> keep(Result<std::optional<KeptWrite>> found);
    Result<const Tensor*> previousOrFirst(uint32_t place, int64_t back);
    std::vector<PathStep> pathTo(const LivePlace& place) const;

    /// Whether evaluating may go somewhere else, by the words that stand in it; rather too often than too seldom.
    static bool mayTravel(std::string_view text);

    ReferenceValues* m_reference;
    bool m_travels = false;
    std::deque<Copy> m_copies;
    std::map<uint32_t, const Tensor*> m_current;
    std::map<std::pair<uint32_t, int64_t>, const Tensor*> m_previous;             ///< by how far back; 0: the first
    std::map<std::tuple<uint32_t, int64_t, int64_t>, const Tensor*> m_iterations; ///< by iteration and loop, −1: the innermost
};

} // namespace loopscope
