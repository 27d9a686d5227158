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

/// A session that is held against another run.
class CompareBackend : public TextBackend {
public:
    CompareBackend(const char* here, std::vector<Array> inputs, const char* there, std::vector<Array> inputsThere)
        : CompareBackend(here, inputs, std::make_shared<const Model>(textModel(there)), inputsThere)
    {
    }
    ComparedRun compared() const override
    {
        return {.reference = session().reference(),
                .root = GraphId(0),
                .path = "other.lsir",
                .labelsHere = labels,
                .labelsThere = nullptr,
                .drift = session().drift()};
    }

    std::shared_ptr<const std::vector<std::string>> labels; ///< of the classes of A

private:
    CompareBackend(const char* here, const std::vector<Array>& inputs, const std::shared_ptr<const Model>& other,
                   const std::vector<Array>& inputsThere)
        : TextBackend(textModel(here), inputs, true,
                      [other, inputsThere](DebugSubject& subject) {
                          subject.reference = [other, inputsThere, model = subject.model](const auto&, const auto*) {
                              return referenceOf(*other, inputsThere, *model);
                          };
                      }),
          m_other(other)
    {
        if (const Status attached = session().attachReference(); !attached.ok()) qFatal("%s", attached.detail().what.c_str());
        static_cast<void>(session().removeBreakpoint().ok()); // runs are not to stop where they differ
    }
    static Result<std::unique_ptr<Reference>> referenceOf(const Model& other, const std::vector<Array>& inputs, const Model& model)
    {
        ExecutionOptions options;
        options.keepAll = true;
        LS_TRY(std::unique_ptr<Executor> executor, makeExecutor(other, GraphId(0), options));
        for (size_t i = 0; i < inputs.size(); ++i) LS_CHECK_OK(executor->setInput(static_cast<int>(i), inputs[i].view()));
        return referenceToRun("other.lsir", std::move(executor), model, GraphId(0), Tolerance{Tolerance::Close{}, {}, {}}, nullptr);
    }

    std::shared_ptr<const Model> m_other;
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
