// Two runs that tests of the Compare task hold against each other, with the panels that show them.
#pragma once

#include "tests/unit/viewer/text_backend.h"
#include "viewer/compare/compare_pane.h"
#include "viewer/compare/compare_panels.h"
#include "viewer/compare/differences_model.h"
#include "viewer/compare/error_strip.h"

#include <QHBoxLayout>
#include <QJsonArray>

namespace loopscope::viewer::testing {

/// A loop of n rounds between two operators; the sides differ in a factor, in one element, and in an operator that only B has.
inline constexpr const char* kSideA = R"(
graph main(x: f32[4], n: i32[]) {
  w = const f32[4] [1.0, 1.0, 1.0, 1.0]
  zero = const i32[] 0
  first = add(x, w) : f32[4]
  scaled = mul(first, w) : f32[4]
  i, s, m = while(zero, scaled, n) cond=@cond body=@body : (i32[], f32[4], i32[])
  last = neg(s) : f32[4]
  return last
}
graph cond(i: i32[], s: f32[4], n: i32[]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], s: f32[4], n: i32[]) {
  one = const i32[] 1
  factor = const f32[] 2.0
  next = add(i, one) : i32[]
  grown = mul(s, factor) : f32[4]
  return next, grown, n
}
)";
inline constexpr const char* kSideB = R"(
graph main(x: f32[4], n: i32[]) {
  w = const f32[4] [1.0, 1.0, 1.0, 1.0]
  v = const f32[4] [1.0, 1.0, 1.5, 1.0]
  zero = const i32[] 0
  first = add(x, w) : f32[4]
  extra = abs(first) : f32[4]
  scaled = mul(extra, v) : f32[4]
  i, s, m = while(zero, scaled, n) cond=@cond body=@body : (i32[], f32[4], i32[])
  last = neg(s) : f32[4]
  return last
}
graph cond(i: i32[], s: f32[4], n: i32[]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], s: f32[4], n: i32[]) {
  one = const i32[] 1
  factor = const f32[] 2.125
  next = add(i, one) : i32[]
  grown = mul(s, factor) : f32[4]
  return next, grown, n
}
)";

/// A debugger that knows `start` and `drift`.
class CompareBackend : public TextBackend {
public:
    CompareBackend(const char* here, std::vector<Array> inputs, const char* there, std::vector<Array> inputsThere)
        : TextBackend(textModel(here), std::move(inputs)),
          m_other(textModel(there))
    {
        ExecutionOptions options;
        options.keepAll = true;
        auto executor = makeExecutor(m_other, GraphId(0), options);
        if (!executor.ok()) qFatal("%s", executor.error().message().c_str());
        for (size_t i = 0; i < inputsThere.size(); ++i)
            if (!(*executor)->setInput(static_cast<int>(i), inputsThere[i].view()).ok()) qFatal("input %zu", i);
        auto made =
            referenceToRun("other.lsir", std::move(executor).value(), model(), GraphId(0), Tolerance{Tolerance::Close{}, {}, {}}, nullptr);
        if (!made.ok()) qFatal("%s", made.error().message().c_str());
        m_reference = std::move(made).value();
    }
    bool execute(std::string_view line, const std::function<void(const ConsoleEvent&)>& sink) override
    {
        if (line != "drift") return TextBackend::execute(line, sink);
        lines.emplace_back(line);
        Result<Drift> drift = session().call([&](Debugger& debugger) { return collectDrift(debugger.target(), *m_reference); });
        if (!drift.ok()) qFatal("%s", drift.error().message().c_str());
        m_drift = std::make_shared<const Drift>(std::move(drift).value());
        return true;
    }
    ComparedRun compared() const override
    {
        return {.reference = m_reference,
                .root = GraphId(0),
                .path = "other.lsir",
                .labelsHere = labels,
                .labelsThere = nullptr,
                .drift = m_drift};
    }

    std::shared_ptr<const std::vector<std::string>> labels; ///< of the classes of A

private:
    Model m_other;
    std::shared_ptr<Reference> m_reference;
    std::shared_ptr<const Drift> m_drift;
};

inline std::vector<Array> inputsOf(int32_t rounds) { return {arrayOf<float>(Shape{4}, {1, 2, 3, 4}), arrayOf<int32_t>(Shape{}, {rounds})}; }

struct Sides {
    explicit Sides(int32_t rounds = 3, int32_t roundsThere = 3, const char* there = kSideB)
        : Sides(kSideA, inputsOf(rounds), there, inputsOf(roundsThere))
    {
    }
    Sides(const char* here, std::vector<Array> inputs, const char* there, std::vector<Array> inputsThere)
    {
        auto made = std::make_unique<CompareBackend>(here, std::move(inputs), there, std::move(inputsThere));
        backend = made.get();
        document = std::make_unique<Document>(std::move(made));
        window = std::make_unique<QWidget>();
        window->resize(1280, 900); // every row in view
        auto* const row = new QHBoxLayout(window.get());
        row->setContentsMargins(0, 0, 0, 0);
        a = static_cast<ComparePane*>(makeCompareAPanel(*document));
        strip = makeErrorStripPanel(*document);
        b = static_cast<ComparePane*>(makeCompareBPanel(*document));
        differences = makeDifferencesPanel(*document);
        for (Panel* const panel : {static_cast<Panel*>(a), strip, static_cast<Panel*>(b), differences})
            row->addWidget(panel, panel == differences ? 2 : 1);
        window->show();
    }
    CompareDesk& desk() { return CompareDesk::of(*document); }
    void compare()
    {
        desk().compare();
        QTRY_VERIFY_WITH_TIMEOUT(document->bridge().settled() && desk().drift() && desk().scenes() && !desk().isBusy(), 20000);
        QTest::qWait(10);
    }
    ErrorStrip& bars() { return *strip->findChild<ErrorStrip*>("compareStrip"); }
    /// The bar of an operator; empty: none in view.
    QJsonObject bar(const QString& address)
    {
        for (const QJsonValue& one : bars().describe()["bars"].toArray())
            if (one["address"].toString() == address) return one.toObject();
        return {};
    }
    QStringList states(ComparePane& pane, const QString& id)
    {
        QStringList all;
        for (const QJsonValue& one : pane.canvas().describe()["nodes"].toArray())
            if (one["id"].toString() == id)
                for (const QJsonValue& state : one["states"].toArray()) all.append(state.toString());
        return all;
    }
    std::string selected() { return desk().selected(CompareSide::here).empty() ? "" : desk().selected(CompareSide::here).front(); }

    CompareBackend* backend = nullptr;
    std::unique_ptr<Document> document;
    std::unique_ptr<QWidget> window;
    ComparePane *a = nullptr, *b = nullptr;
    Panel *strip = nullptr, *differences = nullptr;

    ~Sides() { window.reset(); } // before what they show
};

} // namespace loopscope::viewer::testing
