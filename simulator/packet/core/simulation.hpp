// The run of a scenario: packets move from link to link, transports send and receive them.
#pragma once

#include "compiler.hpp"
#include "event_queue.hpp"
#include "faults.hpp"
#include "packets.hpp"
#include "part.hpp"
#include "port.hpp"
#include "queues/discipline.hpp"
#include "random.hpp"
#include "routing/path_network.hpp"
#include "scenario.hpp"
#include "trace.hpp"
#include "transports/transport.hpp"
#include "windows.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kuijia::packet {

struct FlowRecord {
    Time finished = never;     // when everything had arrived
    Time acknowledged = never; // when everything was acknowledged
    std::uint64_t goodput = 0; // bytes that arrived for the first time, without headers; tcp: in order
    std::uint64_t sent_packets = 0;
    std::uint64_t arrived_packets = 0;
    std::uint64_t dropped_packets = 0; // of data, by queues and links
    std::uint64_t marked_packets = 0;  // that arrived
    std::uint32_t reordered = 0;       // of flows without acknowledgements: that arrived after one sent later
    std::uint32_t next_number = 0;     // likewise: one more than the greatest number that arrived
    std::uint32_t retransmitted = 0;
    std::uint32_t timeouts = 0;
    std::uint32_t recoveries = 0;
    std::uint32_t offered = 0; // emulation packets or credits that were sent
    std::uint32_t credits = 0; // that reached the sender
    std::uint32_t unused = 0;  // of these, those that sent nothing
    std::uint32_t yielded = 0; // over-provisioned emulation packets that queues or links dropped
};

struct PacketTotals {
    std::uint64_t made = 0;
    std::uint64_t arrived = 0;
    std::uint64_t dropped = 0;    // by queues
    std::uint64_t lost = 0;       // by links, or by switches
    std::uint64_t unroutable = 0; // of the lost ones: by switches that know no way
    std::uint64_t swallowed = 0;  // of the lost ones: by faults of switches
    std::uint64_t data_arrived = 0;
    std::uint64_t probes = 0; // of the made ones: by path selection, answers too
    std::uint64_t probe_bytes = 0;
};

// The records of all flows where they are, so many bytes from each to the next.
struct RecordsView {
    const FlowRecord *first;
    std::size_t flows;
    std::size_t stride;
};

inline constexpr std::uint32_t no_hop = 0xffffffff;
inline constexpr std::uint32_t no_timer = 0xffffffff;
inline constexpr unsigned near_timers = 2; // of each flow, beside each other

class Simulation {
  public:
    explicit Simulation(Scenario scenario);

    // Runs to `until`, or until `events` events and perhaps some more have happened: all before some moment. Returns
    // true if `until` is reached or no events are left.
    bool run(Time until, std::uint64_t events);

    Time now() const { return now_; }
    std::uint64_t events() const { return events_; } // arrivals of packets, and timers
    const PacketTotals &totals() const { return totals_; }
    std::size_t packets_in_flight() const { return pool_.in_use(); }
    std::size_t packets_allocated() const { return pool_.capacity(); }
    std::size_t unfinished() const { return unfinished_; }
    bool by_windows() const { return windows_ != nullptr; } // not event by event

    // Steering between two runs. Throws std::invalid_argument, and changes nothing, if something does not exist.
    void add_transport(TransportRules rules);
    void add_paths(const std::vector<std::vector<std::uint32_t>> &routes,
                   const std::vector<std::vector<std::uint32_t>> &paths);
    void add_flows(const std::vector<FlowRules> &flows); // that start at `now` or later
    void advance(Time time);                             // to a time before the next event
    void set_link(std::uint32_t link, bool up);
    void set_known(std::uint32_t link, bool up); // routing of the switches learns of it
    const LabelTable &label_table(std::uint32_t node) const;
    void set_label_table(std::uint32_t node, LabelTable table);
    TableSwitched &switches();                                                         // that have flow tables
    void move_flow(std::uint32_t flow, std::uint32_t forward, std::uint32_t backward); // packets sent stay on theirs

