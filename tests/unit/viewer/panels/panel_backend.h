// A backend whose inputs have sources, of which one number fills all elements.
#pragma once

#include "tests/unit/viewer/session_backend.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace loopscope::viewer {

class PanelBackend : public testing::SessionBackend {
public:
    PanelBackend(Model model, std::map<std::string, std::string> sources) : SessionBackend(std::move(model)), m_sources(std::move(sources))
    {
    }

    std::string path() const override { return "models/test.lsir"; }
    std::string contentHash() const override { return "0123"; }

    std::vector<InputPort> inputs() const override
    {
        std::vector<InputPort> all;
        for (const ValueId id : ports()) {
            const Value& value = model().graphs.front().value(id);
            InputPort port{
                value.id, std::string(dtypeName(value.type.dtype)) + toString(value.type.shape), value.type.dtype, value.type.shape, "",
                ""};
            if (const auto found = m_sources.find(value.id); found != m_sources.end()) port.source = found->second;
            all.push_back(std::move(port));
        }
        return all;
    }
    void setInput(std::string_view name, std::string_view source) override { m_sources[std::string(name)] = source; }
    Result<Array> previewInput(std::string_view name, std::string_view source) const override
    {
        for (const ValueId id : ports()) {
            const Value& value = model().graphs.front().value(id);
            if (value.id != name) continue;
            if (source.starts_with('[') && value.type.shape.rank() == 0)
                return Error(ErrorCode::usage, "wrong shape").found("i32[2]").expected("i32[]");
            // One number for all elements; a seed gives itself.
            const double number = std::stod(std::string(source.starts_with('@') ? source.substr(1) : source));
            Array array;
            array.dtype = value.type.dtype;
            array.shape = value.type.shape;
            if (source.find(":[") != std::string_view::npos)
                array.shape = Shape{std::stol(std::string(source.substr(source.find(":[") + 2)))};
            const auto put = [&](auto element) {
                for (int64_t i = 0; i < array.shape.elementCount(); ++i) {
                    array.bytes.resize(array.bytes.size() + sizeof element);
                    std::memcpy(array.bytes.data() + array.bytes.size() - sizeof element, &element, sizeof element);
                }
            };
            if (array.dtype == DType::f32) put(static_cast<float>(number));
            else put(static_cast<int32_t>(number));
            return array;
        }
        return Error(ErrorCode::usage, "no such input").at(name);
    }

    bool perform(const Request& request, const ConsoleSink& sink) override
    {
        if (const auto* const given = std::get_if<request::GiveInput>(&request)) {
            const size_t equals = given->text.find('=');
            m_sources[given->text.substr(0, equals)] = given->text.substr(equals + 1);
            return true;
        }
        if (std::holds_alternative<request::Begin>(request))
            for (const ValueId id : ports()) {
                const std::string& name = model().graphs.front().value(id).id;
                const Result<Array> array = previewInput(name, m_sources[name]);
                if (!array.ok()) {
                    const std::string message = array.error().message();
                    sink({ConsoleEvent::Kind::error, "error: " + message + "\n", message});
                    return false;
                }
                give(name, *array);
            }
        return SessionBackend::perform(request, sink);
    }
    std::vector<std::string> complete(std::string_view line) const override
    {
        std::vector<std::string> words;
        for (const char* word : {"lastchange", "lastwrite", "list"})
            if (std::string_view(word).starts_with(line)) words.emplace_back(word);
        return words;
    }

private:
    const std::vector<ValueId>& ports() const { return model().graphs.front().inputs; }

    std::map<std::string, std::string> m_sources;
};

/// A file of the samples; `inputs`: "x=27".
inline std::unique_ptr<Document> openFile(const std::string& path, const std::vector<std::string>& inputs)
{
    std::ifstream file(path);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    constexpr std::string_view fed = "n = Placeholder() dtype=i32 shape=shape[]"; // what a session would cut away and feed
    if (const size_t at = text.find(fed); at != std::string::npos && !inputs.empty())
        text.replace(at, fed.size(), "n = Const() dtype=i32 value=i32[] " + inputs.front().substr(inputs.front().find('=') + 1));
    Result<Model> model = loopscope::modelFromText(text, path);
    if (!model.ok()) qFatal("%s", model.error().message().c_str());
    std::map<std::string, std::string> sources;
    for (const std::string& input : inputs) sources[input.substr(0, input.find('='))] = input.substr(input.find('=') + 1);
    return std::make_unique<Document>(std::make_unique<PanelBackend>(std::move(model).value(), std::move(sources)));
}

} // namespace loopscope::viewer
