// Delivery rate: how fast the network delivers a connection's segments, by
// draft-cheng-iccrg-delivery-rate-estimation-00.
#pragma once

#include "units.hpp"

#include <cstdint>
#include <deque>
#include <limits>

namespace kuijia::packet {

struct RateSample {
    bool known = false;                // something was delivered
    double rate = 0;                   // segments per second; 0 if the sample is not valid
    std::uint64_t prior_delivered = 0; // C.delivered when the newest of the delivered segments was sent
    bool app_limited = false;
};

class DeliveryRate {
  public:
    // Section 3.2: upon sending each segment; `was_idle` if nothing was outstanding (SND.NXT == SND.UNA) before it. A
    // retransmission replaces the first one.
    void sent(std::uint32_t number, bool was_idle, Time now);

    // Section 3.3, UpdateRateSample: upon the first acknowledgement of each segment.
    void delivered(std::uint32_t number, Time now);

    // Section 3.3, GenerateRateSample: after all segments of an acknowledgement, whose round-trip time is `sample`.
    RateSample sample(Time sample);

    // Forgets the segments below this number.
    void forget_below(std::uint32_t number);

    // Section 3.4: from now on, until what is in flight has been delivered, the sender does not use all that it may.
    void limit_by_application(double in_flight);
    bool app_limited() const { return app_limited_until_ > 0; }

    std::uint64_t total() const { return delivered_; }

  private:
    // P.delivered and its like; a segment that has been delivered has `delivered_time` never.
    struct Record {
        Time sent;
        Time first_sent;
        Time delivered_time;
        std::uint64_t delivered;
        bool app_limited;
    };

    std::deque<Record> records_; // of the segments from `first_` on
    std::uint32_t first_ = 0;
    std::uint64_t delivered_ = 0; // C.delivered, segments
    Time delivered_time_ = 0;
    Time first_sent_ = 0;
    std::uint64_t app_limited_until_ = 0; // C.app_limited
    Time least_round_trip_ = never;

    // The rate sample in the making (rs).
    bool any_ = false;
    std::uint64_t prior_delivered_ = 0;
    Time send_elapsed_ = 0;
    Time ack_elapsed_ = 0;
    bool of_app_limited_ = false;
};

} // namespace kuijia::packet
