#include "transports/listed.hpp"

#include <algorithm>

namespace kuijia::packet {

const char *ListedRules::fault() const {
    if (times.size() != sizes.size())
        return "there must be as many times as sizes";
    return std::is_sorted(times.begin(), times.end()) ? nullptr : "times must not decrease";
}

std::unique_ptr<Transport> ListedRules::transport(const FlowRules &) const { return std::make_unique<Listed>(*this); }

void Listed::send_due(Host &host) {
    for (; next_ < rules_.times.size(); ++next_) {
        if (rules_.times[next_] > host.now())
            return host.wake_at(0, rules_.times[next_]);
        const auto made = host.make(Way::forward, Kind::data, rules_.sizes[next_]);
        made.packet.number = next_;
        made.packet.ecn_capable = rules_.ecn;
        host.send(made.id);
    }
    host.finish(false);
}

} // namespace kuijia::packet
