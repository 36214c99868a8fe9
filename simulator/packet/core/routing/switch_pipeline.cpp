#include "routing/switch_pipeline.hpp"

#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

namespace kuijia::packet {

namespace {

void require_rows(bool holds, const char *problem) {
    if (!holds)
        throw std::invalid_argument(problem);
}

void require_sound(const ActionRow &row) {
    require_rows(row.kind < action_kinds, "an action must be of a known kind");
    const auto kind = static_cast<ActionKind>(row.kind);
    const auto bound = kind == ActionKind::push       ? 1u << 23
                       : kind == ActionKind::set_dscp ? 64
                       : kind == ActionKind::set_ecn  ? 4
                                                      : absent;
    require_rows(row.value < bound, "an action must have a value that fits its field");
}

// Checks that buckets and actions are exactly those that groups and entries own.
void require_sound(const TableRows &rows) {
    std::uint64_t actions = 0;
    std::uint64_t buckets = 0;
    for (const auto &entry : rows.entries)
        actions += std::uint64_t{entry.actions} + entry.written;
    for (const auto &bucket : rows.buckets)
        actions += bucket.actions;
    for (const auto &group : rows.groups)
        buckets += group.buckets;
    require_rows(actions == rows.actions.size(), "each action must belong to an entry or a bucket");
    require_rows(buckets == rows.buckets.size(), "each bucket must belong to a group");
    for (const auto &action : rows.actions)
        require_sound(action);
}

} // namespace

// One action of each kind, the last one given, in the order in which sets are executed (OpenFlow 1.3.5, 5.10).
struct SwitchPipeline::ActionSet {
    std::array<std::optional<std::uint32_t>, action_kinds> values;

    void add(const Actions &actions) {
        for (const auto &action : actions)
            values[static_cast<std::size_t>(action.kind)] = action.value;
    }

