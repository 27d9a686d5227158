// SentencePiece: text to pieces of a vocabulary and back, as a model says that was trained for it. It is read and applied here, not by
// the library of that name (docs/dependencies.md says why).
#pragma once

#include "engine/base/result.h"
#include "engine/kernels/cpu/text/piece_normalizer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// What is added to the pieces of a text, and whether they come backwards, what was added included.
struct PieceOptions {
    bool begins = false, ends = false, reversed = false;
};

struct TextPiece {
    std::string text;
    int32_t id = 0;
    int64_t begin = 0, end = 0; ///< the bytes of the text that it stands for
};

class SentencePieces {
public:
    /// `model`: a serialized ModelProto. Errors: badFile.
    static Result<std::shared_ptr<const SentencePieces>> read(std::string model);
    SentencePieces(const SentencePieces&) = delete;
    SentencePieces& operator=(const SentencePieces&) = delete;

    /// The most likely pieces. Errors: badFile, execution.
    Result<std::vector<TextPiece>> encode(std::string_view text, const PieceOptions& options) const;
    /// Errors: as encode().
    Result<std::string> decode(std::span<const std::string_view> pieces, const PieceOptions& options) const;

    int32_t size() const { return static_cast<int32_t>(m_pieces.size()); }
    bool has(int32_t id) const { return id >= 0 && id < size(); }
    std::string_view piece(int32_t id) const { return m_pieces[static_cast<size_t>(id)].text; }
    int32_t idOf(std::string_view piece) const; ///< that of the unknown one, if there is none

private:
    enum class Type : uint8_t { normal = 1, unknown, control, userDefined, unused, byte };
    enum class Algorithm : uint8_t { unigram = 1, pairs, words, characters };
    struct Piece {
        std::string_view text;
        float score = 0;
        Type type = Type::normal;
    };
    struct Segment {
        std::string_view text;
        int32_t id = 0;
    };

    SentencePieces() = default;
    Status readPiece(std::string_view message);
    Status readTrainer(std::string_view message);
    Status arrange();
    Status arrangeBytes();

    bool is(int32_t id, Type type) const { return m_pieces[static_cast<size_t>(id)].type == type; }
    std::vector<Segment> unigram(std::string_view text) const;
    std::vector<Segment> pairs(std::string_view text) const;
    std::vector<Segment> words(std::string_view text) const;
    std::vector<Segment> characters(std::string_view text) const;
    void addUnknownBytes(const Segment& segment, int64_t begin, int64_t end, std::vector<TextPiece>& out) const;
    Status addEnds(const PieceOptions& options, std::vector<TextPiece>& pieces) const;
    std::string surface(const TextPiece& piece, bool isFirst) const;

    std::string m_model;
    std::vector<Piece> m_pieces;
    PieceTable m_normal, m_reserved, m_userDefined;
    PieceNormalizer m_normalizer;
    std::optional<PieceNormalizer> m_denormalizer;
    Algorithm m_algorithm = Algorithm::unigram;
    bool m_spaceBehind = false, m_fallsBackToBytes = false;
    std::string_view m_unknownPiece = "<unk>", m_beginPiece = "<s>", m_endPiece = "</s>", m_unknownSurface = " \xe2\x81\x87 ";
    int32_t m_unknown = -1;
    float m_leastScore = 0, m_mostScore = 0;
};

} // namespace loopscope
