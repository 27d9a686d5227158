#include "engine/kernels/cpu/text/sentence_pieces.h"

#include "engine/base/interruption.h"
#include "engine/base/visible_text.h"
#include "engine/base/wire_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <queue>

namespace loopscope {

namespace {

Error damaged(std::string what) { return Error(ErrorCode::badFile, "a SentencePiece model " + std::move(what)); }

std::string_view textOf(std::span<const uint8_t> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
std::span<const uint8_t> bytesOf(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

/// Calls take(field) for each field of a message.
template <typename F> Status eachField(std::string_view message, F&& take)
{
    for (WireReader reader(bytesOf(message)); !reader.atEnd();) {
        const auto field = reader.field();
        if (!field) return damaged("is damaged");
        LS_CHECK_OK(take(*field));
    }
    return {};
}

std::string bytePiece(uint8_t byte)
{
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    return {'<', '0', 'x', kDigits[byte >> 4U], kDigits[byte & 15U], '>'};
}

int byteOf(std::string_view piece)
{
    for (int byte = 0; byte < 256; ++byte)
        if (bytePiece(static_cast<uint8_t>(byte)) == piece) return byte;
    return -1;
}

} // namespace

Status SentencePieces::readPiece(std::string_view message)
{
    Piece piece;
    LS_CHECK_OK(eachField(message, [&](const WireField& field) -> Status {
        if (field.number == 1 && field.type == 2) piece.text = textOf(field.bytes);
        if (field.number == 2 && field.type == 5) piece.score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
        if (field.number == 3 && field.type == 0) piece.type = static_cast<Type>(std::clamp<uint64_t>(field.value, 1, 6));
        return {};
    }));
    const std::string number = std::to_string(m_pieces.size());
    if (piece.text.empty()) return damaged("has a piece without text: number " + number);
    if (std::isnan(piece.score)) return damaged("has a piece whose score is no number: number " + number);
    m_pieces.push_back(piece);
    return {};
}

Status SentencePieces::readTrainer(std::string_view message)
{
    return eachField(message, [&](const WireField& field) -> Status {
        switch (field.number) {
        case 3:
            if (field.value < 1 || field.value > 4) return damaged("is of an unknown kind: " + std::to_string(field.value));
            m_algorithm = static_cast<Algorithm>(field.value);
            break;
        case 24: m_spaceBehind = field.value != 0; break;
        case 35: m_fallsBackToBytes = field.value != 0; break;
        case 44: m_unknownSurface = textOf(field.bytes); break;
        case 45: m_unknownPiece = textOf(field.bytes); break;
        case 46: m_beginPiece = textOf(field.bytes); break;
        case 47: m_endPiece = textOf(field.bytes); break;
        default: break;
        }
        return {};
    });
}

Result<std::shared_ptr<const SentencePieces>> SentencePieces::read(std::string model)
{
    const std::shared_ptr<SentencePieces> out(new SentencePieces);
    out->m_model = std::move(model);
    std::string_view rules, denormal;
    LS_CHECK_OK(eachField(out->m_model, [&](const WireField& field) -> Status {
        if (field.type != 2) return {};
        const std::string_view part = textOf(field.bytes);
        if (field.number == 1) return out->readPiece(part);
        if (field.number == 2) return out->readTrainer(part);
        if (field.number == 3) rules = part;
        if (field.number == 5) denormal = part;
        return {};
    }));
    LS_TRY(out->m_normalizer, PieceNormalizer::read(rules));
    LS_TRY(const PieceNormalizer denormalizer, PieceNormalizer::read(denormal));
    if (denormalizer.hasRules()) out->m_denormalizer = denormalizer;
    LS_CHECK_OK(out->arrange());
    return std::shared_ptr<const SentencePieces>(out);
}

/// Tables of the pieces, and what follows from all of them.
Status SentencePieces::arrange()
{
    m_leastScore = std::numeric_limits<float>::max();
    m_mostScore = std::numeric_limits<float>::min();
    for (int32_t id = 0; id < size(); ++id) {
        const Piece& piece = m_pieces[static_cast<size_t>(id)];
        const bool isFound = piece.type == Type::normal || piece.type == Type::userDefined || piece.type == Type::unused;
        (isFound ? m_normal : m_reserved).add(piece.text, id);
        if (piece.type == Type::userDefined) m_userDefined.add(piece.text, id);
        if (piece.type == Type::normal) {
            m_leastScore = std::min(m_leastScore, piece.score);
            m_mostScore = std::max(m_mostScore, piece.score);
        }
        if (piece.type != Type::unknown) continue;
        if (m_unknown >= 0) return damaged("defines two unknown pieces");
        m_unknown = id;
    }
    LS_CHECK_OK(m_normal.sort());
    LS_CHECK_OK(m_reserved.sort());
    LS_CHECK_OK(m_userDefined.sort());
    if (m_unknown < 0) return damaged("defines no unknown piece");
    if (m_normal.isEmpty()) return damaged("has no pieces");
    LS_CHECK_OK(arrangeBytes());
    if (!m_userDefined.isEmpty()) m_normalizer.keep(&m_userDefined);
    if (m_spaceBehind) m_normalizer.putSpaceBehind();
    return {};
}

Status SentencePieces::arrangeBytes()
{
    std::array<bool, 256> found = {};
    for (const Piece& piece : m_pieces) {
        if (piece.type != Type::byte) continue;
        const int byte = byteOf(piece.text);
        if (!m_fallsBackToBytes) return damaged("has the byte '" + std::string(piece.text) + "', and does not fall back to bytes");
        if (byte < 0) return damaged("has a byte of another name: '" + std::string(piece.text) + "'");
        found[static_cast<size_t>(byte)] = true;
    }
    if (m_fallsBackToBytes && std::ranges::find(found, false) != found.end())
        return damaged("falls back to bytes, of which some are missing");
    return {};
}

int32_t SentencePieces::idOf(std::string_view piece) const
{
    const int32_t reserved = m_reserved.find(piece);
    if (reserved >= 0) return reserved;
    const int32_t id = m_normal.find(piece);
    return id >= 0 ? id : m_unknown;
}

/// The pieces whose scores have the largest sum.
std::vector<SentencePieces::Segment> SentencePieces::unigram(std::string_view text) const
{
    struct End {
        int32_t id = -1;
        float score = 0;
        std::optional<size_t> start;
    };
    std::vector<End> ends(text.size() + 1);
    constexpr float kPenalty = 10;
    const float unknown = m_leastScore - kPenalty;
    const auto improve = [&](size_t at, double score, size_t start, int32_t id) {
        if (!ends[at].start || score > ends[at].score) ends[at] = {id, static_cast<float>(score), start};
    };
    LoopPace pace;
    for (size_t start = 0; start < text.size();) {
        const float before = ends[start].score;
        const size_t character = pieceCharacter(text.substr(start));
        bool isKnown = false;
        m_normal.prefixesOf(text.substr(start), [&](size_t length, int32_t id) {
            pace.did(8);
            if (is(id, Type::unused)) return;
            // What a user has defined is taken wherever it stands.
            const double score =
                is(id, Type::userDefined) ? static_cast<float>(length) * m_mostScore - 0.1 : m_pieces[static_cast<size_t>(id)].score;
            improve(start + length, score + before, start, id);
            isKnown = isKnown || length == character;
        });
        if (!isKnown) improve(start + character, unknown + before, start, m_unknown);
        start += character;
        pace.did(64);
    }
    std::vector<Segment> segments;
    for (size_t end = text.size(); end > 0;) {
        const size_t start = ends[end].start.value_or(0);
        segments.push_back({text.substr(start, end - start), ends[end].id});
        end = start;
    }
    std::ranges::reverse(segments);
    return segments;
}

/// Neighbours become one piece as long as there is one for them, the best first: byte pair encoding.
std::vector<SentencePieces::Segment> SentencePieces::pairs(std::string_view text) const
{
    struct Symbol {
        std::string_view text;
        int64_t before = -1, after = -1;
        bool stays = false;
    };
    struct Merge {
        float score = 0;
        int64_t left = 0, right = 0;
        size_t size = 0;
        bool operator<(const Merge& o) const { return score < o.score || (score == o.score && left > o.left); }
    };
    std::vector<Symbol> symbols;
    for (std::string_view rest = text; !rest.empty();) {
        const size_t kept = m_userDefined.longestPrefix(rest);
        const size_t length = kept > 0 ? kept : pieceCharacter(rest);
        const auto i = std::ssize(symbols);
        symbols.push_back({rest.substr(0, length), i - 1, length == rest.size() ? -1 : i + 1, kept > 0});
        rest.remove_prefix(length);
    }
    const auto symbol = [&](int64_t i) -> Symbol& { return symbols[static_cast<size_t>(i)]; };
    std::priority_queue<Merge> agenda;
    std::map<std::string_view, size_t> parts; // of pieces that are only steps to larger ones: the length of the left one
    const auto consider = [&](int64_t left, int64_t right) {
        if (left < 0 || right < 0 || symbol(left).stays || symbol(right).stays) return;
        const size_t size = symbol(left).text.size() + symbol(right).text.size();
        const std::string_view both(symbol(left).text.data(), size);
        const int32_t id = m_normal.find(both);
        if (id < 0) return;
        agenda.push({m_pieces[static_cast<size_t>(id)].score, left, right, size});
        if (is(id, Type::unused)) parts[both] = symbol(left).text.size();
    };
    for (int64_t i = 1; i < std::ssize(symbols); ++i) consider(i - 1, i);
    for (LoopPace pace; !agenda.empty(); pace.did(256)) {
        const Merge best = agenda.top();
        agenda.pop();
        Symbol& left = symbol(best.left);
        Symbol& right = symbol(best.right);
        if (left.text.empty() || right.text.empty() || left.text.size() + right.text.size() != best.size) continue;
        left.text = {left.text.data(), best.size};
        left.after = right.after;
        if (right.after >= 0) symbol(right.after).before = best.left;
        right.text = {};
        consider(left.before, best.left);
        consider(best.left, left.after);
    }
    std::vector<Segment> segments;
    std::vector<std::string_view> open;
    for (int64_t i = symbols.empty() ? -1 : 0; i >= 0; i = symbol(i).after) {
        for (open.push_back(symbol(i).text); !open.empty();) {
            const std::string_view piece = open.back();
            open.pop_back();
            const int32_t id = idOf(piece);
            const auto split = is(id, Type::unused) ? parts.find(piece) : parts.end();
            if (split == parts.end()) {
                segments.push_back({piece, id});
                continue;
            }
            open.push_back(piece.substr(split->second));
            open.push_back(piece.substr(0, split->second));
        }
    }
    return segments;
}

std::vector<SentencePieces::Segment> SentencePieces::words(std::string_view text) const
{
    std::vector<Segment> segments;
    for (size_t start = 0; start < text.size();) {
        const size_t next = text.find(kPieceSpace, start + 1);
        const std::string_view word = text.substr(start, next == std::string_view::npos ? next : next - start);
        segments.push_back({word, idOf(word)});
        start += word.size();
    }
    return segments;
}

std::vector<SentencePieces::Segment> SentencePieces::characters(std::string_view text) const
{
    std::vector<Segment> segments;
    while (!text.empty()) {
        const size_t kept = m_userDefined.longestPrefix(text);
        const std::string_view piece = text.substr(0, kept > 0 ? kept : pieceCharacter(text));
        segments.push_back({piece, idOf(piece)});
        text.remove_prefix(piece.size());
    }
    return segments;
}

/// The last of the bytes stands for what the character stood for.
void SentencePieces::addUnknownBytes(const Segment& segment, int64_t begin, int64_t end, std::vector<TextPiece>& out) const
{
    for (size_t i = 0; i < segment.text.size(); ++i) {
        const std::string name = bytePiece(static_cast<uint8_t>(segment.text[i]));
        out.push_back({name, idOf(name), begin, i + 1 == segment.text.size() ? end : begin});
    }
}

/// The end of a text lies at 0, as TF Text says it.
Status SentencePieces::addEnds(const PieceOptions& options, std::vector<TextPiece>& pieces) const
{
    const auto idOfEnd = [&](std::string_view piece) -> Result<int32_t> {
        const int32_t id = idOf(piece);
        if (is(id, Type::unknown)) return Error(ErrorCode::execution, "id for `" + std::string(piece) + "` is not defined.");
        return id;
    };
    if (options.begins) {
        LS_TRY(const int32_t id, idOfEnd(m_beginPiece));
        pieces.insert(pieces.begin(), {std::string(m_beginPiece), id, 0, 0});
    }
    if (options.ends) {
        LS_TRY(const int32_t id, idOfEnd(m_endPiece));
        pieces.push_back({std::string(m_endPiece), id, 0, 0});
    }
    if (options.reversed) std::ranges::reverse(pieces);
    return {};
}

Result<std::vector<TextPiece>> SentencePieces::encode(std::string_view text, const PieceOptions& options) const
{
    LS_TRY(const NormalText normal, m_normalizer.normalize(text));
    std::vector<Segment> segments;
    switch (m_algorithm) {
    case Algorithm::unigram: segments = unigram(normal.text); break;
    case Algorithm::pairs: segments = pairs(normal.text); break;
    case Algorithm::words: segments = words(normal.text); break;
    case Algorithm::characters: segments = characters(normal.text); break;
    }
    std::vector<TextPiece> pieces;
    size_t consumed = 0;
    bool afterUnknown = false;
    for (const Segment& segment : segments) {
        const auto begin = static_cast<int64_t>(normal.origins[consumed]);
        const bool isUnknown = is(segment.id, Type::unknown);
        if (is(segment.id, Type::control)) {
            pieces.push_back({std::string(segment.text), segment.id, begin, begin}); // stands for nothing
            afterUnknown = false;
            continue;
        }
        consumed += segment.text.size();
        const auto end = static_cast<int64_t>(normal.origins[consumed]);
        if (isUnknown && m_fallsBackToBytes) addUnknownBytes(segment, begin, end, pieces);
        else if (isUnknown && afterUnknown) { // unknown ones that follow each other are one
            pieces.back().text.append(segment.text);
            pieces.back().end = end;
        } else pieces.push_back({std::string(segment.text), segment.id, begin, end});
        afterUnknown = isUnknown;
    }
    if (consumed != normal.text.size()) return Error(ErrorCode::execution, "all normalized characters are not consumed.");
    LS_CHECK_OK(addEnds(options, pieces));
    return pieces;
}

/// What a piece, none of a byte, is in a text. A first one loses the space that encoding puts before texts.
std::string SentencePieces::surface(const TextPiece& piece, bool isFirst) const
{
    if (is(piece.id, Type::control)) return {};
    if (is(piece.id, Type::unknown)) return std::string(piece.text == this->piece(piece.id) ? m_unknownSurface : piece.text);
    std::string_view rest = piece.text;
    if (isFirst && (m_normalizer.addsPrefix() || m_normalizer.removesSpaces()) && rest.starts_with(kPieceSpace))
        rest.remove_prefix(kPieceSpace.size());
    std::string text;
    while (!rest.empty()) {
        const size_t next = std::min(rest.find(kPieceSpace), rest.size());
        text.append(rest.substr(0, next));
        rest.remove_prefix(next);
        if (rest.empty()) break;
        text.push_back(' ');
        rest.remove_prefix(kPieceSpace.size());
    }
    return text;
}

Result<std::string> SentencePieces::decode(std::span<const std::string_view> names, const PieceOptions& options) const
{
    std::vector<TextPiece> pieces;
    pieces.reserve(names.size());
    for (const std::string_view name : names) pieces.push_back({std::string(name), idOf(name), 0, 0});
    LS_CHECK_OK(addEnds(options, pieces));
    std::string text, bytes;
    const auto endBytes = [&] {
        for (size_t at = 0; at < bytes.size();) {
            const size_t length = utf8Length(bytes, at);
            text.append(length > 0 ? std::string_view(bytes).substr(at, length) : kReplacement);
            at += std::max<size_t>(length, 1);
        }
        bytes.clear();
    };
    for (const TextPiece& piece : pieces) {
        if (is(piece.id, Type::byte)) {
            bytes.push_back(static_cast<char>(byteOf(piece.text)));
            continue;
        }
        endBytes();
        text += surface(piece, text.empty());
    }
    endBytes();
    if (!m_denormalizer) return text;
    LS_TRY(NormalText denormal, m_denormalizer->normalize(text));
    return std::move(denormal.text);
}

} // namespace loopscope
