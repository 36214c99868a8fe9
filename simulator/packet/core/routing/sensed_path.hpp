// A path to another rack as a host, or all hosts of a rack, know it: Hermes (Zhang et al., SIGCOMM 2017), Algorithm 1.
#pragma once

#include "fields.hpp"
#include "routing/discounted_bytes.hpp"

#include <cstdint>
#include <optional>

namespace kuijia::packet {

enum class PathKind : std::uint8_t { good, gray, congested };

struct SensingRules {
    double marked = 0.4; // T_ECN
    Time low = 0;        // T_RTT_low
    Time high = 0;       // T_RTT_high
    bool uses_ecn = true;
    double round_trip_gain = 0.5;
    double marked_gain = 0.5;
    std::uint32_t marked_sample = 10; // acknowledgements
    Time failure_every = second / 100;
    double failure_share = 0.01;
    std::uint32_t failure_sample = 100; // packets
    Time failure_lasts = 100 * second;
};

class SensedPath {
  public:
    // An acknowledgement of data that took this path has come; an answered probe counts as a whole sample of marks.
    // The delay, if it is told, is that of the data or probe, or its round-trip time, as the base that it is held
    // against.
    void acknowledged(const SensingRules &rules, std::optional<Time> delay, bool echo);
    void probed(const SensingRules &rules, Time delay, bool echo);

    // Good: few marks and a low delay; congested: many marks and a high one; otherwise, and as long as nothing is
    // known, gray.
    PathKind kind(const SensingRules &rules, Time base) const;

    // A packet is sent on this path, or one that took it is sent again. Returns true if the path is found failed: over
    // some time, more than a share is sent again, although it is not congested.
    bool sent(const SensingRules &rules, Time base, Time now);
    bool sent_again(const SensingRules &rules, Time base, Time now);

    // Some host finds the path congested, so that losses of this time need not be silent ones.
    void found_congested() { was_congested_ = true; }

    bool failed(Time now) const { return now < failed_until_; }
    bool known() const { return delay_ > 0; }
    double delay() const { return delay_; } // picoseconds
    double marked() const { return marked_; }

    DiscountedBytes rate; // r_p: of all flows that take it

  private:
    void take_delay(const SensingRules &rules, Time sample);
    void take_marked(const SensingRules &rules, double share);
    bool judge(const SensingRules &rules, Time base, Time now);

    double delay_ = 0;  // t_RTT
    double marked_ = 0; // f_ECN
    bool marked_known_ = false;
    std::uint32_t heard_ = 0; // acknowledgements of the present sample
    std::uint32_t heard_marked_ = 0;
    std::uint32_t sent_ = 0; // since the count began, as the next two
    std::uint32_t again_ = 0;
    bool was_congested_ = false;
    Time count_end_ = 0;
    Time failed_until_ = 0;
};

} // namespace kuijia::packet
