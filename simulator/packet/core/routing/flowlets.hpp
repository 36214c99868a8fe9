// Flowlets: after a pause of its flow a packet may take any shortest path, at random (Vanini et al., LetFlow, NSDI
// 2017).
#pragma once

#include "routing/forwarding.hpp"

#include <unordered_map>

namespace kuijia::packet {

struct FlowletsRules {
    static constexpr const char *name = "Flowlets";
    Time gap = second / 10'000; // pause between two flowlets

    static auto fields() { return std::tuple{duration("gap", &FlowletsRules::gap)}; }
    std::unique_ptr<Forwarding> forwarding(ShortestPaths &paths, std::uint64_t seed) const;
};

class Flowlets final : public Forwarding {
  public:
    Flowlets(ShortestPaths &paths, std::uint64_t seed, Time gap) : paths_(paths), random_(seed), gap_(gap) {}

    std::uint32_t next(std::uint32_t node, std::uint32_t target, Packet &packet, Time now, std::uint32_t link) override;

  private:
    struct Entry {
        std::uint32_t link = no_link;
        Time last = 0;
    };

    ShortestPaths &paths_;
    Random random_;
    Time gap_;
    std::unordered_map<std::uint64_t, Entry> table_; // by node, flow and direction
};

} // namespace kuijia::packet
