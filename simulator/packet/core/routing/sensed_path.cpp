#include "routing/sensed_path.hpp"

namespace kuijia::packet {

void SensedPath::acknowledged(const SensingRules &rules, std::optional<Time> delay, bool echo) {
    if (delay)
        take_delay(rules, *delay);
    heard_marked_ += echo;
    if (++heard_ < rules.marked_sample)
        return;
    take_marked(rules, 1.0 * heard_marked_ / heard_);
    heard_ = heard_marked_ = 0;
}

void SensedPath::probed(const SensingRules &rules, Time delay, bool echo) {
    take_delay(rules, delay);
    take_marked(rules, echo ? 1 : 0);
}

void SensedPath::take_delay(const SensingRules &rules, Time sample) {
    const auto newest = static_cast<double>(sample);
    delay_ = known() ? delay_ + rules.round_trip_gain * (newest - delay_) : newest;
}

void SensedPath::take_marked(const SensingRules &rules, double share) {
    marked_ = marked_known_ ? marked_ + rules.marked_gain * (share - marked_) : share;
    marked_known_ = true;
}

PathKind SensedPath::kind(const SensingRules &rules, Time base) const {
    if (!known())
        return PathKind::gray;
    const bool low = delay_ < static_cast<double>(base + rules.low);
    const bool high = delay_ > static_cast<double>(base + rules.high);
    if (low && (!rules.uses_ecn || marked_ < rules.marked))
        return PathKind::good;
    return high && (!rules.uses_ecn || marked_ > rules.marked) ? PathKind::congested : PathKind::gray;
}

bool SensedPath::sent(const SensingRules &rules, Time base, Time now) {
    if (sent_++ == 0 && again_ == 0)
        count_end_ = now + rules.failure_every;
    return now >= count_end_ && judge(rules, base, now);
}

bool SensedPath::sent_again(const SensingRules &rules, Time base, Time now) {
    ++again_;
    return now >= count_end_ && judge(rules, base, now);
}

// Ends the count, unless there are too few packets in it.
bool SensedPath::judge(const SensingRules &rules, Time base, Time now) {
    if (sent_ < rules.failure_sample)
        return false;
    const bool is_congested = was_congested_ || kind(rules, base) == PathKind::congested;
    const bool loses = again_ > rules.failure_share * sent_ && !is_congested;
    const bool is_new = loses && !failed(now);
    sent_ = again_ = 0;
    was_congested_ = false;
    if (loses)
        failed_until_ = now + rules.failure_lasts;
    return is_new;
}

} // namespace kuijia::packet
