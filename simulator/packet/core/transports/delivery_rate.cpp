#include "transports/delivery_rate.hpp"

#include <algorithm>

namespace kuijia::packet {

void DeliveryRate::sent(std::uint32_t number, bool was_idle, Time now) {
    if (was_idle)
        first_sent_ = delivered_time_ = now;
    const Record record{now, first_sent_, delivered_time_, delivered_, app_limited()};
    if (records_.empty())
        first_ = number;
    const auto place = number - first_;
    if (place < records_.size())
        records_[place] = record;
    else
        records_.push_back(record);
}

void DeliveryRate::delivered(std::uint32_t number, Time now) {
    const auto place = number - first_;
    if (place >= records_.size() || records_[place].delivered_time == never)
        return;
    auto &record = records_[place];
    ++delivered_;
    delivered_time_ = now;
    // Of several segments the one that was sent last counts.
    if (!any_ || record.delivered >= prior_delivered_) {
        any_ = true;
        prior_delivered_ = record.delivered;
        of_app_limited_ = record.app_limited;
        send_elapsed_ = record.sent - record.first_sent;
        ack_elapsed_ = now - record.delivered_time;
        first_sent_ = record.sent;
    }
    record.delivered_time = never;
}

RateSample DeliveryRate::sample(Time sample) {
    if (app_limited() && delivered_ > app_limited_until_)
        app_limited_until_ = 0;
    least_round_trip_ = std::min(least_round_trip_, sample);
    if (!any_)
        return {};
    any_ = false;
    const auto interval = std::max(send_elapsed_, ack_elapsed_);
    RateSample found{true, 0, prior_delivered_, of_app_limited_};
    // Shorter intervals belong to segments that were sent again although they had arrived.
    if (interval >= least_round_trip_)
        found.rate = static_cast<double>(delivered_ - prior_delivered_) / seconds(interval);
    return found;
}

void DeliveryRate::forget_below(std::uint32_t number) {
    while (!records_.empty() && first_ < number) {
        records_.pop_front();
        ++first_;
    }
}

void DeliveryRate::limit_by_application(double in_flight) {
    app_limited_until_ = std::max<std::uint64_t>(delivered_ + static_cast<std::uint64_t>(in_flight), 1);
}

} // namespace kuijia::packet
