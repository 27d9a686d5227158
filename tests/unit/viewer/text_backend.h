// A backend whose inputs are arrays, and what tests of panels do with it.
#pragma once

#include "tests/unit/viewer/session_backend.h"

#include <QTest>

#include <cstring>
#include <string>
#include <vector>

namespace loopscope::viewer::testing {

class TextBackend : public SessionBackend {
public:
    TextBackend(Model model, const std::vector<Array>& inputs, bool keepAll = true, const std::function<void(DebugSubject&)>& complete = {})
        : SessionBackend(std::move(model), keepAll, complete)
    {
        for (size_t i = 0; i < inputs.size(); ++i) give(session().target().inputs[i].name, inputs[i]);
    }
    const TraceReader* trace() const override { return reader; }

    const TraceReader* reader = nullptr;
};

inline Model textModel(const char* text)
{
    Result<Model> model = loopscope::modelFromText(text, "test.lsir");
    if (!model.ok()) qFatal("%s", model.error().message().c_str());
    return std::move(model).value();
}

template <typename T> Array arrayOf(Shape shape, const std::vector<T>& values)
{
    Array array;
    array.dtype = dtypeOf<T>();
    array.shape = std::move(shape);
    array.bytes.resize(values.size() * sizeof(T));
    std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
    return array;
}

/// Executes a line and waits until the bridge and the questions that followed are done.
inline void executeAndSettle(Document& document, const QString& line)
{
    document.execute(line);
    QTRY_VERIFY_WITH_TIMEOUT(!document.bridge().busy(), 20000);
    QTest::qWait(20);
}

} // namespace loopscope::viewer::testing
