// A model of which only a part could be read: what is wrong with its file. Backends of such models are this, too; they can be looked at,
// and refuse to run.
#pragma once

#include <string>
#include <vector>

namespace loopscope::viewer {

struct FileFault {
    std::string text;  ///< "subgraphs[0].operators[3]: table at 0x27d0, file ends at 0x2000"
    std::string where; ///< in the file, "at 0x34"; empty: not known
};

class Partial {
public:
    virtual ~Partial() = default;
    /// Empty: the file is whole.
    virtual const std::vector<FileFault>& faults() const = 0;
};

class Document;
/// Of the model that is open; empty: its file is whole.
std::vector<FileFault> faultsOf(Document& document);

} // namespace loopscope::viewer
