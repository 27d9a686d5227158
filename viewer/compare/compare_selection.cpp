// What is selected on both sides, and the ways through the differences.
#include "viewer/compare/compare_desk.h"

#include "engine/observe/address.h"
#include "engine/observe/address_names.h"
#include "viewer/bridge/text.h"

#include <algorithm>

namespace loopscope::viewer {

void CompareDesk::setSelection(int row, std::vector<std::string> here, std::vector<std::string> there)
{
    if (row == m_row && here == m_selected[0] && there == m_selected[1]) return;
    m_row = row;
    m_selected[0] = std::move(here);
    m_selected[1] = std::move(there);
    if (!m_selected[0].empty() && chosenOperator() != m_selected[0].front()) {
        m_selecting = true;
        m_document.select(m_selected[0].front());
        m_selecting = false;
    }
    emit selectionChanged();
    if (!isPinned()) emit shownRowChanged();
}

void CompareDesk::setPinned(bool pinned)
{
    if (pinned == isPinned() || (pinned && m_row < 0)) return;
    m_pinned = pinned ? m_row : -1;
    emit shownRowChanged();
}

std::vector<std::string> CompareDesk::partnersOf(CompareSide side, const std::string& address) const
{
    std::vector<std::string> partners;
    if (!m_scenes) return partners;
    const auto& known = side == CompareSide::here ? m_scenes->rowsHere : m_scenes->rowsThere;
    if (const auto found = known.find(address); found != known.end())
        for (const int pair : found->second) {
            const PairedRow& row = m_scenes->rows[static_cast<size_t>(pair)];
            partners.push_back(side == CompareSide::here ? row.there : row.here);
        }
    for (const RewritePlaces& each : m_rewrites) {
        const auto& own = side == CompareSide::here ? each.here : each.there;
        const auto& others = side == CompareSide::here ? each.there : each.here;
        if (std::ranges::find(own, address) != own.end()) partners.insert(partners.end(), others.begin(), others.end());
    }
    return partners;
}

int CompareDesk::rowOfRewrite(int rewrite) const
{
    int row = -1;
    if (rewrite >= 0 && static_cast<size_t>(rewrite) < m_rewrites.size())
        for (const std::string& address : m_rewrites[static_cast<size_t>(rewrite)].here)
            row = std::max(row, m_judgement.worstOf(m_judgement.rowsAt(address)));
    return row;
}

void CompareDesk::selectRewrite(int rewrite)
{
    if (rewrite < 0 || static_cast<size_t>(rewrite) >= m_rewrites.size()) return;
    const RewritePlaces& places = m_rewrites[static_cast<size_t>(rewrite)];
    if (!places.here.empty()) setSelection(rowOfRewrite(rewrite), places.here, places.there);
}

void CompareDesk::selectRow(int row)
{
    if (!drift() || row < 0 || static_cast<size_t>(row) >= drift()->rows.size()) return setSelection(-1, {}, {});
    select(CompareSide::here, drift()->rows[static_cast<size_t>(row)].address, row);
}

void CompareDesk::selectAt(CompareSide side, const std::string& address) { select(side, address, -1); }

/// What belongs together is selected together, however many operators that are on either side. `row` −1: of all their results the worst.
void CompareDesk::select(CompareSide side, const std::string& address, int row)
{
    std::vector<std::string> sides[2];
    const auto own = static_cast<size_t>(side);
    sides[own].push_back(shownFor(side, address));
    for (size_t next[2] = {0, 0}; next[0] < sides[0].size() || next[1] < sides[1].size();)
        for (const CompareSide from : {CompareSide::here, CompareSide::there}) {
            const auto at = static_cast<size_t>(from);
            while (next[at] < sides[at].size())
                for (std::string& partner : partnersOf(from, sides[at][next[at]++]))
                    if (std::ranges::find(sides[1 - at], partner) == sides[1 - at].end()) sides[1 - at].push_back(std::move(partner));
        }
    for (size_t k = 0; row < 0 && k < sides[0].size(); ++k) row = m_judgement.worstOf(m_judgement.rowsAt(sides[0][k]));
    setSelection(row, std::move(sides[0]), std::move(sides[1]));
}

/// What draws an operator: itself, or the outermost thing that is folded over it.
std::string CompareDesk::shownFor(CompareSide side, const std::string& address) const
{
    std::string shown = address;
    for (const std::string& id : foldedOf(side))
        if (shown.starts_with(id + ":")) shown = id;
    return shown;
}

QString CompareDesk::reason() const
{
    if (!m_scenes || m_selected[0].empty() || m_selected[1].empty()) return {};
    for (size_t k = 0; k < m_rewrites.size(); ++k)
        if (const FusedSide& side = *m_document.backend().fused(); m_rewrites[k].there == m_selected[1])
            return side.file.empty() ? tr("fused by the rule %1").arg(toText(side.rewrites[k].place.rule))
                                     : tr("rewritten, matched %1").arg(toText(side.rewrites[k].equality));
    const auto found = m_scenes->rowsHere.find(m_selected[0].front());
    if (found == m_scenes->rowsHere.end()) return {};
    switch (m_scenes->rows[static_cast<size_t>(found->second.front())].how) {
    case PairedBy::address: return tr("by address");
    case PairedBy::name: return tr("by tensor name");
    case PairedBy::position: return tr("by position");
    case PairedBy::structure: return tr("by structure: kind, shape and order");
    }
    return {};
}

/// After another run or picture: what is selected, with what belongs to it now.
void CompareDesk::reselect()
{
    const std::string chosen = chosenOperator();
    if (!m_selected[0].empty() || !m_selected[1].empty())
        select(m_selected[0].empty() ? CompareSide::there : CompareSide::here,
               std::string(m_selected[m_selected[0].empty() ? 1 : 0].front()), m_row);
    else if (!chosen.empty()) selectAt(CompareSide::here, chosen);
}

/// What the document has selected, as pictures and comparisons name it: without iterations, the operator of an output.
std::string CompareDesk::chosenOperator() const
{
    Result<Address> address = parseAddress(m_document.selection().address);
    if (!address.ok()) return m_document.selection().address;
    *address = withoutIterations(*std::move(address));
    if (address->target == TargetKind::output) { // a node of TensorFlow and its first output have one name
        address->target = TargetKind::op;
        address->slot = -1;
    }
    return toString(*address);
}

bool CompareDesk::goToDifference(int step)
{
    const std::vector<int>& over = m_judgement.over();
    if (over.empty()) return false;
    auto next = std::ranges::find(over, m_row);
    if (next != over.end()) {
        if (step < 0 && next == over.begin()) return false;
        next += step;
    } else if (m_row < 0) {
        next = step > 0 ? over.begin() : std::prev(over.end());
    } else { // between those that are over the limit
        const auto stepAt = [this](int row) { return m_judgement.firstStepOf(row); };
        next = std::ranges::lower_bound(over, stepAt(m_row), {}, stepAt);
        if (step < 0 && next == over.begin()) return false;
        if (step < 0) --next;
    }
    if (next == over.end()) return false;
    selectRow(*next);
    return true;
}

bool CompareDesk::goToWorse()
{
    const std::vector<int> rows = m_judgement.byBadness();
    if (rows.empty()) return false;
    const auto present = std::ranges::find(rows, m_row);
    // Without a selection that differs, the worst; from there on upwards the least comes next.
    selectRow(present == rows.end() ? rows.back() : present + 1 == rows.end() ? rows.front() : *(present + 1));
    return true;
}

} // namespace loopscope::viewer
