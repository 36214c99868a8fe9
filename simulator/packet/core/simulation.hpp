// The run of a scenario: packets move from link to link, flows send and acknowledge them.
#pragma once

#include "event_queue.hpp"
#include "packets.hpp"
#include "port.hpp"
#include "random.hpp"
#include "scenario.hpp"
#include "scheduler.hpp"
#include "tcp_receiver.hpp"
#include "tcp_sender.hpp"

#include <cstdint>
#include <memory>
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
    TcpCounters tcp;
};

struct FlowState {
    double window; // segments
    std::uint32_t outstanding;
    Time round_trip;
};

struct PacketTotals {
    std::uint64_t made = 0;
    std::uint64_t arrived = 0;
    std::uint64_t dropped = 0; // by queues
    std::uint64_t lost = 0;    // by links
    std::uint64_t data_arrived = 0;
};

class Simulation {
  public:
    explicit Simulation(Scenario scenario);

    // Runs to `until`, or for `events` events. Returns true if `until` is reached or no events are left.
    bool run(Time until, std::uint64_t events);

    Time now() const { return now_; }
    std::uint64_t events() const { return events_; }
    const PacketTotals &totals() const { return totals_; }
    std::size_t packets_in_flight() const { return pool_.in_use(); }
    std::size_t packets_allocated() const { return pool_.capacity(); }
    std::size_t unfinished() const { return unfinished_; }

    // The state at `now`.
    FlowRecord record(std::size_t flow) const;
    FlowState state(std::size_t flow) const;
    Port &port(std::size_t link);
    std::uint32_t on_link(std::size_t link); // packets in transmission or on the wire
    std::size_t flows() const { return flows_.size(); }
    std::size_t links() const { return ports_.size(); }

    const std::vector<Time> &probe_times() const { return probe_times_; }
    const std::vector<std::int64_t> &probed_bytes() const { return probed_bytes_; }

  private:
    // Sending and receiving state of a TCP flow from its start until everything is acknowledged.
    struct Connection {
        TcpSender sender;
        TcpReceiver receiver;
        std::vector<Time> leave_card; // when each of the last packets leaves the host's card
        std::size_t oldest = 0;       // index of the oldest of these
    };
    struct Flow {
        FlowRules rules;
        std::uint32_t forward; // position in `hops_`
        std::uint32_t backward;
        std::uint32_t packets = 0; // segments of TCP, packets of the others; `endless` for no end
        std::uint32_t last = 0;    // bytes in the last of them
        std::uint32_t next = 0;    // not TCP: the next packet
        Time sender_wakes = never;
        Time receiver_wakes = never;
        std::unique_ptr<Connection> connection;
        FlowRecord record;
    };
    struct Change {
        Time time;
        bool of_link;
        std::uint32_t place;
    };

    Source arrival_at(std::uint32_t link) const { return links_ + link; }
    Source timer_of_sender(std::uint32_t flow) const { return 2 * links_ + 2 * flow; }

    void happen(Source source);
    void arrive(std::uint32_t link);
    void forward(PacketId id);
    void serve(std::uint32_t link);
    void wake(std::uint32_t link, Time time);
    void deliver(PacketId id);
    void drop(PacketId id);
    void start_flows();
    void begin(std::uint32_t flow);
    void end(Flow &flow);
    bool card_is_full(std::uint32_t flow);
    void sender_wakes(std::uint32_t flow);
    void receiver_wakes(std::uint32_t flow);
    void pump(std::uint32_t flow);
    void send_unanswered(std::uint32_t flow);
    void answer(std::uint32_t flow, const TcpReceiver::Acknowledgement &acknowledgement);
    void arm(Time &armed, Time deadline, Source source);
    PacketId make(std::uint32_t flow, Kind kind, std::uint32_t hop, std::uint32_t size);
    std::uint32_t payload(const Flow &flow, std::uint32_t segment) const;
    void make_changes();
    void fail(std::uint32_t link);
    void probe();

    Scenario scenario_;
    std::uint32_t links_;
    Source start_source_;
    Source change_source_;
    Source probe_source_;
    Time now_ = 0;
    std::uint64_t events_ = 0;
    Random random_;
    EventQueue queue_;
    PacketPool pool_;
    std::vector<Port> ports_;
    std::vector<Scheduler> schedulers_;
    std::vector<Time> scheduler_wakes_;
    std::vector<std::uint32_t> hops_; // routes one after the other, with `no_hop` before and after each
    std::vector<std::uint32_t> first_hop_;
    std::vector<Flow> flows_;
    std::vector<std::uint32_t> by_start_;
    std::size_t started_ = 0;
    std::size_t unfinished_ = 0;
    std::vector<Change> changes_;
    std::size_t changed_ = 0;
    std::vector<Time> probe_times_;
    std::vector<std::int64_t> probed_bytes_;
    PacketTotals totals_;
};

} // namespace kuijia::packet
