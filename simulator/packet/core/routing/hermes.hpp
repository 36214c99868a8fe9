// Hermes (Zhang et al., SIGCOMM 2017): hosts sense the paths to other racks, by acknowledgements, timeouts and probes;
// a flow keeps its path until another one is notably better, and leaves at once one that has failed.
//
// One host of each rack, those with the same first switch, sends probes, and tells the others what it hears. The hosts
// of a rack find paths that lose packets together; what else their own packets tell they keep, or share as well.
#pragma once

#include "routing/path_choice.hpp"
#include "routing/rack_paths.hpp"
#include "routing/rack_probes.hpp"
#include "routing/sensed_path.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

namespace kuijia::packet {

struct HermesRules {
    static constexpr const char *name = "Hermes";
    static constexpr Time microsecond = second / 1'000'000;

    double marked = 0.4;                       // T_ECN
    Time low = 20 * microsecond;               // T_RTT_low, above the base delay
    Time high = 140 * microsecond;             // T_RTT_high, likewise
    bool one_way = true;                       // delays are those of the data, not round-trip times
    Time base = 0;                             // 0 for that of the fastest path
    Time better_round_trip = 80 * microsecond; // Delta_RTT
    double better_marked = 0.05;               // Delta_ECN
    double rate = 0.3;                         // R, as a share of the card's
    std::uint64_t sent = 600'000;              // S
    bool uses_ecn = true;
    double round_trip_gain = 0.5;
    double marked_gain = 0.5;
    std::uint32_t marked_sample = 10;
    Time rate_period = 30 * microsecond;
    double rate_gain = 0.2;
    bool rerouting = true;
    double reroute_share = 1;
    Time reroute_pause = 0;
    bool probing = true;
    bool shares_data = false; // hosts of a rack share delays, marks and rates, not only losses and answers to probes
    Time probe_every = 500 * microsecond;
    std::uint32_t probe_paths = 2;
    std::uint32_t probe_size = 64;
    std::uint32_t probe_level = 1;
    bool detects_failures = true;
    Time failure_every = 10'000 * microsecond;
    double failure_share = 0.01;
    std::uint32_t failure_sample = 100;
    std::uint32_t failure_timeouts = 3;
    Time failure_lasts = 100 * second;
    Time answer_pause = 1'000 * microsecond;
    bool hashed_answers = false; // acknowledgements keep a path by hash, whatever hosts know of it

    static auto fields() {
        using Of = HermesRules;
        constexpr auto share = "must be between 0 and 1";
        constexpr auto gain = "must be above 0 and at most 1";
        constexpr std::uint32_t many = 1u << 30;
        return std::tuple{
            number("marked", &Of::marked, 0, 1, share),
            duration("low", &Of::low),
            duration("high", &Of::high),
            plain("one_way", &Of::one_way),
            duration("base", &Of::base),
            duration("better_round_trip", &Of::better_round_trip),
            number("better_marked", &Of::better_marked, 0, 1, share),
            number("rate", &Of::rate, 0, 1, share),
            number("sent", &Of::sent, 0, std::uint64_t{1} << 60, "must be between 0 and 2^60 bytes"),
            plain("uses_ecn", &Of::uses_ecn),
            number("round_trip_gain", &Of::round_trip_gain, above_zero, 1, gain),
            number("marked_gain", &Of::marked_gain, above_zero, 1, gain),
            number("marked_sample", &Of::marked_sample, 1, many, "must be between 1 and 2^30 acknowledgements"),
            duration("rate_period", &Of::rate_period, 1),
            number("rate_gain", &Of::rate_gain, above_zero, 1, gain),
            plain("rerouting", &Of::rerouting),
            number("reroute_share", &Of::reroute_share, 0, 1, share),
            duration("reroute_pause", &Of::reroute_pause),
            plain("probing", &Of::probing),
            plain("shares_data", &Of::shares_data),
            duration("probe_every", &Of::probe_every, 1),
            number("probe_paths", &Of::probe_paths, 0, 1u << 16, "must be between 0 and 2^16"),
            number("probe_size", &Of::probe_size, 1, largest_packet, "must be between 1 and 2^20 bytes"),
            number("probe_level", &Of::probe_level, 0, 255, "must be between 0 and 255"),
            plain("detects_failures", &Of::detects_failures),
            duration("failure_every", &Of::failure_every, 1),
            number("failure_share", &Of::failure_share, 0, 1, share),
            number("failure_sample", &Of::failure_sample, 1, many, "must be between 1 and 2^30 packets"),
            number("failure_timeouts", &Of::failure_timeouts, 1, many, "must be between 1 and 2^30"),
            duration("failure_lasts", &Of::failure_lasts),
            duration("answer_pause", &Of::answer_pause),
            plain("hashed_answers", &Of::hashed_answers),
        };
    }
    const char *fault() const { return low <= high ? nullptr : "low must be at most high"; }

