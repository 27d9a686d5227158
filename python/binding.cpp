// The extension module `_loopscope`: models that are run, sessions that are debugged, and commands of the program, for Python. What users
// see of it is python/loopscope, which is written in Python; here is what needs the engine, with few types and few templates.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/listing.h"
#include "app/terminal/terminal.h"
#include "app/wiring/backend.h"
#include "app/wiring/session.h"
#include "app/wiring/subject.h"
#include "engine/api/inputs/inputs.h"
#include "engine/base/allocation.h"
#include "engine/base/clock.h"
#include "engine/debug/inspect/value_line.h"
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"
#include "engine/exec/make_executor.h"
#include "engine/ir/text/structured.h"
#include "engine/tensor/value_text.h"
#include "python/arrays.h"
#include "python/threads.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace loopscope {
namespace {

PyObject* exceptionOf(const py::module_& module, ErrorCode code)
{
    const char* name = "InternalError";
    switch (code) {
    case ErrorCode::usage: name = "UsageError"; break;
    case ErrorCode::badFile: name = "BadFileError"; break;
    case ErrorCode::unsupported: name = "UnsupportedError"; break;
    case ErrorCode::execution: name = "ExecutionError"; break;
    case ErrorCode::cannotWrite: name = "CannotWriteError"; break;
    case ErrorCode::device: name = "DeviceError"; break;
    case ErrorCode::cancelled: name = "CancelledError"; break;
    case ErrorCode::internal: break;
    }
    return module.attr(name).ptr();
}

// Models.

app::Arguments argumentsOf(const std::string& path, const std::map<std::string, std::vector<std::string>>& options)
{
    app::Arguments arguments;
    if (!path.empty()) arguments.positionals = {path};
    for (const auto& [name, values] : options) {
        if (app::findOption(name) == nullptr) fail(Error(ErrorCode::usage, "unknown option '" + name + "'"));
        arguments.set(name, values);
    }
    return arguments;
}

py::list portList(const std::vector<Port>& ports)
{
    py::list list;
    for (const Port& port : ports) {
        std::vector<int64_t> dims(port.type.shape.dims().begin(), port.type.shape.dims().end());
        const char* const name = numpyName(port.type.dtype);
        list.append(py::make_tuple(port.name, shortType(port.type), name != nullptr ? name : std::string(dtypeName(port.type.dtype)), dims,
                                   port.isRead));
    }
    return list;
}

class PyModel;

/// The memory of an output, whose array keeps it and the model alive.
struct HandedOut {
    py::object model;
    PyModel* keeper;
    MemoryBlock block;
};

class PyModel {
public:
    PyModel(const std::string& path, const std::map<std::string, std::vector<std::string>>& options)
    {
        open(argumentsOf(path, options));
        for (const Port& port : m_subject.target.inputs) m_inputNames.emplace_back(port.name);
        for (const Port& port : m_subject.target.outputs) m_outputNames.emplace_back(port.name);
    }

    void open(const app::Arguments& arguments)
    {
        const py::gil_scoped_release released;
        m_subject = checked(app::openSubject(arguments));
        if (m_subject.isReplay) return;
        // That of the subject keeps every value for questions.
        ExecutionOptions own = checked(app::executionOptions(arguments));
        own.cancel = m_subject.cancel.get();
        own.signature = m_subject.target.signature;
        check(app::giveDevice(own));
        m_subject.executor = checked(makeExecutor(*m_subject.model, m_subject.target.graph, own));
        m_interpreter = dynamic_cast<Interpreter*>(m_subject.executor.get());
    }

    /// The outputs by name. Large arrays are read where they lie, and large outputs are the engine's memory, which it does not touch
    /// again: neither is copied. Small ones are, which is quicker.
    py::dict run(const py::dict& inputs)
    {
        const Turn turn(m_lock);
        // Memory that came back while nobody may count it; more than a run can use goes.
        while (m_spare.size() > m_outputNames.size()) m_spare.pop_back();
        std::deque<py::array> lent; // alive until the run has ended
        Executor& executor = *m_subject.executor;
        if (m_subject.isReplay) fail(Error(ErrorCode::usage, "a recording does not run; open a Session on it"));
        size_t used = 0;
        for (size_t k = 0; k < m_inputNames.size(); ++k) {
            const Port& port = m_subject.target.inputs[k];
            const py::handle given = find(inputs, m_inputNames[k], port);
            if (!given) {
                if (port.isRead) fail(Error(ErrorCode::usage, "missing").at("input '" + port.name + "'").expected(shortType(port.type)));
                continue;
            }
            ++used;
            py::array held;
            Array made;
            if (PyUnicode_Check(given.ptr()) != 0) { // a source as after -i
                made = checked(bindInput(port, py::cast<std::string>(given), m_subject.seed, nullptr));
                check(executor.setInput(port.index, made.view()));
            } else {
                const Tensor tensor = tensorOf(port, given, held, made);
                const bool isLent = m_interpreter != nullptr && port.isRead && tensor.bytes >= kHandedOver && held;
                check(isLent ? m_interpreter->lendInput(port.index, tensor) : executor.setInput(port.index, tensor));
                if (isLent) lent.push_back(std::move(held));
            }
        }
        if (used < inputs.size())
            for (const auto& item : inputs) checked(findInput(m_subject.target, py::cast<std::string>(item.first)));
        const struct Loans { // end with the run, whatever becomes of it
            Interpreter* interpreter;
            ~Loans()
            {
                if (interpreter != nullptr) interpreter->endLoans();
            }
        } loans{lent.empty() ? nullptr : m_interpreter};
        execute(executor);
        py::dict outputs;
        for (size_t k = 0; k < m_outputNames.size(); ++k) outputs[m_outputNames[k]] = outputOf(m_subject.target.outputs[k].index);
        return outputs;
    }

