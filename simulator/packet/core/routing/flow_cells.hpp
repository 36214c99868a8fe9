// The next path in turn after each cell of so many bytes. A cell of one byte means packet by packet (Cao et al., DRB,
// CoNEXT 2013); Presto has cells of 64 KB (He et al., SIGCOMM 2015).
#pragma once

#include "routing/path_choice.hpp"

#include <vector>

namespace kuijia::packet {

struct FlowCellsRules {
    static constexpr const char *name = "FlowCells";
    std::uint32_t size = 1; // bytes of a cell

    static auto fields() {
        return std::tuple{
            number("size", &FlowCellsRules::size, 1, 1u << 30, "must be between 1 and 2^30 bytes"),
        };
    }
    std::unique_ptr<PathChoice> choice(PathNetwork &, std::uint64_t seed) const;
};

class FlowCells final : public PathChoice {
  public:
    FlowCells(std::uint32_t size, std::uint64_t seed) : size_(size), seed_(seed) {}

    std::uint32_t choose(Packet &packet, const Choices &choices) override;

  private:
    struct Cell {
        std::uint32_t turn;
        std::uint32_t left = 0; // bytes
        bool begun = false;
    };

    std::uint32_t size_;
    std::uint64_t seed_;
    std::vector<Cell> cells_; // of each flow's two directions
};

} // namespace kuijia::packet
