#include "viewer/window/file_parts.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>
#include <cstring>
#include <optional>

namespace loopscope::viewer {

namespace {

constexpr uint32_t kMostEntries = 100'000; ///< in all: many tables may share a vector

QString text(const char* source) { return QCoreApplication::translate("FileParts", source); }

QString grouped(qint64 n) { return QLocale(QLocale::English).toString(n); }

FilePart counted(const QString& what, qint64 whole, qint64 all)
{
    using State = FilePart::State;
    if (whole == all) return {State::whole, what, grouped(all)};
    return {whole == 0 ? State::missing : State::partly, what, text("%1 of %2").arg(grouped(whole), grouped(all))};
}

/// FlatBuffers, little-endian. Positions are 64-bit, so that no sum of them wraps.
class FlatFile {
public:
    explicit FlatFile(QByteArrayView bytes) : m_bytes(bytes) {}

    template <typename T> std::optional<T> number(int64_t at) const
    {
        if (at < 0 || at + static_cast<int64_t>(sizeof(T)) > m_bytes.size()) return std::nullopt;
        T value;
        std::memcpy(&value, m_bytes.data() + at, sizeof(T));
        return value;
    }
    /// Where an offset leads; none: it, or what it leads to, is outside.
    std::optional<int64_t> follow(int64_t at) const
    {
        const auto offset = number<uint32_t>(at);
        if (!offset || !number<uint32_t>(at + *offset)) return std::nullopt;
        return at + *offset;
    }
    /// Whether a table and its list of fields lie inside.
    bool hasTable(int64_t table) const
    {
        const auto fields = fieldsOf(table);
        const auto size = fields ? number<uint16_t>(*fields + 2) : std::nullopt;
        return size && table + *size <= m_bytes.size() && *fields + number<uint16_t>(*fields).value_or(0) <= m_bytes.size();
    }
    /// Position of field `index`; none: the table does not have it, or cannot be read.
    std::optional<int64_t> field(int64_t table, int index) const
    {
        const auto fields = fieldsOf(table);
        if (!fields || 4 + 2 * index >= number<uint16_t>(*fields).value_or(0)) return std::nullopt;
        const auto offset = number<uint16_t>(*fields + 4 + 2 * index);
        return offset.value_or(0) == 0 ? std::nullopt : std::optional(table + *offset);
    }
    /// Tables of a vector: where those that lie inside begin, and how many it says that there are.
    struct Tables {
        QList<int64_t> inside;
        uint32_t all = 0;
        bool isThere = false; ///< the vector's own length lies inside
    };
    Tables tables(int64_t table, int index) const
    {
        Tables found;
        const auto place = field(table, index);
        const auto vector = place ? follow(*place) : std::nullopt;
        if (!vector) return found;
        found.isThere = true;
        found.all = *number<uint32_t>(*vector);
        for (uint32_t i = 0; i < found.all && m_left > 0; ++i, --m_left) {
            const auto entry = follow(*vector + 4 + 4 * int64_t{i});
            if (entry && hasTable(*entry)) found.inside.append(*entry);
        }
        return found;
    }

private:
    std::optional<int64_t> fieldsOf(int64_t table) const
    {
        const auto back = number<int32_t>(table);
        if (!back || !number<uint32_t>(table - *back)) return std::nullopt;
        return table - *back;
    }
    QByteArrayView m_bytes;
    mutable uint32_t m_left = kMostEntries; ///< entries of vectors that may still be looked at
};

FilePart partOf(const QString& what, const FlatFile::Tables& tables)
{
    if (!tables.isThere) return {FilePart::State::missing, what, text("missing")};
    return counted(what, tables.inside.size(), std::max<qint64>(tables.inside.size(), tables.all));
}

QList<FilePart> flatParts(QByteArrayView bytes)
{
    const FlatFile file(bytes);
    QList<FilePart> parts;
    const QString mark = QString::fromLatin1(bytes.sliced(4, 4));
    const auto root = file.follow(0);
    if (!root || !file.hasTable(*root)) {
        parts.append({FilePart::State::whole, text("Mark %1").arg(mark), {}});
        parts.append({FilePart::State::missing, text("Table of contents"), text("missing")});
        return parts;
    }
    const auto version = file.field(*root, 0);
    parts.append({FilePart::State::whole,
                  text("Mark %1, schema version %2").arg(mark).arg(version ? file.number<uint32_t>(*version).value_or(0) : 0),
                  {}});
    parts.append(partOf(text("Operator codes"), file.tables(*root, 1)));
    const FlatFile::Tables subgraphs = file.tables(*root, 2);
    parts.append(partOf(text("Subgraphs"), subgraphs));
    for (const auto& [what, index] : {std::pair(text("Operators"), 3), std::pair(text("Tensors"), 0)}) {
        FlatFile::Tables sum;
        bool isUnknown = subgraphs.inside.size() < subgraphs.all; // how many there are in what is gone
        for (const int64_t subgraph : subgraphs.inside) {
            const FlatFile::Tables own = file.tables(subgraph, index);
            isUnknown = isUnknown || (!own.isThere && file.field(subgraph, index));
            sum.isThere = sum.isThere || own.isThere;
            sum.all += own.all;
            sum.inside += own.inside;
        }
        FilePart part = partOf(what, sum);
        if (part.state == FilePart::State::whole && isUnknown) part = {FilePart::State::partly, what, text("%1 are left").arg(part.note)};
        parts.append(part);
    }
    parts.append(partOf(text("Buffers of constants"), file.tables(*root, 4)));
    return parts;
}

/// The fields of a message in the wire format of protocol buffers, as far as it goes.
struct Wire {
    qint64 count[3] = {}; ///< of fields 1 to 3 that lie inside
    qint64 end = 0;       ///< where the last whole field ends
    bool isWhole = false;
};

std::optional<uint64_t> varint(QByteArrayView bytes, qint64& at)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
        const auto byte = static_cast<uint8_t>(bytes[at++]);
        value |= uint64_t{byte & 0x7fU} << shift;
        if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
}

Wire wireOf(QByteArrayView bytes)
{
    Wire wire;
    qint64 at = 0;
    for (uint32_t entry = 0; at < bytes.size() && entry < kMostEntries; ++entry) {
        const auto key = varint(bytes, at);
        if (!key || *key >> 3 == 0) return wire;
        uint64_t length = 0;
        switch (*key & 7) {
        case 0:
            if (!varint(bytes, at)) return wire;
            break;
        case 1: length = 8; break;
        case 5: length = 4; break;
        case 2: {
            const auto said = varint(bytes, at);
            if (!said) return wire;
            length = *said;
            break;
        }
        default: return wire;
        }
        if (length > static_cast<uint64_t>(bytes.size() - at)) return wire;
        at += static_cast<qint64>(length);
        if (*key >> 3 <= 3) ++wire.count[(*key >> 3) - 1];
        wire.end = at;
    }
    wire.isWhole = at >= bytes.size();
    return wire;
}

QList<FilePart> graphParts(QByteArrayView bytes)
{
    using State = FilePart::State;
    const Wire wire = wireOf(bytes);
    if (wire.end == 0 && !wire.isWhole) return {};
    const bool isSavedModel = bytes[0] == 0x08; // its version comes first, a graph's nodes do
    QList<FilePart> parts;
    parts.append({wire.isWhole ? State::whole : State::partly, isSavedModel ? text("Graphs of the SavedModel") : text("Nodes"),
                  text("%1 whole").arg(grouped(isSavedModel ? wire.count[1] : wire.count[0]))});
    if (!isSavedModel && wire.count[1] > 0) parts.append({State::whole, text("Library of functions"), {}});
    if (!wire.isWhole) parts.append({State::missing, text("From byte %1 on").arg(grouped(wire.end)), text("cut off or damaged")});
    return parts;
}

/// A text in our own language: graphs whose brace closes them are whole.
QList<FilePart> textParts(QByteArrayView bytes)
{
    qint64 begun = 0, ended = 0;
    for (qsizetype at = 0; at < bytes.size();) {
        const qsizetype end = bytes.indexOf('\n', at);
        const QByteArrayView line = bytes.sliced(at, (end < 0 ? bytes.size() : end) - at).trimmed();
        begun += line.startsWith("graph ") ? 1 : 0;
        ended += line == QByteArrayView("}") && ended < begun ? 1 : 0;
        if (end < 0) break;
        at = end + 1;
    }
    if (begun == 0) return {};
    FilePart graphs = counted(text("Graphs"), ended, begun);
    if (graphs.state == FilePart::State::missing) graphs.state = FilePart::State::partly; // its lines are there
    return {graphs};
}

QList<FilePart> recordingParts(QByteArrayView bytes)
{
    using State = FilePart::State;
    const auto big = [&](qint64 at, int size) {
        uint32_t value = 0;
        for (int i = 0; i < size && at + i < bytes.size(); ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
        return value;
    };
    QList<FilePart> parts = {{State::whole, text("Mark of a SQLite database"), {}}};
    const qint64 page = big(16, 2) == 1 ? 65536 : big(16, 2), all = big(28, 4);
    if (bytes.size() < 100 || page < 512) parts.append({State::missing, text("Header"), text("cut off or damaged")});
    else parts.append(counted(text("Pages"), std::min(bytes.size() / page, all), all));
    return parts;
}

} // namespace

QList<FilePart> filePartsOf(QByteArrayView bytes)
{
    if (bytes.size() >= 8 && (bytes.sliced(4, 4) == "TFL3" || bytes.sliced(4, 4) == "CIR0")) return flatParts(bytes);
    if (bytes.startsWith("SQLite format 3")) return recordingParts(bytes);
    if (bytes.size() > 1 && (bytes[0] == 0x0a || bytes[0] == 0x08)) return graphParts(bytes);
    return bytes.first(std::min<qsizetype>(bytes.size(), 1024)).contains('\0') ? QList<FilePart>() : textParts(bytes);
}

bool hasReadablePart(const QList<FilePart>& parts)
{
    return std::ranges::any_of(parts, [](const FilePart& part) {
        const bool isContent = part.text == text("Subgraphs") || part.text == text("Nodes") ||
                               part.text == text("Graphs of the SavedModel") || part.text == text("Graphs");
        return isContent && part.state != FilePart::State::missing;
    });
}

} // namespace loopscope::viewer
