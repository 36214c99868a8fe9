// Equal-cost multipath: each switch hashes the flow's number anew (RFC 2992).
#pragma once

#include "routing/forwarding.hpp"

namespace kuijia::packet {

struct SwitchEcmpRules {
    static constexpr const char *name = "SwitchEcmp";
    static auto fields() { return std::tuple{}; }
    std::unique_ptr<Forwarding> forwarding(ShortestPaths &paths, std::uint64_t seed) const;
};

class SwitchEcmp final : public Forwarding {
  public:
    SwitchEcmp(ShortestPaths &paths, std::uint64_t seed) : paths_(paths), seed_(seed) {}

    std::uint32_t next(std::uint32_t node, std::uint32_t target, Packet &packet, Time now, std::uint32_t link) override;

  private:
    ShortestPaths &paths_;
    std::uint64_t seed_;
};

} // namespace kuijia::packet
