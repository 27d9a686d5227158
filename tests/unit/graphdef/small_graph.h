// Short ways to messages and models for the tests of TensorFlow files.
#pragma once

#include "converters/graphdef/graphdef.h"
#include "engine/ir/model.h"
#include "graph.pb.h"
#include "meta_graph.pb.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace loopscope {

/// The message of a text; the test fails if it is none.
template <typename M> M messageOf(const std::string& text)
{
    M message;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
    return message;
}

inline Bytes bytesOf(const std::string& content) { return Bytes::copyOf(content.data(), content.size()); }

template <typename M> Result<Model> importMessage(const M& message) { return importGraphDef("m.pb", bytesOf(message.SerializeAsString())); }

/// The model of a GraphDef in text form.
inline Model modelOf(const std::string& text)
{
    auto model = importMessage(messageOf<tfpb::GraphDef>(text));
    EXPECT_TRUE(model.ok()) << model.error().message();
    return model.ok() ? std::move(model).value() : Model();
}

/// Why a GraphDef in text form is refused.
inline std::string refusalOf(const std::string& text)
{
    const auto model = importMessage(messageOf<tfpb::GraphDef>(text));
    return model.ok() ? "opens" : model.error().message();
}

/// The message that comes out again.
inline tfpb::GraphDef exported(const Model& model)
{
    tfpb::GraphDef message;
    const auto written = exportGraphDef(model);
    EXPECT_TRUE(written.ok()) << written.error().message();
    if (written.ok()) {
        EXPECT_TRUE(message.ParseFromString(*written));
    }
    return message;
}

} // namespace loopscope
