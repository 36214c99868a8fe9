// Follows packets through a run: those of one flow that take the same links one after the other, in the same queues,
// arrive in the order in which they were sent. So packets of one path and class do, and those of one flowlet.
#pragma once

#include "packets.hpp"
#include "random.hpp"

#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace kuijia::packet {

class Trace {
  public:
    void sent(PacketId id) {
        if (id >= packets_.size())
            packets_.resize(id + std::size_t{1});
        packets_[id] = {++sent_, 0};
    }

    void offered(PacketId id, std::uint32_t link, std::uint8_t level) {
        auto &path = packets_[id].path;
        path = mixed(path + (std::uint64_t{level} << 32) + link + 1);
    }

    void received(PacketId id, const Packet &packet) {
        const auto &[number, path] = packets_[id];
        const auto ends = std::uint64_t{packet.flow} << 9 | std::uint64_t{packet.backward} << 8 | packet.level;
        auto &last = last_[mixed(mixed(path) + ends)];
        if (number <= last)
            throw std::logic_error("a packet has overtaken another one of its flow, path and class");
        last = number;
    }

  private:
    struct Followed {
        std::uint64_t number; // among all that were sent
        std::uint64_t path;   // hash of the links and levels so far
    };

    std::uint64_t sent_ = 0;
    std::vector<Followed> packets_;
    std::unordered_map<std::uint64_t, std::uint64_t> last_; // received, by flow, direction, class and path
};

} // namespace kuijia::packet