    SensingRules sensing() const {
        return {marked,        low,           high,          uses_ecn,       round_trip_gain, marked_gain,
                marked_sample, failure_every, failure_share, failure_sample, failure_lasts};
    }
    std::unique_ptr<PathChoice> choice(PathNetwork &network, std::uint64_t seed) const;
};

class Hermes final : public PathChoice {
  public:
    Hermes(const HermesRules &rules, PathNetwork &network, std::uint64_t seed);

    std::uint32_t choose(Packet &packet, const Choices &choices) override;
    bool listens() const override { return true; }
    bool wants_delays() const override { return rules_.one_way; }
    void acknowledged(const Packet &packet, Time now) override;
    void timed_out(std::uint32_t flow, Time now) override;
    void ended(std::uint32_t flow, Time now) override;
    void wake(Time now) override;
    void probed(const Packet &packet, Time now) override;
    PathCounters counters() const override { return counters_; }

  private:
    // The paths to another rack as a host, or all hosts of a rack, know them.
    struct View {
        Time base = 0; // delay in an empty network
        std::vector<SensedPath> paths;

        SensedPath &at(std::uint16_t path) {
            if (path >= paths.size())
                paths.resize(path + std::size_t{1});
            return paths[path];
        }
    };
    // Two racks.
    struct Pair {
        std::uint32_t view;                    // of the first rack: answers to probes, losses, and all that is shared
        std::vector<std::uint32_t> host_views; // of the hosts of the first rack that keep something for themselves
    };
    // Two hosts, between which a path may be a black hole.
    struct Hosts {
        struct Path {
            RackPaths::Place place;
            std::uint32_t timeouts = 0; // since the last acknowledgement
            Time failed_until = 0;
        };
        std::vector<Path> paths; // those with a timeout

        Path *find(RackPaths::Place place) {
            const auto found = std::ranges::find(paths, place, &Path::place);
            return found == paths.end() ? nullptr : &*found;
        }
    };
    struct Flow {
        bool begun = false;
        bool timed_out = false;
        std::uint16_t path = no_path;
        std::uint16_t before = no_path; // the path before this one
        std::uint32_t moved_at = 0;     // segments below took the path before when they were first sent
        std::uint32_t next = 0;         // segment
        std::uint32_t place = 0;        // of its route among the choices
        std::uint32_t set = 0;
        std::uint32_t version = 0;
        std::uint32_t pair = 0;
        std::uint32_t view = 0;
        std::uint32_t source = 0; // host
        std::uint32_t hosts = 0;
        std::uint64_t sent = 0;      // s_sent, since the last move
        DiscountedBytes rate;        // r_f
        double most = 0;             // R
        Time decided = -longest;     // when it last was about to move
        Time racks_since = -longest; // when it began to take paths between these racks, not between others
    };
    struct Answers {
        Time last = -longest;
        std::uint64_t draw = 0;
    };

    void keep_probing(Time now);
    Pair &pair_of(std::uint32_t number);
    std::uint32_t view_of(std::uint32_t host, std::uint32_t pair);
    View &rack_view(std::uint32_t pair) { return views_[pair_of(pair).view]; }
    SensedPath &path_at(std::uint32_t host, RackPaths::Place place);
    Time base_of(const std::vector<std::uint32_t> &route) const;
    void begin(Flow &flow, const Packet &packet, const Choices &choices);
    bool follow(Flow &flow, const Choices &choices);
    void set_base(const Flow &flow, const Choices &choices);
    bool failed(const Flow &flow, RackPaths::Place place, Time now);
    std::uint32_t fresh_place(const Flow &flow, const Choices &choices, Time now);
    std::uint32_t better_place(const Flow &flow, const Choices &choices, Time now);
    template <typename Eligible>
    std::uint32_t least_loaded(const Flow &flow, const Choices &choices, Time now, const Eligible &eligible);
    bool wants_to_move(Flow &flow, Time now);
    void move(Flow &flow, std::uint32_t place, const Choices &choices, Time now);
    void note_sent(Flow &flow, const Packet &packet, Time now);
    std::optional<Time> delay(const Packet &answer, Time now) const;
    std::uint32_t answer_place(const Packet &packet, const Choices &choices);

    HermesRules rules_;
    SensingRules sensing_;
    Discount discount_;
    PathNetwork &network_;
    RackPaths racks_;
    RackProbes probes_;
    std::uint64_t seed_;
    Random random_;
    bool is_active_ = false; // something was sent since the last round of probes
    bool is_awake_ = false;  // there will be another one
    std::vector<View> views_;
    std::vector<Pair> pairs_;
    std::unordered_map<std::uint64_t, std::uint32_t> host_views_; // by host and pair
    std::vector<Flow> flows_;
    std::vector<Answers> answers_; // of each flow
    std::vector<Hosts> hosts_;
    std::unordered_map<std::uint64_t, std::uint32_t> host_numbers_;
    PathCounters counters_;
};

} // namespace kuijia::packet
