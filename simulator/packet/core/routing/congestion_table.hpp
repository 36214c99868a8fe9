// The congestion that one leaf switch knows of, on paths to and from another one (Alizadeh et al., CONGA, SIGCOMM 2014,
// section 3.3). Paths are named by tags: the uplinks of the leaf at which they begin.
#pragma once

#include "units.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kuijia::packet {

struct PathLoad {
    std::uint32_t tag;
    std::uint8_t level;
};

inline constexpr std::uint32_t no_tag = 0x7ff; // larger than any other

class CongestionTable {
  public:
    // After `aging` without news a load counts as zero and is not returned any more.
    explicit CongestionTable(Time aging) : aging_(aging) {}

    // A packet from the other leaf has met this load on its path.
    void record(PathLoad load, Time now);

    // Returns the load of a path from the other leaf that the next packet back reports: in turn, those first that have
    // changed since they were last reported. The tag is `no_tag` if there is none.
    PathLoad report(Time now);

    // A report of the other leaf has come: of a path to it.
    void learn(PathLoad load, Time now);

    // Returns the load of a path to the other leaf, as far as it is known.
    std::uint8_t level(std::uint32_t tag, Time now) const {
        return tag < to_.size() && now - to_[tag].at <= aging_ ? to_[tag].level : std::uint8_t{0};
    }

  private:
    static constexpr std::uint8_t unreported = 0xff;

    struct To {
        Time at = 0;
        std::uint8_t level = 0;
    };
    struct From {
        Time at = 0;
        bool known = false;
        std::uint8_t level = 0;
        std::uint8_t reported = unreported;
        bool changed() const { return known && level != reported; }
    };

    Time aging_;
    std::vector<To> to_;     // by tag
    std::vector<From> from_; // by tag
    std::size_t changed_ = 0;
    std::size_t turn_ = 0;
};

} // namespace kuijia::packet
