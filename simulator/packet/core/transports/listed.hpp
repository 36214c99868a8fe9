// Single packets at given times, without acknowledgements.
#pragma once

#include "fields.hpp"
#include "transports/transport.hpp"

#include <memory>

namespace kuijia::packet {

struct ListedRules {
    static constexpr const char *name = "Packets";
    static constexpr bool datagrams = true;
    static constexpr unsigned timers = 1;

    std::vector<Time> times;
    std::vector<std::uint32_t> sizes; // bytes on the wire
    bool ecn = false;                 // the packets are ECN-capable

    static auto fields() {
        return std::tuple{
            numbers("times", &ListedRules::times, 0, longest, "must be between 0 and 26 days", Unit::seconds),
            numbers("sizes", &ListedRules::sizes, 1, largest_packet, "must be between 1 and 2^20 bytes"),
            plain("ecn", &ListedRules::ecn),
        };
    }
    const char *fault() const;
    std::uint64_t packets(std::uint64_t) const { return times.size(); }
    std::unique_ptr<Transport> transport(const FlowRules &flow) const;
};

class Listed final : public Transport {
  public:
    explicit Listed(const ListedRules &rules) : rules_(rules) {}

    void start(Host &host) override { send_due(host); }
    void receive(Host &, const Packet &) override {}
    void wake(Host &host, unsigned) override { send_due(host); }
    TransportCounters counters() const override { return {}; }

  private:
    void send_due(Host &host);

    const ListedRules &rules_;
    std::uint32_t next_ = 0;
};

} // namespace kuijia::packet
