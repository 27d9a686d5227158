// What stands after `--input NAME=`, taken apart for the fields of the Inputs panel and put together again. What it means is the debugger's
// to say: nothing here reads a file or a number.
#pragma once

#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace loopscope::viewer {

/// By its ending.
bool isPictureName(const QString& path);

struct InputSource {
    enum class Kind : uint8_t { none, seed, file, table, lastRun, constant };
    enum class Layout : uint8_t { declared, nhwc, nchw };

    Kind kind = Kind::none;
    QString text;                              ///< "@7[-1,1]", "in.npy", "[1,2]", "3": without what follows
    std::optional<std::vector<int64_t>> shape; ///< ":[2,3]"
    QString range;                             ///< of a picture: "-1,1", what 0 and 255 become; empty: not said
    Layout layout = Layout::declared;          ///< of a picture
    bool fit = false, cast = false;
    QString patches; ///< "x[0,3]=nan; x[1]=2"

    bool isPicture() const { return kind == Kind::file && isPictureName(text); }
    bool operator==(const InputSource&) const = default;
};

InputSource inputSourceOf(QString text);
QString textOf(const InputSource& source);

} // namespace loopscope::viewer