    // The state at `now`.
    FlowRecord record(std::size_t flow) const;
    TransportCounters counters(std::size_t flow) const; // all zero unless the flow lives
    PathCounters path_counters() const;
    RecordsView records(); // readable as long as the simulation, up to date until it runs or gets more flows
    Port &port(std::size_t link);
    std::vector<std::uint32_t> on_links();                           // packets in transmission or on the wire
    std::span<const QueueCounters> queue_counters(std::size_t link); // empty unless its queues are counted
    std::size_t flows() const { return flows_.size(); }
    std::size_t links() const { return ports_.size(); }

    const std::vector<Time> &probe_times() const { return probe_times_; }
    const std::vector<std::int64_t> &probed_bytes() const { return probed_bytes_; }

  private:
    friend class Host;
    friend class PartedSimulation;
    friend class PathNetwork;

    struct Flow {
        FlowRules rules;
        std::uint32_t forward; // position in `hops_` of the first of its paths
        std::uint32_t backward;
        std::uint32_t source; // node
        std::uint32_t target;
        std::uint32_t packets;        // of data; `endless` for no end
        std::uint32_t timers;         // the first of two in `timers_`
        std::uint32_t further_timers; // the first of the others
        bool datagrams;
        bool over = false; // the transport has said so
        std::unique_ptr<Transport> transport;
        FlowRecord record;
    };
    struct Timer {
        std::uint32_t flow; // `no_flow` for the simulation's own
        std::uint32_t number;
        Time armed = never;
    };
    // The next turn of a port with a discipline: when it may send again, `never` if nothing waits.
    struct Turn {
        Time due = never;
        Time armed = never; // the first of its events
        bool late;          // it may be taken later, before anybody can know
    };
    enum Own : std::uint32_t { starts, changes, probes, paths };
    struct Change {
        Time time;
        enum What : std::uint8_t { of_link, of_knowledge, of_route } what;
        std::uint32_t place;
    };

    Source arrival_at(std::uint32_t link) const { return links_ + link; }
    Source source_of(std::uint32_t timer) const { return 2 * links_ + timer; }
    bool counts(Source source) const { return source >= links_; } // how many turns of ports are events, says nothing

    void add_ports();
    void make_room(std::size_t flows);
    void add_flow(const FlowRules &rules, std::uint32_t timers);
    std::uint32_t append_hops(const std::vector<std::uint32_t> &route);
    void add_hops(const std::vector<std::uint32_t> &route);
    void order_by_start();
    void add_changes();
    void take_paths(Flow &flow, std::uint32_t forward, std::uint32_t backward);
    void note_roles(const std::vector<std::uint32_t> &route);
    void choose_windows();
    void leave_windows();
    void take_event(Time time);
    void take_window(Time from, Time until);
    void take_changes(Time time);
    void pass_switches(Time end);
    void pass();
    Event event_of(const Hop &hop) const;
    void lose_hops(std::uint32_t link);

    // Returns the time of the next event, `never` if there is none.
    KUIJIA_ALWAYS_INLINE Time next_time() {
        const auto time = queue_.next_time();
        return windows_ == nullptr ? time : std::min(time, windows_->calendar.next_time());
    }

    void fetch_ahead();
    void happen(Source source);
    void expire(std::uint32_t timer);
    void arrive(std::uint32_t link);
    void forward(PacketId id, std::uint32_t link, std::uint32_t before);
    void relay(PacketId id, std::uint32_t link);

    // Puts a packet on a link, at whose far end it arrives at the time that it knows.
    KUIJIA_ALWAYS_INLINE void carry(PacketId id, std::uint32_t link) {
        const auto &packet = pool_[id];
        if (windows_ != nullptr)
            if (const auto next = hops_[packet.hop + 1]; next != no_hop)
                return windows_->calendar.add({packet.at, id, next});
        join(ports_[link].link, id, link);
    }

    // Puts a packet on a link at whose far end an event lets it arrive.
    KUIJIA_ALWAYS_INLINE void join(PacketList &packets, PacketId id, std::uint32_t link) {
        if (packets.empty())
            queue_.push(pool_[id].at, arrival_at(link));
        packets.append(pool_, id);
    }

