// CPU kernel of PosenetDecoderOp: libcoral's coral/pose_estimation/posenet_decoder.cc, after Papandreou et al., "PersonLab", 2018. Places
// are y before x, in cells of the operands until the end.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/registry.h"
#include "engine/ops/image/pose_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

using namespace loopscope;

namespace {

struct Place {
    float y = 0, x = 0;
};
using Pose = std::array<Place, kPoseKeypoints>;
using Scores = std::array<float, kPoseKeypoints>;

struct Candidate {
    Place place;
    int keypoint = 0;
    float score = 0;
    bool operator<(const Candidate& o) const { return score < o.score; }
};
using Candidates = std::priority_queue<Candidate>;

/// Edge k of the skeleton goes from the first to the second; backwards it is number k + kPoseEdges.
constexpr std::array<std::pair<int, int>, kPoseEdges> kSkeleton = {{{0, 1},
                                                                    {1, 3},
                                                                    {0, 2},
                                                                    {2, 4},
                                                                    {0, 5},
                                                                    {5, 7},
                                                                    {7, 9},
                                                                    {5, 11},
                                                                    {11, 13},
                                                                    {13, 15},
                                                                    {0, 6},
                                                                    {6, 8},
                                                                    {8, 10},
                                                                    {6, 12},
                                                                    {12, 14},
                                                                    {14, 16}}};

/// An operand as real numbers [H,W,C].
struct Map {
    std::vector<float> values;
    int64_t height = 0, width = 0, channels = 0;

    static Map of(const Tensor& tensor, double scale)
    {
        Map map{std::vector<float>(static_cast<size_t>(tensor.elementCount())), tensor.shape[1], tensor.shape[2], tensor.shape[3]};
        if (tensor.dtype == DType::f32) {
            const auto factor = static_cast<float>(scale);
            std::transform(tensor.as<float>(), tensor.as<float>() + map.values.size(), map.values.begin(),
                           [=](float value) { return value * factor; });
            return map;
        }
        const ScaleAndZero q = scaleAndZero(tensor);
        const auto zero = static_cast<float>(q.zero);
        const float factor = q.scale * static_cast<float>(scale);
        std::transform(tensor.as<uint8_t>(), tensor.as<uint8_t>() + map.values.size(), map.values.begin(),
                       [=](uint8_t value) { return (static_cast<float>(value) - zero) * factor; });
        return map;
    }
    float at(int64_t y, int64_t x, int channel) const { return values[static_cast<size_t>((y * width + x) * channels + channel)]; }
    Place clamped(float y, float x) const
    {
        return {std::clamp(y, 0.0F, static_cast<float>(height) - 1), std::clamp(x, 0.0F, static_cast<float>(width) - 1)};
    }
    /// Between the four cells around a place.
    float sample(Place place, int channel) const
    {
        const auto cell = [](float value, int64_t count) { // of no number the first one
            return static_cast<int64_t>(value >= 0 ? std::min(value, static_cast<float>(count) - 1) : 0.0F);
        };
        const auto next = [](int64_t floor, float value, int64_t count) {
            return floor + (static_cast<float>(floor) < value && floor + 1 < count ? 1 : 0);
        };
        const int64_t top = cell(place.y, height), left = cell(place.x, width);
        const int64_t bottom = next(top, place.y, height), right = next(left, place.x, width);
        const float y = place.y - static_cast<float>(top), x = place.x - static_cast<float>(left);
        return (1 - y) * ((1 - x) * at(top, left, channel) + x * at(top, right, channel)) +
               y * ((1 - x) * at(bottom, left, channel) + x * at(bottom, right, channel));
    }
    /// The place, moved by the two channels there.
    Place moved(Place place, int channelY, int channelX) const
    {
        return clamped(place.y + sample(place, channelY), place.x + sample(place, channelX));
    }
};

float squaredDistance(Place a, Place b)
{
    const float y = b.y - a.y, x = b.x - a.x;
    return y * y + x * x;
}

/// Numbers of scores, the largest first; what is no number comes last.
template <typename List> std::vector<int> byScore(const List& scores)
{
    std::vector<int> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](int i) {
        const float score = scores[static_cast<size_t>(i)];
        return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
    };
    std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) > key(b); });
    return order;
}

