// One switch that follows flow tables and groups: it takes a packet through its tables to an output port and a queue.
//
// Where OpenFlow 1.3.5 leaves a choice, it does as Open vSwitch. A packet leaves at most once: the first output counts.
#pragma once

#include "routing/flow_tables.hpp"
#include "routing/headers.hpp"
#include "routing/known_packets.hpp"
#include "routing/table_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kuijia::packet {

class SwitchPipeline {
  public:
    // Sets the link that a port leads to.
    void connect(std::uint32_t port, std::uint32_t link) {
        ports_[port_at(port)].link = link;
        known_.forget();
    }

    // Sets if a port counts as live, for buckets that watch it; ports begin as live.
    void set_port(std::uint32_t port, bool live) {
        ports_[port_at(port)].live = live;
        known_.forget();
    }

    // Replaces all entries and groups. Throws std::invalid_argument, and changes nothing, if rows are invalid.
    void set(const TableRows &rows);

    // Adds groups, or replaces those with the same numbers; likewise.
    void set_groups(const TableRows &rows);

    bool has_tables() const { return has_tables_; }

    // Takes a packet through the tables, unless it is known where they lead. Headers that it makes are added to
    // `headers`, which must always be the same.
    Outgoing process(const Incoming &packet, Headers &headers) {
        if (const auto *known = known_.find(packet); known != nullptr)
            return *known;
        selected_ = false;
        const auto left = follow(packet, headers);
        known_.keep(packet, selected_, left);
        return left;
    }

  private:
    struct Action {
        ActionKind kind;
        std::uint32_t value; // output: position in `ports_`; group: position in `groups_`
    };
    using Actions = std::vector<Action>;
    struct Entry {
        Actions actions;
        Actions written;
        std::uint32_t next;
    };
    struct Bucket {
        std::uint32_t watch_port;  // position, or `absent`
        std::uint32_t watch_group; // position, or `absent`
        Actions actions;
    };
    struct Group {
        bool exists = false;
        bool selects = false;
        bool executing = false;
        bool asked = false; // if it is alive
        std::vector<Bucket> buckets;
    };
    struct Port {
        std::uint32_t number;
        std::uint32_t link = absent;
        bool live = true;
    };
    // A packet between two actions.
    struct State {
        std::uint32_t header;
        std::uint32_t queue;
    };
    struct ActionSet;

    std::uint32_t port_at(std::uint32_t number);
    std::uint32_t group_at(std::uint32_t id);
    Actions actions_of(const ActionRow *&row, std::uint32_t count);
    void take_groups(const TableRows &rows, const ActionRow *&action);
    Outgoing follow(const Incoming &packet, Headers &headers);
    bool is_alive(const Bucket &bucket);
    bool is_group_alive(Group &group);
    bool apply(const Actions &actions, State &state, const Incoming &packet, Headers &headers, Outgoing &left);
    bool execute(Group &group, State state, const Incoming &packet, Headers &headers, Outgoing &left);

    KnownPackets known_; // until tables, groups or ports change
    bool has_tables_ = false;
    bool selected_ = false; // a group has selected a bucket for the packet
    FlowTables tables_;
    std::vector<Entry> entries_;
    std::vector<Group> groups_;
    std::vector<Port> ports_;
    std::unordered_map<std::uint32_t, std::uint32_t> group_places_;
    std::unordered_map<std::uint32_t, std::uint32_t> port_places_;
};

} // namespace kuijia::packet
