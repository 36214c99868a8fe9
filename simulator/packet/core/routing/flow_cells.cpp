#include "routing/flow_cells.hpp"

namespace kuijia::packet {

std::unique_ptr<PathChoice> FlowCellsRules::choice(PathNetwork &, std::uint64_t seed) const {
    return std::make_unique<FlowCells>(size, mixed(seed + 0x63656c6c73));
}

std::uint32_t FlowCells::choose(Packet &packet, const Choices &choices) {
    const auto place = 2 * std::size_t{packet.flow} + packet.backward;
    if (place >= cells_.size())
        cells_.resize(place + 1);
    auto &cell = cells_[place];
    if (!cell.begun) { // flows begin on different paths, or all would meet on the first
        cell.begun = true;
        cell.turn = static_cast<std::uint32_t>(mixed(mixed(seed_) + place));
        cell.left = size_;
    } else if (cell.left == 0) {
        ++cell.turn;
        cell.left = size_;
    }
    cell.left -= packet.size < cell.left ? packet.size : cell.left;
    return cell.turn % choices.count();
}

} // namespace kuijia::packet
