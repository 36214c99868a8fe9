#include "transports/resequencer.hpp"

#include <algorithm>

namespace kuijia::packet {

const std::vector<Packet> &Resequencer::received(const Packet &packet, Time now) {
    passed_.clear();
    const auto place =
        std::ranges::lower_bound(beyond_, packet.number, {}, [](const Packet &each) { return each.number; });
    const bool is_known = place != beyond_.end() && place->number == packet.number;
    if (packet.number > next_ && !is_known) {
        beyond_.insert(place, packet);
        gap_until_ = std::min(gap_until_, now + rules_->resequencing);
        return passed_;
    }
    add_ready(packet, now); // a segment that has come before tells the sender that its retransmission was needless
    if (packet.number < next_ && rules_->resequencing_stays) {
        next_ = packet.number + 1;
    } else if (packet.number == next_) {
        ++next_;
        auto filled = beyond_.begin();
        for (; filled != beyond_.end() && filled->number == next_; ++filled, ++next_)
            add_ready(*filled, now);
        if (filled != beyond_.begin()) {
            beyond_.erase(beyond_.begin(), filled);
            gap_until_ = beyond_.empty() ? never : now + rules_->resequencing;
        }
    }
    if (rules_->in_order_hold == 0 || ready_.size() >= rules_->in_order_packets)
        pass_ready();
    return passed_;
}

// A gap that is not filled in time is left to TCP. What `stays` at it waits for its segments again: once the first of
// them is here, for the next, which was passed on long ago.
const std::vector<Packet> &Resequencer::due(Time now) {
    passed_.clear();
    if (deadline() > now)
        return passed_;
    pass_ready();
    if (gap_until_ <= now) {
        if (!rules_->resequencing_stays)
            next_ = beyond_.back().number + 1;
        passed_.insert(passed_.end(), beyond_.begin(), beyond_.end());
        beyond_.clear();
        gap_until_ = never;
    }
    return passed_;
}

void Resequencer::add_ready(const Packet &packet, Time now) {
    ready_.push_back(packet);
    ready_until_ = std::min(ready_until_, now + rules_->in_order_hold);
}

void Resequencer::pass_ready() {
    passed_.insert(passed_.end(), ready_.begin(), ready_.end());
    ready_.clear();
    ready_until_ = never;
}

} // namespace kuijia::packet
