// Flow entries and groups of a switch as rows of numbers, in the terms of OpenFlow 1.3.
#pragma once

#include "fields.hpp"

#include <cstdint>
#include <vector>

namespace kuijia::packet {

inline constexpr std::uint32_t absent = 0xffffffff; // no port, group or table

enum class ActionKind : std::uint8_t { pop, push, set_dscp, set_ecn, set_queue, group, output }; // as sets execute them
inline constexpr std::uint8_t action_kinds = 7;

struct ActionRow {
    std::uint8_t kind;
    std::uint32_t value; // push: label * 8 + traffic class; otherwise code point, ECN bits, queue, group or port

    static auto fields() { return std::tuple{plain("kind", &ActionRow::kind), plain("value", &ActionRow::value)}; }
};

// Fields of a match; a bit of `EntryRow::matched` for each.
enum MatchField : std::uint32_t {
    match_in_port = 1,
    match_eth_type = 2,
    match_destination = 4,
    match_dscp = 8,
    match_ecn = 16,
    match_label = 32,
    match_traffic_class = 64
};

struct EntryRow {
    std::uint32_t table;
    std::uint32_t priority;
    std::uint32_t matched; // bits of the fields that a packet must have
    std::uint32_t in_port;
    std::uint32_t eth_type;
    std::uint32_t destination; // IPv4
    std::uint32_t mask;        // of the destination
    std::uint32_t dscp;
    std::uint32_t ecn;
    std::uint32_t label;
    std::uint32_t traffic_class;
    std::uint32_t actions; // how many are applied at once
    std::uint32_t written; // how many, after those, go into the action set
    std::uint32_t next;    // table, or `absent`

    static auto fields() {
        return std::tuple{
            plain("table", &EntryRow::table),
            plain("priority", &EntryRow::priority),
            plain("matched", &EntryRow::matched),
            plain("in_port", &EntryRow::in_port),
            plain("eth_type", &EntryRow::eth_type),
            plain("destination", &EntryRow::destination),
            plain("mask", &EntryRow::mask),
            plain("dscp", &EntryRow::dscp),
            plain("ecn", &EntryRow::ecn),
            plain("label", &EntryRow::label),
            plain("traffic_class", &EntryRow::traffic_class),
            plain("actions", &EntryRow::actions),
            plain("written", &EntryRow::written),
            plain("next", &EntryRow::next),
        };
    }
};

struct GroupRow {
    std::uint32_t id;
    bool selects; // by the slot of a flow; otherwise the first live bucket is used
    std::uint32_t buckets;

    static auto fields() {
        return std::tuple{plain("id", &GroupRow::id), plain("selects", &GroupRow::selects),
                          plain("buckets", &GroupRow::buckets)};
    }
};

struct BucketRow {
    std::uint32_t watch_port;  // or `absent`
    std::uint32_t watch_group; // or `absent`
    std::uint32_t actions;

    static auto fields() {
        return std::tuple{plain("watch_port", &BucketRow::watch_port), plain("watch_group", &BucketRow::watch_group),
                          plain("actions", &BucketRow::actions)};
    }
};

// Groups own the next of `buckets`; entries, then buckets own the next of `actions`.
struct TableRows {
    std::vector<EntryRow> entries;
    std::vector<GroupRow> groups;
    std::vector<BucketRow> buckets;
    std::vector<ActionRow> actions;
};

} // namespace kuijia::packet
