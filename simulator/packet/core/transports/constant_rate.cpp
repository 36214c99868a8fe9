#include "transports/constant_rate.hpp"

namespace kuijia::packet {

std::unique_ptr<Transport> ConstantRateRules::transport(const FlowRules &flow) const {
    return std::make_unique<ConstantRate>(*this, flow);
}

ConstantRate::ConstantRate(const ConstantRateRules &rules, const FlowRules &flow)
    : rules_(rules), start_(flow.start), gap_(Rate(rules.rate).of(rules.packet)),
      packets_(static_cast<std::uint32_t>(rules.packets(flow.bytes))), last_(last_of(flow.bytes, rules.packet)) {}

void ConstantRate::send_due(Host &host) {
    for (; next_ < packets_; ++next_) {
        if (const auto time = start_ + gap_ * next_; time > host.now())
            return host.wake_at(0, time);
        const auto made = host.make(Way::forward, Kind::data, next_ + 1 == packets_ ? last_ : rules_.packet);
        made.packet.number = next_;
        host.send(made.id);
    }
    host.finish(false);
}

} // namespace kuijia::packet
