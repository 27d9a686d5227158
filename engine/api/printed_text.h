// What models print (TensorFlow's Print and PrintV2), kept until somebody tells it.
#pragma once

#include "engine/ir/model.h"
#include "engine/observe/execution_observer.h"

#include <cstddef>
#include <mutex>
#include <string>

namespace loopscope {

/// Whether a graph of the model has an operator that prints.
bool canPrint(const Model& model);

/// The engine's thread writes, another one reads.
class PrintedKeeper final : public ExecutionObserver {
public:
    void printed(const PrintedText& event) override;
    std::string take();

private:
    static constexpr size_t kMost = 1 << 20; ///< bytes that are kept until take()
    std::mutex m_mutex;
    std::string m_text;
};

} // namespace loopscope