    Actions in_order() const {
        Actions ordered;
        for (std::uint8_t kind = 0; kind < action_kinds; ++kind) {
            const auto of = static_cast<ActionKind>(kind);
            const bool hidden = of == ActionKind::output && values[static_cast<std::size_t>(ActionKind::group)];
            if (values[kind] && !hidden)
                ordered.push_back({of, *values[kind]});
        }
        return ordered;
    }
};

std::uint32_t SwitchPipeline::port_at(std::uint32_t number) {
    const auto [found, is_new] = port_places_.try_emplace(number, static_cast<std::uint32_t>(ports_.size()));
    if (is_new)
        ports_.push_back({number});
    return found->second;
}

std::uint32_t SwitchPipeline::group_at(std::uint32_t id) {
    const auto [found, is_new] = group_places_.try_emplace(id, static_cast<std::uint32_t>(groups_.size()));
    if (is_new)
        groups_.emplace_back();
    return found->second;
}

SwitchPipeline::Actions SwitchPipeline::actions_of(const ActionRow *&row, std::uint32_t count) {
    Actions actions;
    for (; count-- > 0; ++row) {
        const auto kind = static_cast<ActionKind>(row->kind);
        const auto value = kind == ActionKind::output  ? port_at(row->value)
                           : kind == ActionKind::group ? group_at(row->value)
                                                       : row->value;
        actions.push_back({kind, value});
    }
    return actions;
}

void SwitchPipeline::set(const TableRows &rows) {
    require_sound(rows);
    tables_.set(rows.entries);
    known_.forget();
    has_tables_ = true;
    entries_.clear();
    groups_.clear();
    group_places_.clear();
    const auto *action = rows.actions.data();
    for (const auto &row : rows.entries) {
        auto applied = actions_of(action, row.actions);
        entries_.push_back({std::move(applied), actions_of(action, row.written), row.next});
    }
    take_groups(rows, action);
}

void SwitchPipeline::set_groups(const TableRows &rows) {
    require_sound(rows);
    require_rows(rows.entries.empty(), "groups must come without entries");
    known_.forget();
    const auto *action = rows.actions.data();
    take_groups(rows, action);
}

void SwitchPipeline::take_groups(const TableRows &rows, const ActionRow *&action) {
    const auto *bucket = rows.buckets.data();
    for (const auto &row : rows.groups) {
        Group group;
        group.exists = true;
        group.selects = row.selects;
        for (std::uint32_t count = 0; count < row.buckets; ++count, ++bucket) {
            ActionSet set;
            set.add(actions_of(action, bucket->actions));
            group.buckets.push_back({bucket->watch_port == absent ? absent : port_at(bucket->watch_port),
                                     bucket->watch_group == absent ? absent : group_at(bucket->watch_group),
                                     set.in_order()});
        }
        groups_[group_at(row.id)] = std::move(group);
    }
}

Outgoing SwitchPipeline::follow(const Incoming &packet, Headers &headers) {
    Outgoing left;
    State state{packet.header, absent};
    std::optional<ActionSet> written; // few switches have more than one table
    for (std::uint32_t table = 0; table != absent;) {
        const auto key = MatchKey::of(packet.port, packet.destination, state.header, headers);
        const auto found = tables_.find(table, key, Headers::has_label(state.header));
        if (found == absent)
            return left; // as the specification has it: the action set is not executed (5.4)
        const auto &entry = entries_[found];
        if (apply(entry.actions, state, packet, headers, left))
            return left;
        if (!entry.written.empty()) {
            if (!written)
                written.emplace();
            written->add(entry.written);
        }
        table = entry.next;
    }
    if (written)
        apply(written->in_order(), state, packet, headers, left);
    return left;
}

// Applies actions in order. Returns true if one of them has sent the packet.
bool SwitchPipeline::apply(const Actions &actions, State &state, const Incoming &packet, Headers &headers,
                           Outgoing &left) {
    for (const auto &[kind, value] : actions) {
        switch (kind) {
        case ActionKind::push:
            state.header = headers.push(state.header, value);
            if (state.header == no_header)
                return true; // it is dropped
            break;
        case ActionKind::pop:
            state.header = headers.pop(state.header);
            break;
        case ActionKind::set_dscp: // the IPv4 header is out of reach under labels
            if (!Headers::has_label(state.header))
                state.header = Headers::of(value, state.header & 3);
            break;
        case ActionKind::set_ecn:
            if (!Headers::has_label(state.header))
                state.header = Headers::of(state.header >> 2, value);
            break;
        case ActionKind::set_queue:
            state.queue = value;
            break;
        case ActionKind::group:
            if (execute(groups_[value], state, packet, headers, left))
                return true;
            break;
        case ActionKind::output:
            if (const auto &port = ports_[value]; port.number != packet.port) { // never back by the same port (4.5)
                left = {port.number, port.link, state.header, state.queue};
                return true;
            }
            break;
        }
    }
    return false;
}

// Executes the first live bucket, from that of the flow's slot on if the group selects.
bool SwitchPipeline::execute(Group &group, State state, const Incoming &packet, Headers &headers, Outgoing &left) {
    if (group.buckets.empty() || group.executing)
        return false;
    const auto count = group.buckets.size();
    selected_ = selected_ || group.selects;
    auto place = group.selects ? packet.slot % count : 0;
    for (std::size_t tried = 0; tried < count; ++tried, place = place + 1 == count ? 0 : place + 1) {
        const auto &bucket = group.buckets[place];
        if (!is_alive(bucket))
            continue;
        group.executing = true;
        const bool sent = apply(bucket.actions, state, packet, headers, left);
        group.executing = false;
        return sent;
    }
    return false;
}

// A bucket is alive if it watches nothing, or something that is alive, as in Open vSwitch.
bool SwitchPipeline::is_alive(const Bucket &bucket) {
    if (bucket.watch_port == absent && bucket.watch_group == absent)
        return true;
    return (bucket.watch_port != absent && ports_[bucket.watch_port].live) ||
           (bucket.watch_group != absent && is_group_alive(groups_[bucket.watch_group]));
}

// A group is alive if any of its buckets is; one that watches itself is dead.
bool SwitchPipeline::is_group_alive(Group &group) {
    if (group.asked)
        return false;
    group.asked = true;
    bool alive = false;
    for (const auto &bucket : group.buckets)
        alive = alive || is_alive(bucket);
    group.asked = false;
    return alive;
}

} // namespace kuijia::packet