    void takeBack(MemoryBlock block) { m_spare.push_back(std::move(block)); }

    /// Variables and random numbers are as before the first run.
    void reset()
    {
        const Turn turn(m_lock);
        if (m_initial) check(m_subject.executor->restore(*m_initial));
    }

    py::list inputs() const { return portList(m_subject.target.inputs); }
    py::list outputs() const { return portList(m_subject.target.outputs); }
    std::string name() const { return m_subject.name; }
    std::string listing(bool structured) const
    {
        if (structured) return structuredText(structuredView(*m_subject.model));
        std::string text;
        for (const app::ListingLine& line : app::listModel(*m_subject.model, std::nullopt)) text += line.text + "\n";
        return text;
    }

private:
    /// An output as an array: its own copy, or the engine's memory.
    py::object outputOf(int index)
    {
        const Tensor output = m_subject.executor->output(index);
        const char* const name = numpyName(output.dtype);
        if (m_interpreter == nullptr || name == nullptr || output.bytes < kHandedOver) return arrayOf(output);
        auto handed = std::make_unique<HandedOut>(
            HandedOut{py::cast(this), this, m_spare.empty() ? m_interpreter->emptyBlock() : std::move(m_spare.back())});
        if (!m_spare.empty()) m_spare.pop_back();
        if (!m_interpreter->swapOutput(index, handed->block)) {
            takeBack(std::move(handed->block));
            return arrayOf(output);
        }
        const void* const data = handed->block.data();
        const py::capsule owner(handed.release(), [](void* pointer) {
            const std::unique_ptr<HandedOut> back(static_cast<HandedOut*>(pointer));
            back->keeper->takeBack(std::move(back->block));
        });
        return py::array(dtypeOf(name), std::vector<py::ssize_t>(output.shape.dims().begin(), output.shape.dims().end()), data, owner);
    }

    static py::handle find(const py::dict& inputs, const py::str& name, const Port& port)
    {
        if (PyObject* const given = PyDict_GetItemWithError(inputs.ptr(), name.ptr())) return given;
        PyErr_Clear();
        for (const std::string& alias : port.aliases)
            if (PyObject* const given = PyDict_GetItemString(inputs.ptr(), alias.c_str())) return given;
        return {};
    }

    void execute(Executor& executor)
    {
        Status status;
        bool wasInterrupted = false;
        {
            const py::gil_scoped_release released;
            if (!m_initial) m_initial = std::make_unique<MachineState>(executor.snapshot());
            m_subject.cancel->clear();
            const int64_t begun = nowNs();
            status = allocating([&]() -> Status {
                LS_CHECK_OK(executor.start());
                if (m_isShort) LS_CHECK_OK(executor.runTo(kShortTicks));
                if (m_isShort && executor.position().finished) return {};
                const Interruptible interruptible(*m_subject.cancel);
                Status ran = executor.run();
                wasInterrupted = interruptible.wasHit();
                return ran;
            });
            m_isShort = nowNs() - begun < kShortNs;
        }
        if (wasInterrupted) {
            PyErr_SetNone(PyExc_KeyboardInterrupt);
            throw py::error_already_set();
        }
        if (!status.ok()) fail(std::move(status).takeError().at(executor.positionAddress()));
    }

    /// Whoever hears SIGINT asks the system twice, which takes as long as a small model: after a short run the next one begins unheard, for
    /// as many operators as that may have had.
    static constexpr int64_t kShortNs = 1'000'000, kShortTicks = 64;
    static constexpr size_t kHandedOver = size_t{1} << 15; ///< bytes from which on arrays change hands without being copied

