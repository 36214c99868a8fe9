// A transport as the simulation sees it: the two ends of a flow, from its start until it has finished.
//
// A transport is a file pair here and an entry in registry.hpp. Its rules have, beside their `fields`:
//   name         of the data class in simulator/packet/transports.py
//   datagrams    true if each packet counts on its own: the simulation notes arrivals, and `receive` is not called
//   timers       how many it uses, numbered from 0
//   packets      of a flow of so many bytes, `endless` for one without an end
//   transport    makes the transport of one flow; it may keep a reference to these rules, not to the flow's, which move
// and, for runs by several threads, where each end may be in an object of its own:
//   draws           a function: true if an end, always the same, draws random numbers; without it none does
//   shared_by_ends  true if an end uses what only the other one knows, but for packets
#pragma once

#include "transports/host.hpp"

namespace kuijia::packet {

// Numbers that a transport shows while it lives; afterwards all but `outstanding`, `window` and `round_trip`.
struct TransportCounters {
    std::uint64_t goodput = 0; // bytes that arrived for the first time, without headers; of TCP those in order
    std::uint32_t retransmitted = 0;
    std::uint32_t timeouts = 0;
    std::uint32_t recoveries = 0;
    std::uint32_t outstanding = 0;
    double window = 0; // packets
    Time round_trip = 0;
    std::uint32_t offered = 0; // emulation packets or credits that were sent
    std::uint32_t credits = 0; // that reached the sender
    std::uint32_t unused = 0;  // of these, those that sent nothing
};

class Transport {
  public:
    Transport() = default;
    Transport(const Transport &) = delete;
    Transport &operator=(const Transport &) = delete;
    virtual ~Transport() = default;

    virtual void start(Host &host) = 0;

    // A packet has arrived at either end; which, its kind tells.
    virtual void receive(Host &host, const Packet &packet) = 0;

    // The timer has expired. It may be too early: an earlier wish for the same timer stands when a later one comes.
    virtual void wake(Host &host, unsigned timer) = 0;

    virtual TransportCounters counters() const = 0;
};

} // namespace kuijia::packet
