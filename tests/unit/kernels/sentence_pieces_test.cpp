// SentencePiece on models that are too large for text tests, or damaged. Pieces as sentencepiece 0.2 gives them.
#include "engine/kernels/cpu/text/sentence_pieces.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <string>
#include <vector>

using namespace loopscope;

namespace {

std::string varint(uint64_t value)
{
    std::string out;
    for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>(value | 0x80U));
    out.push_back(static_cast<char>(value));
    return out;
}
std::string part(int number, const std::string& bytes)
{
    return varint(static_cast<uint64_t>(number) << 3U | 2U) + varint(bytes.size()) + bytes;
}
std::string flag(int number, uint64_t value) { return varint(static_cast<uint64_t>(number) << 3U) + varint(value); }

std::string piece(const std::string& text, float score, int type)
{
    const auto bits = std::bit_cast<uint32_t>(score);
    std::string four;
    for (unsigned k = 0; k < 4; ++k) four.push_back(static_cast<char>(bits >> (8 * k)));
    return part(1, part(1, text) + varint(2U << 3U | 5U) + four + flag(3, static_cast<uint64_t>(type)));
}

std::string basic() { return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3); }

/// Pieces "a" and "▁", and one for each byte.
std::string modelWithBytes()
{
    std::string model = basic();
    constexpr const char* kDigits = "0123456789ABCDEF";
    for (int byte = 0; byte < 256; ++byte) model += piece(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">", 0, 6);
    model += piece("a", -1, 1) + piece("\xe2\x96\x81", -2, 1);
    return model + part(2, flag(3, 1) + flag(35, 1));
}

std::string modelOfPairs()
{
    return basic() +
           piece("\xe2\x96\x81"
                 "ab",
                 -1, 1) +
           piece("ab", -2, 5) + piece("a", -3, 1) + piece("b", -4, 1) + piece("\xe2\x96\x81", -5, 1) + piece("<x>", 0, 4) +
           part(2, flag(3, 2)) + part(3, flag(3, 1) + flag(4, 1) + flag(5, 1));
}

/// A rule in a trie of two units: byte 'A' leads to the text at `place` of "a\0".
std::string modelWithRule(uint32_t place)
{
    std::vector<uint32_t> units(512, 0);
    units[0] = 1U << 10U;                             // the children of the root: 1 ^ byte
    units[1U ^ 'A'] = 'A' | 1U << 8U | (256U << 10U); // has a value, 256 further on
    units[(1U ^ 'A') ^ 256U] = 0x80000000U | place;
    const auto size = static_cast<uint32_t>(units.size() * 4);
    std::string rules(reinterpret_cast<const char*>(&size), 4);
    rules.append(reinterpret_cast<const char*>(units.data()), size);
    rules.append("a", 2);
    return basic() + piece("a", -1, 1) + piece("\xe2\x96\x81", -2, 1) + part(2, flag(3, 1)) + part(3, part(2, rules));
}

std::string idsOf(const SentencePieces& pieces, std::string_view text)
{
    const auto encoded = pieces.encode(text, {});
    if (!encoded.ok()) return encoded.error().message();
    std::string out;
    for (const TextPiece& one : encoded.value()) out += std::to_string(one.id) + " ";
    return out;
}

std::shared_ptr<const SentencePieces> read(std::string model)
{
    auto pieces = SentencePieces::read(std::move(model));
    EXPECT_TRUE(pieces.ok());
    return pieces.ok() ? pieces.value() : nullptr;
}

std::string errorOf(std::string model)
{
    const auto pieces = SentencePieces::read(std::move(model));
    return pieces.ok() ? "none" : pieces.error().message();
}