class Decoder {
public:
    Decoder(const KernelArgs& args, const PoseOptions& options)
        : m_options(options),
          m_scores(Map::of(args.in(0), 1)),
          m_short(Map::of(args.in(1), 1.0 / static_cast<double>(options.stride))),
          m_edges(Map::of(args.in(2), 1.0 / static_cast<double>(options.stride))),
          m_radius(options.radius / static_cast<float>(options.stride))
    {
    }

    /// Poses whose scores reach the threshold, the best first.
    void run()
    {
        Candidates candidates = peaks();
        while (static_cast<int64_t>(m_poses.size()) < m_options.most && !candidates.empty()) {
            interruptionPoint();
            const Candidate root = candidates.top();
            candidates.pop();
            if (isTaken(root)) continue;
            Pose pose;
            pose.fill({-1, -1});
            Scores scores;
            scores.fill(-1e5F);
            follow(root, pose, scores);
            for (float& score : scores) score = 1.0F / (1.0F + std::exp(-score));
            float sum = 0;
            for (const int k : byScore(scores)) sum += scores[static_cast<size_t>(k)];
            sum /= kPoseKeypoints;
            if (!(sum >= m_options.threshold)) continue;
            m_poses.push_back(pose);
            m_keyScores.push_back(scores);
            m_sums.push_back(sum);
        }
        weigh();
    }

    int64_t write(const KernelArgs& args) const
    {
        int64_t count = 0;
        const auto stride = static_cast<float>(m_options.stride);
        auto *places = args.out(0).as<float>(), *scores = args.out(1).as<float>();
        for (int k = 0; k < 4; ++k) std::fill_n(args.out(k).as<float>(), args.out(k).elementCount(), 0.0F);
        for (const int pose : byScore(m_sums)) {
            const auto i = static_cast<size_t>(pose);
            if (!(m_sums[i] >= m_options.threshold)) break;
            for (const Place& place : m_poses[i]) {
                *places++ = place.y * stride;
                *places++ = place.x * stride;
            }
            scores = std::ranges::copy(m_keyScores[i], scores).out;
            args.out(2).as<float>()[count++] = m_sums[i];
        }
        *args.out(3).as<float>() = static_cast<float>(count);
        return count;
    }

private:
    /// Key points that score at least as well as all around them.
    Candidates peaks() const
    {
        const float least = -static_cast<float>(std::log(1.0F / (static_cast<double>(m_options.threshold) + 1e-6) - 1.0F));
        Candidates candidates;
        LoopPace pace;
        for (int64_t y = 0; y < m_scores.height; ++y)
            for (int64_t x = 0; x < m_scores.width; ++x)
                for (int k = 0; k < kPoseKeypoints; ++k) {
                    const float score = m_scores.at(y, x, k);
                    pace.did(9);
                    if (!(score >= least) || !isPeak(y, x, k, score)) continue;
                    const Place place = m_scores.clamped(static_cast<float>(y) + m_short.at(y, x, k),
                                                         static_cast<float>(x) + m_short.at(y, x, k + kPoseKeypoints));
                    candidates.push({place, k, score});
                }
        return candidates;
    }
    bool isPeak(int64_t y, int64_t x, int k, float score) const
    {
        for (int64_t v = std::max<int64_t>(y - 1, 0); v < std::min(y + 2, m_scores.height); ++v)
            for (int64_t u = std::max<int64_t>(x - 1, 0); u < std::min(x + 2, m_scores.width); ++u)
                if (m_scores.at(v, u, k) > score) return false;
        return true;
    }
    bool isTaken(const Candidate& root) const
    {
        return std::ranges::any_of(m_poses, [&](const Pose& pose) {
            return squaredDistance(root.place, pose[static_cast<size_t>(root.keypoint)]) <= m_radius * m_radius;
        });
    }