    DebugSubject m_subject;
    Interpreter* m_interpreter = nullptr;             ///< the subject's executor, where it is one
    std::vector<MemoryBlock> m_spare;                 ///< of outputs whose arrays are gone
    std::vector<py::str> m_inputNames, m_outputNames; ///< made once
    std::unique_ptr<MachineState> m_initial;
    bool m_isShort = false;
    Turn::Lock m_lock;
};

// Sessions.

class PySession {
public:
    PySession(const std::string& path, const std::map<std::string, std::vector<std::string>>& options)
    {
        const app::Arguments arguments = argumentsOf(path, options);
        const py::gil_scoped_release released;
        m_terminal = std::make_unique<app::Terminal>(checked(app::openSubject(arguments)), app::TerminalSettings(),
                                                     [this](const app::TerminalEvent& told) { hear(told); });
        m_terminal->setWaiter([this](DebugSession& session) { wait(session); });
        if (!m_terminal->prepare() && m_failure) fail(*m_failure);
    }

    /// A line of the debugger; what it said.
    std::string execute(const std::string& line)
    {
        const Turn turn(m_lock);
        m_said.clear();
        m_failure.reset();
        bool fine = false;
        {
            const py::gil_scoped_release released;
            fine = m_terminal->execute(line, app::LineOrigin::prompt);
        }
        raiseInterrupt();
        if (!fine && m_failure) fail(*m_failure);
        return m_said;
    }

    py::object stop() const
    {
        const Turn turn(m_lock);
        if (!m_terminal->isStarted()) return py::none();
        const Stop& stop = m_terminal->stop();
        py::dict told;
        py::list reasons, ids;
        for (const StopReason& reason : stop.report.reasons) {
            reasons.append(toString(reason));
            if (reason.number > 0) ids.append(reason.number);
        }
        told["reasons"] = reasons;
        told["breakpoints"] = ids;
        told["address"] = stop.report.address;
        told["step"] = static_cast<int64_t>(stop.report.position.step);
        told["finished"] = stop.report.position.finished;
        told["timeline"] = static_cast<int64_t>(stop.report.timeline);
        told["frames"] = stop.frames;
        told["iteration"] = stop.stack.empty() ? -1 : stop.stack.back().iteration;
        return told;
    }

    /// The values of a list of expressions.
    py::list evaluate(const std::string& text, int depth)
    {
        const Turn turn(m_lock);
        m_failure.reset();
        const auto values = [&] {
            const py::gil_scoped_release released;
            return m_terminal->ask([&](Inspector& inspector) { return inspector.evaluate({depth}, text); });
        }();
        raiseInterrupt();
        py::list list;
        for (const EvaluatedValue& value : checked(values.ok() ? Result<std::vector<EvaluatedValue>>(*values) : values.error().copy()))
            list.append(objectOf(value));
        return list;
    }

    /// (written, numbers) by iteration.
    py::tuple history(const std::string& place)
    {
        const Turn turn(m_lock);
        SeriesOptions options;
        const auto series = [&] {
            const py::gil_scoped_release released;
            return m_terminal->ask([&](Inspector& inspector) { return inspector.series({}, std::string_view(place), options); });
        }();
        raiseInterrupt();
        if (!series.ok()) fail(series.error());
        py::array numbers(dtypeOf("float64"), std::vector<py::ssize_t>{std::ssize(series->numbers)});
        std::memcpy(numbers.mutable_data(), series->numbers.data(), series->numbers.size() * sizeof(double));
        return py::make_tuple(series->loop, numbers, std::vector<int64_t>(series->steps));
    }

    py::list breakpoints()
    {
        const Turn turn(m_lock);
        const auto all = m_terminal->ask([](Inspector& inspector) { return inspector.breakpoints(); });
        if (!all.ok()) fail(all.error());
        py::list list;
        for (const BreakpointInfo& info : *all) {
            py::dict one;
            one["number"] = info.number;
            one["spec"] = info.spec;
            one["hits"] = info.hits;
            one["enabled"] = info.enabled;
            list.append(one);
        }
        return list;
    }

    py::list inputs() const { return portList(m_terminal->target().inputs); }
    bool isReplay() const { return m_terminal->isReplay(); }

private:
    void hear(const app::TerminalEvent& told)
    {
        if (told.kind == app::TerminalEvent::Kind::error) m_failure = told.error->copy();
        else if (told.kind != app::TerminalEvent::Kind::done) m_said += told.text;
    }

    /// Every 50 ms on the thread that waits, which has released Python's lock.
    void wait(DebugSession& session)
    {
        const py::gil_scoped_acquire lock;
        if (!m_interrupted && PyErr_CheckSignals() != 0) m_interrupted = std::make_unique<py::error_already_set>();
        if (m_interrupted) session.pause();
    }

