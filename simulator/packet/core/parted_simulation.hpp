// One run by several threads: a simulation for each part of the network, and what passes between them.
//
// A part may run as far as it knows all that comes from the others: as far as they have, and the delay of the links
// from there. A thread takes the part that is behind, for a slice of time, then the next. So the order of events in a
// part is the same as in one simulation of the whole, and results are the same to the bit.
#pragma once

#include "parting.hpp"
#include "simulation.hpp"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

namespace kuijia::packet {

class PartedSimulation {
  public:
    // Throws std::invalid_argument, saying why, if the scenario cannot be parted.
    PartedSimulation(const Scenario &scenario, unsigned threads);

    // Runs to `until`, or for `events` events or a few more. Returns true if `until` is reached or no events are left.
    bool run(Time until, std::uint64_t events);

    Time now() const { return now_; }
    std::uint64_t events() const { return events_; }
    PacketTotals totals() const;
    std::size_t packets_in_flight() const;
    std::size_t packets_allocated() const;
    std::size_t unfinished() const;
    std::uint32_t parts() const { return parting_.parts; }

    // The state at `now`.
    FlowRecord record(std::size_t flow) const;
    TransportCounters counters(std::size_t flow) const;
    PathCounters path_counters() const { return {}; }
    Port &port(std::size_t link) const;
    std::vector<std::uint32_t> on_links() const;
    std::size_t flows() const { return first().flows(); }
    std::size_t links() const { return first().links(); }
    const std::vector<Time> &probe_times() const { return first().probe_times(); }
    const std::vector<std::int64_t> &probed_bytes() const { return first().probed_bytes(); }

  private:
    using Key = Part::Key;

    struct Place {
        std::unique_ptr<Simulation> simulation;
        std::vector<Mail> inbox;
        Key done = 0;    // all events before this one have happened
        Time clock = -1; // and those up to this time
        Time next = 0;   // when the next event happens, without those of the inbox
        Key waits = 0;   // for `waits_for` to be done with what comes before this event
        std::uint32_t waits_for = 0;
        Time limit = 0; // of the slice that a thread does
        bool busy = false;
    };

    const Simulation &first() const { return *places_.front().simulation; }
    Simulation &at_node(std::uint32_t node) const { return *places_[parting_.of_node[node]].simulation; }
    void work();
    void do_slice(std::unique_lock<std::mutex> &lock, Place &place);
    Place *choose();
    Time limit_of(const Place &place) const;
    void skip_silence();
    void end_soon();
    void settle();

    Parting parting_;
    unsigned threads_;
    std::vector<Place> places_;
    std::size_t finite_ = 0; // flows
    Time slice_;
    Time now_ = 0;
    std::uint64_t events_ = 0;

    std::mutex mutex_; // of all of `Place` but the simulation of a busy one, and what follows
    std::condition_variable changed_;
    Time target_ = 0;
    std::uint64_t most_events_ = 0;
    std::exception_ptr fault_;
};

} // namespace kuijia::packet
