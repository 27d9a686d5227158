// One connection of every rank to rank 0 on which nothing is said but goodbye: a process that dies, on this machine or another, closes it
// at once. MPI itself tells nobody.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope {

/// Not thread-safe.
class Lifelines {
public:
    Lifelines() = default;
    Lifelines(const Lifelines&) = delete;
    Lifelines& operator=(const Lifelines&) = delete;
    ~Lifelines();

    /// Rank 0: listens for `size` − 1 others. `isLocal`: all are on this machine. What they need to know is in the result.
    Result<std::string> offer(int32_t size, bool isLocal);
    /// Rank 0: waits until all are connected, or for so long; those that did not come count as there.
    void accept(int64_t ns);
    /// Others. Errors: execution, if rank 0 cannot be reached.
    Status connect(const std::string& offered, int32_t rank);
    /// Whether that rank's process has ended without a goodbye; of another rank than 0 only rank 0 knows.
    bool isLost(int32_t rank);
    /// This process ends as it should. Rank 0 says, too, whether all ranks have been there to the end.
    void sayGoodbye(bool isWhole);
    /// Others than rank 0: waits until it says so, or for so long. False: a rank was lost, or rank 0 says nothing.
    bool hearsThatAllLeave(int64_t ns);

private:
    enum class End : uint8_t { open, left, lost };
    struct Line {
        int socket = -1;
        End end = End::open;
        bool leavesWhole = false; ///< it left, and all ranks were there to the end
    };
    static void leave(Line& line, char said);

    int m_listener = -1;
    std::string m_token;
    std::vector<Line> m_lines; ///< rank 0: by rank; others: [0]
};

} // namespace loopscope