    void raiseInterrupt()
    {
        if (!m_interrupted) return;
        const auto raised = std::move(m_interrupted);
        throw py::error_already_set(*raised);
    }

    static py::object objectOf(const EvaluatedValue& value)
    {
        if (value.absence != Absence::present || value.value.isNone()) return py::none();
        Array storage;
        const std::optional<Tensor> tensor = elementsOf(value, storage);
        if (tensor && tensor->data != nullptr && value.value.type() != ExpressionType::text) return arrayOf(*tensor);
        return py::str(bareText(value, {}));
    }

    mutable Turn::Lock m_lock;
    std::string m_said;
    std::optional<Error> m_failure;
    std::unique_ptr<py::error_already_set> m_interrupted;
    std::unique_ptr<app::Terminal> m_terminal;
};

/// A command of the program, as after `loopscope`: exit code, what it printed, and what it complained of.
py::tuple runCommand(const std::vector<std::string>& words)
{
    char *out = nullptr, *err = nullptr;
    size_t outSize = 0, errSize = 0;
    FILE* const outFile = open_memstream(&out, &outSize);
    FILE* const errFile = open_memstream(&err, &errSize);
    if (outFile == nullptr || errFile == nullptr) fail(Error(ErrorCode::device, "no memory for the command's output"));
    Result<int> code = 0;
    {
        const py::gil_scoped_release released;
        app::Console console(outFile, errFile);
        code = app::runWords(console, words);
    }
    std::fclose(outFile);
    std::fclose(errFile);
    const py::bytes output(out, outSize), errors(err, errSize);
    std::free(out);
    std::free(err);
    if (!code.ok()) fail(code.error());
    return py::make_tuple(*code, output, errors);
}

} // namespace
} // namespace loopscope

PYBIND11_MODULE(_loopscope, module)
{
    using namespace loopscope;
#if PYBIND11_VERSION_HEX < 0x020C0000
    // It reads NumPy's structures as they were: with others it would find arrays of no dtype.
    const std::string numpy = py::str(py::module_::import("numpy").attr("__version__"));
    if (std::atoi(numpy.c_str()) > 1)
        throw py::import_error("this build of loopscope is for NumPy 1, found " + numpy +
                               "; 'pip install' from the source tree builds one for it");
#endif
    // Never given back: when the program's static objects go, the interpreter is gone.
    static py::handle self;
    self = module.inc_ref();
    auto base = py::exception<void>(module, "Error", PyExc_RuntimeError);
    base.doc() = "What every error of Loopscope is.";
    const auto derive = [&](const char* name, PyObject* also) {
        const std::string full = std::string("loopscope.") + name;
        PyObject* const bases = PyTuple_Pack(2, base.ptr(), also);
        module.add_object(name, py::reinterpret_steal<py::object>(PyErr_NewException(full.c_str(), bases, nullptr)));
        Py_DECREF(bases);
    };
    derive("UsageError", PyExc_ValueError);
    derive("BadFileError", PyExc_OSError);
    derive("UnsupportedError", PyExc_NotImplementedError);
    derive("ExecutionError", PyExc_ArithmeticError);
    derive("CannotWriteError", PyExc_OSError);
    derive("DeviceError", PyExc_OSError);
    derive("InternalError", PyExc_AssertionError);
    derive("CancelledError", PyExc_InterruptedError);
    py::register_exception_translator([](std::exception_ptr thrown) {
        try {
            if (thrown) std::rethrow_exception(thrown);
        } catch (const Failure& failure) {
            PyErr_SetString(exceptionOf(py::reinterpret_borrow<py::module_>(self), failure.code), failure.text.c_str());
        }
    });

    using Options = std::map<std::string, std::vector<std::string>>;
    py::class_<PyModel>(module, "Model")
        .def(py::init<const std::string&, const Options&>())
        .def("run", &PyModel::run)
        .def("reset", &PyModel::reset)
        .def("inputs", &PyModel::inputs)
        .def("outputs", &PyModel::outputs)
        .def("name", &PyModel::name)
        .def("listing", &PyModel::listing);
    py::class_<PySession>(module, "Session")
        .def(py::init<const std::string&, const Options&>())
        .def("execute", &PySession::execute)
        .def("stop", &PySession::stop)
        .def("evaluate", &PySession::evaluate)
        .def("history", &PySession::history)
        .def("breakpoints", &PySession::breakpoints)
        .def("inputs", &PySession::inputs)
        .def("is_replay", &PySession::isReplay);
    module.def("run_command", &runCommand);
    module.attr("__version__") = LOOPSCOPE_VERSION;
}
