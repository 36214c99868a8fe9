// Packets at a constant rate, without acknowledgements.
#pragma once

#include "fields.hpp"
#include "transports/transport.hpp"

#include <memory>

namespace kuijia::packet {

struct ConstantRateRules {
    static constexpr const char *name = "ConstantRate";
    static constexpr bool datagrams = true;
    static constexpr unsigned timers = 1;

    std::int64_t rate = slowest; // bit/s of packets with their headers
    std::uint32_t packet = 1500; // bytes with the header

    static auto fields() {
        return std::tuple{
            kuijia::packet::rate("rate", &ConstantRateRules::rate),
            number("packet", &ConstantRateRules::packet, 1, largest_packet, "must be between 1 and 2^20 bytes"),
        };
    }
    std::uint64_t packets(std::uint64_t bytes) const { return packets_of(bytes, packet); }
    std::unique_ptr<Transport> transport(const FlowRules &flow) const;
};

class ConstantRate final : public Transport {
  public:
    ConstantRate(const ConstantRateRules &rules, const FlowRules &flow);

    void start(Host &host) override { send_due(host); }
    void receive(Host &, const Packet &) override {}
    void wake(Host &host, unsigned) override { send_due(host); }
    TransportCounters counters() const override { return {}; }

  private:
    void send_due(Host &host);

    const ConstantRateRules &rules_;
    Time start_;
    Time gap_;
    std::uint32_t packets_;
    std::uint32_t last_; // bytes of the last of them
    std::uint32_t next_ = 0;
};

} // namespace kuijia::packet