    /// From key point to key point along the skeleton, the best first.
    void follow(const Candidate& root, Pose& pose, Scores& scores) const
    {
        std::array<bool, kPoseKeypoints> done = {};
        Candidates open;
        open.push({root.place, root.keypoint, m_scores.sample(root.place, root.keypoint)});
        while (!open.empty()) {
            const Candidate now = open.top();
            open.pop();
            const auto at = static_cast<size_t>(now.keypoint);
            if (done[at]) continue;
            done[at] = true;
            pose[at] = now.place;
            scores[at] = now.score;
            for (int edge = 0; edge < 2 * kPoseEdges; ++edge) {
                const bool isForward = edge < kPoseEdges;
                const auto& [from, to] = kSkeleton[static_cast<size_t>(edge % kPoseEdges)];
                const int child = isForward ? to : from;
                if ((isForward ? from : to) != now.keypoint || done[static_cast<size_t>(child)]) continue;
                const int channel = isForward ? edge : edge + kPoseEdges; // forward y, forward x, backward y, backward x
                Place place = m_edges.moved(now.place, channel, channel + kPoseEdges);
                constexpr int kRefinements = 5;
                for (int step = 0; step < kRefinements; ++step) place = m_short.moved(place, child, child + kPoseKeypoints);
                open.push({place, child, m_scores.sample(place, child)});
            }
        }
    }

    /// Scores anew: what lies where a better pose has the same key point does not count.
    void weigh()
    {
        const std::vector<int> order = byScore(m_sums);
        for (size_t i = 0; i < order.size(); ++i) {
            const auto now = static_cast<size_t>(order[i]);
            std::array<bool, kPoseKeypoints> hidden = {};
            for (size_t j = 0; j < i; ++j)
                for (size_t k = 0; k < hidden.size(); ++k)
                    if (squaredDistance(m_poses[now][k], m_poses[static_cast<size_t>(order[j])][k]) <= m_radius * m_radius)
                        hidden[k] = true;
            float sum = 0;
            for (const int k : byScore(m_keyScores[now]))
                if (!hidden[static_cast<size_t>(k)]) sum += m_keyScores[now][static_cast<size_t>(k)];
            m_sums[now] = sum / kPoseKeypoints;
            interruptionPoint();
        }
    }

    const PoseOptions& m_options;
    Map m_scores, m_short, m_edges;
    float m_radius;
    std::vector<Pose> m_poses;
    std::vector<Scores> m_keyScores;
    std::vector<float> m_sums;
};

/// Each place belongs to the person whose key points lie nearest to where the place says that they are.
void writeMasks(const KernelArgs& args, const PoseOptions& options, int64_t count)
{
    const Map map = Map::of(args.in(3), 1.0 / static_cast<double>(options.stride));
    auto* masks = args.out(4).as<float>();
    std::fill_n(masks, args.out(4).elementCount(), 0.0F);
    const auto* poses = args.out(0).as<float>();
    const auto stride = static_cast<float>(options.stride);
    LoopPace pace;
    for (int64_t y = 0; count > 0 && y < map.height; ++y)
        for (int64_t x = 0; x < map.width; ++x) {
            Pose embedding;
            for (int k = 0; k < kPoseKeypoints; ++k) {
                Place place{static_cast<float>(y), static_cast<float>(x)};
                constexpr int kSteps = 3; // one, and two that refine it
                for (int step = 0; step < kSteps; ++step) place = map.moved(place, k, k + kPoseKeypoints);
                embedding[static_cast<size_t>(k)] = {place.y * stride, place.x * stride};
            }
            int64_t best = 0;
            float least = 0;
            for (int64_t pose = 0; pose < count; ++pose) {
                float distance = 0;
                for (int k = 0; k < kPoseKeypoints; ++k) {
                    const float* at = poses + 2 * (pose * kPoseKeypoints + k);
                    distance += squaredDistance(embedding[static_cast<size_t>(k)], {at[0], at[1]});
                }
                if (pose > 0 && !(distance < least)) continue;
                least = distance;
                best = pose;
            }
            masks[(best * map.height + y) * map.width + x] = 1;
            pace.did(64 * (count + 4));
        }
}

Status runPoses(const KernelArgs& args)
{
    const auto& options = args.paramsAs<PoseOptions>();
    Decoder decoder(args, options);
    decoder.run();
    const int64_t count = decoder.write(args);
    if (args.outputCount > 4) writeMasks(args, options, count);
    return {};
}

Result<PreparedKernel> preparePoses(const KernelSetup& setup)
{
    const auto options = PoseOptions::from(setup.attributes());
    if (!options) return Error(ErrorCode::badFile, "C2: the options are not those of poses");
    return PreparedKernel{runPoses, std::make_shared<PoseOptions>(*options)};
}

} // namespace

LS_DEFINE_KERNELS(custom, PosenetDecoderOp) { registry.add({"custom", "PosenetDecoderOp", Profile::reference, preparePoses, "f32 u8"}); }
