// Equal-cost multipath: each switch hashes the flow's number anew (RFC 2992).
#pragma once

#include "routing/forwarding.hpp"

#include <span>

namespace kuijia::packet {

struct SwitchEcmpRules {
    static constexpr const char *name = "SwitchEcmp";
    static auto fields() { return std::tuple{}; }
    std::unique_ptr<Forwarding> forwarding(ShortestPaths &paths, std::uint64_t seed) const;
};

// Returns the choice of a switch for a flow: the hash is that of simulator/packet/routing.py, so that both take the
// same paths.
std::uint32_t by_hash(std::span<const std::uint32_t> choices, std::uint64_t seed, std::uint32_t flow,
                      std::uint32_t node);

class SwitchEcmp final : public Forwarding {
  public:
    SwitchEcmp(ShortestPaths &paths, std::uint64_t seed) : paths_(paths), seed_(seed) {}

    std::uint32_t next(std::uint32_t node, std::uint32_t target, Packet &packet, Time now) override;

  private:
    ShortestPaths &paths_;
    std::uint64_t seed_;
};

} // namespace kuijia::packet