TEST(SentencePieces, fallsBackToBytes)
{
    const auto pieces = read(modelWithBytes());
    EXPECT_EQ(idsOf(*pieces, "a\xc3\xa9"), "260 259 198 172 "); // ▁ a, and both bytes of é
    const auto encoded = pieces->encode("\xc3\xa9z", {});
    ASSERT_TRUE(encoded.ok());
    ASSERT_EQ(encoded.value().size(), 4U);
    EXPECT_EQ(encoded.value()[1].text, "<0xC3>");
    EXPECT_EQ(encoded.value()[1].end, 0);
    EXPECT_EQ(encoded.value()[2].end, 2);
    EXPECT_EQ(pieces->decode(std::vector<std::string_view>{"\xe2\x96\x81", "a", "<0xC3>", "<0xA9>", "<0xC3>", "a"}, {}).value(),
              "a\xc3\xa9\xef\xbf\xbd"
              "a");
}

TEST(SentencePieces, stepsToOthersComeApart)
{
    const auto pieces = read(modelOfPairs());
    EXPECT_EQ(idsOf(*pieces, "ab"), "3 ");
    EXPECT_EQ(idsOf(*pieces, "bab"), "7 6 5 6 "); // "ab" is only a step
    EXPECT_EQ(idsOf(*pieces, "a<x>b"), "7 5 8 6 ");
}

TEST(SentencePieces, rulesReplaceText)
{
    EXPECT_EQ(idsOf(*read(modelWithRule(0)), "Aa"), "4 3 3 ");
    EXPECT_NE(idsOf(*read(modelWithRule(7)), "Aa").find("names text that is not there, found 7"), std::string::npos);
}

TEST(SentencePieces, saysWhatIsWrongWithAModel)
{
    EXPECT_EQ(errorOf(""), "a SentencePiece model defines no unknown piece");
    EXPECT_EQ(errorOf(basic()), "a SentencePiece model has no pieces");
    EXPECT_EQ(errorOf(basic() + basic()), "a SentencePiece model defines two unknown pieces");
    EXPECT_EQ(errorOf(basic() + piece("a", 0, 1) + piece("a", 0, 1)), "a SentencePiece model defines the piece 'a' twice");
    EXPECT_EQ(errorOf(basic() + piece("", 0, 1)), "a SentencePiece model has a piece without text: number 3");
    EXPECT_EQ(errorOf(basic() + piece("a", 0, 1) + part(2, flag(3, 9))), "a SentencePiece model is of an unknown kind: 9");
    EXPECT_EQ(errorOf(basic() + piece("a", 0, 1) + part(2, flag(35, 1))),
              "a SentencePiece model falls back to bytes, of which some are missing");
    EXPECT_EQ(errorOf(basic() + piece("a", 0, 1) + part(3, part(2, "broken"))),
              "the rules of a SentencePiece model are damaged, found a trie of 1802465890 bytes, expected less than 2");
    EXPECT_EQ(errorOf(basic() + piece("a", std::bit_cast<float>(0x7fc00000U), 1)),
              "a SentencePiece model has a piece whose score is no number: number 3");
}

/// Whatever bytes say: an answer or an error, and no step outside of them.
TEST(SentencePieces, damagedModelsAreHarmless)
{
    std::mt19937 random(7);
    const std::vector<std::string> models = {modelWithBytes(), modelOfPairs(), modelWithRule(0)};
    int answers = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string model = models[static_cast<size_t>(round) % models.size()];
        for (unsigned k = random() % 4 + 1; k > 0; --k) model[random() % model.size()] = static_cast<char>(random());
        if (round % 5 == 0) model.resize(random() % model.size());
        const auto pieces = SentencePieces::read(model);
        if (!pieces.ok()) continue;
        const auto encoded = pieces.value()->encode("A ab<x>\xc3\xa9 \xff baA", {});
        if (!encoded.ok()) continue;
        std::vector<std::string_view> names;
        for (const TextPiece& one : encoded.value()) names.push_back(one.text);
        (void)pieces.value()->decode(names, {});
        ++answers;
    }
    EXPECT_GT(answers, 100);
}

} // namespace