    bool loses(PacketId id, std::uint32_t link);
    void lose(PacketId id, std::uint32_t link);
    void take_turns(std::uint32_t link);
    void send_waiting(std::uint32_t link, Time until);
    void send_next(std::uint32_t link, Time now);
    void wait_for_turn(std::uint32_t link);
    void deliver(PacketId id);
    PathNetwork::Ends ends(const Packet &packet) const;
    void drop(PacketId id);
    void start_flows();
    void end_if_over(Flow &flow);
    static void take_counters(const Flow &flow, FlowRecord &record);
    static void note_unused(Flow &flow, const Packet &packet);
    void arm(Time &armed, Time deadline, Source source);
    void arm(Own timer, Time deadline);
    void become(std::unique_ptr<Part> part); // before it runs
    Part::Key run_part(Time until);
    void send_across(Time until);
    Time next_in_part();
    std::uint32_t part_of(std::uint32_t node) const { return (*part_->of_node)[node]; }
    bool is_own(Source source) const { return source - source_of(own_timers_) < 3; }
    std::uint32_t late_for(Source source, Time time) const;
    bool knows_sender(std::uint32_t flow, Time time);
    void take_over(Mail &&mail);
    void arrive_from_part(std::uint32_t link);
    void collect(std::vector<Mail> &mail);
    void end_receivers(Part::Key before);
    void end_receiver(std::uint32_t flow);
    void tell_end(std::uint32_t flow);
    void cross(PacketId id, std::uint32_t link);
    void post(const Packet &packet, std::uint32_t link);
    void make_changes();
    void learn(std::uint32_t link, bool up);
    void fail(std::uint32_t link);
    void probe();

    Scenario scenario_;
    std::uint32_t links_;
    Time now_ = 0;
    std::uint64_t events_ = 0;
    Random queue_draws_; // drops and marks, the stream of the seed itself
    Random link_draws_;  // losses
    SwitchFaults faults_;
    EventOrder order_;
    EventQueue queue_;
    std::unique_ptr<Windows> windows_; // null if all packets are events in the queue
    bool wide_;                        // what events touch is too much for the processor's caches
    PacketPool pool_;
    std::vector<Port> ports_;
    std::vector<std::unique_ptr<Discipline>> disciplines_;
    std::vector<Turn> turns_;         // by discipline
    std::vector<std::uint32_t> hops_; // routes one after the other, with `no_hop` before and after each
    std::vector<std::uint32_t> first_hop_;
    std::vector<std::uint8_t> roles_; // for what routes use each link, as windows.cpp has them
    bool roles_agree_ = true;         // they do not use one link for several purposes
    ShortestPaths shortest_paths_;
    std::unique_ptr<Forwarding> forwarding_; // null if packets keep to the route that their sender chose
    PathNetwork path_network_{*this};
    std::unique_ptr<PathChoice> path_choice_; // null if this is always the first of the flow's paths
    PathChoice *listener_;                    // the same if it listens, or null
    bool wants_delays_;                       // acknowledgements carry delays for it
    std::uint32_t path_timer_ = no_timer;     // of the path choice, once it has asked for one
    std::vector<Flow> flows_;
    bool viewed_ = false;                          // somebody reads the records
    std::vector<std::vector<Flow>> viewed_before_; // what is left of flows that moved while somebody read them
    std::vector<Timer> timers_;
    std::uint32_t own_timers_; // the first of the simulation's own
    std::vector<std::uint32_t> by_start_;
    std::size_t started_ = 0;
    std::size_t unfinished_ = 0;
    std::vector<Change> changes_;
    std::size_t changed_ = 0;
    std::vector<Time> probe_times_;
    std::vector<std::int64_t> probed_bytes_;
    PacketTotals totals_;
    std::vector<Random> host_draws_; // of all transports, or of each flow's
    std::uint32_t streams_ = 0;      // bits of a flow's number that are the number of its stream: all or none
    std::unique_ptr<Part> part_;     // null unless others do other parts of the network
    [[no_unique_address]] Trace trace_;
};

} // namespace kuijia::packet
