// A recording of a TensorFlow graph with v1 control flow, as the dataflow executor asks for it: its frames interleave, so their order and
// their dead tokens come from the recorded events.
#pragma once

#include "app/replay/recorded_values.h"
#include "app/replay/recording_file.h"
#include "engine/exec/recorded_results.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace loopscope::app {

class RecordedDataflow final : public RecordedResults {
public:
    explicit RecordedDataflow(RecordingFile file) : m_file(std::move(file)), m_values(m_file.model, *m_file.run) {}

    const Model& model() const override { return m_file.model; }
    GraphId root() const override { return m_file.root; }
    InvocationId firstInvocation() const override;
    Step steps() const override { return m_file.run->run().steps(); }
    Result<std::optional<RecordedNode>> node(Step step) const override;
    Result<std::optional<InvocationStart>> invocation(InvocationId id) const override;
    RecordedResult result(Step step, int32_t slot) override;
    Error ending(const std::string& address) const override { return recordingEnds(m_file.run->run(), address); }
    void movedOn() override { m_values.drop(); }

private:
    RecordingFile m_file;
    RecordedValues m_values;
    mutable std::unordered_map<InvocationId, std::optional<InvocationStart>> m_invocations; ///< that were asked for lately
};

} // namespace loopscope::app
