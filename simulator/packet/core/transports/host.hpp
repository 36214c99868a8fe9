// The network as a transport sees it: the hosts at both ends of its flow.
#pragma once

#include "fields.hpp"
#include "packets.hpp"
#include "random.hpp"
#include "units.hpp"

#include <cstdint>

namespace kuijia::packet {

class Simulation;

struct FlowRules {
    std::uint8_t level;      // of packets, unless their transport chooses another; 0 is served first
    std::uint32_t transport; // index into the scenario's transports
    std::uint32_t forward;   // index into the scenario's paths
    std::uint32_t backward;  // the same for what the receiver sends
    Time start;
    std::uint64_t bytes; // to deliver; 0 for no end

    static auto fields() {
        constexpr auto most = std::numeric_limits<std::uint64_t>::max();
        return std::tuple{
            plain("level", &FlowRules::level),     plain("transport", &FlowRules::transport),
            plain("forward", &FlowRules::forward), plain("backward", &FlowRules::backward),
            duration("start", &FlowRules::start),  number("size", &FlowRules::bytes, 0, most, "must be at least 0"),
        };
    }
};

inline constexpr std::uint32_t endless = 0xffffffff;

// Returns the number of packets for so many bytes, `endless` for none.
constexpr std::uint64_t packets_of(std::uint64_t bytes, std::uint64_t full) {
    return bytes > 0 ? bytes / full + (bytes % full > 0) : endless;
}

// Returns the bytes in the last of these packets.
constexpr std::uint32_t last_of(std::uint64_t bytes, std::uint32_t full) {
    return bytes > 0 ? static_cast<std::uint32_t>((bytes - 1) % full + 1) : full;
}

enum class Way : std::uint8_t { forward, backward };

class Host {
  public:
    Host(Simulation &simulation, std::uint32_t flow, Time now) : simulation_(simulation), flow_(flow), now_(now) {}

    Time now() const { return now_; }
    Random &random();

    // A new packet that the sender (forward) or the receiver (backward) is about to send; the level is the flow's. Its
    // number and `again`, if its segment was sent before, are here for those who choose its path.
    struct Outgoing {
        PacketId id;
        Packet &packet;
    };
    Outgoing make(Way way, Kind kind, std::uint32_t size, std::uint32_t number = 0, bool again = false);
    void send(PacketId id);

    // Asks for `wake` at this time, or before.
    void wake_at(unsigned timer, Time time);

    // Returns when the sender's network card will have sent all that it has by now.
    Time card_free_at() const;

    // Returns the bit/s of the first link of the sender's path (forward), or of the receiver's.
    std::int64_t card_rate(Way way) const;

    // The sender's timer has expired: path selection may take another way.
    void timed_out();

    // The receiver has everything.
    void complete();

    // The sender needs nothing more: the transport ends after this call.
    void finish(bool acknowledged);

  private:
    Simulation &simulation_;
    std::uint32_t flow_;
    Time now_;
};

} // namespace kuijia::packet
