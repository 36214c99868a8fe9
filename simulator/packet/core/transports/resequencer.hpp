// A buffer below the receiver of TCP that puts segments back into order (as in Presto, He et al., SIGCOMM 2015): those
// behind a gap wait until it is filled or a timer ends, so that reordering causes no duplicate acknowledgements.
#pragma once

#include "packets.hpp"
#include "transports/tcp_rules.hpp"
#include "units.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kuijia::packet {

class Resequencer {
  public:
    explicit Resequencer(const TcpRules &rules) : rules_(&rules) {}

    // Both return what the receiver gets now, in order of the numbers; valid until the next call.
    const std::vector<Packet> &received(const Packet &packet, Time now);
    const std::vector<Packet> &due(Time now);

    // Returns when `due` must be called; `never` while nothing is held back.
    Time deadline() const { return std::min(ready_until_, gap_until_); }

  private:
    void add_ready(const Packet &packet, Time now);
    void pass_ready();

    const TcpRules *rules_;
    std::uint32_t next_ = 0;    // segment that the receiver would get next
    std::vector<Packet> ready_; // in order, held back to be passed on together
    Time ready_until_ = never;
    std::vector<Packet> beyond_; // a gap, by number
    Time gap_until_ = never;
    std::vector<Packet> passed_;
};

} // namespace kuijia::packet
