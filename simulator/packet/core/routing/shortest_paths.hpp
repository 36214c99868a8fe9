// Nodes and their links: the first links of the shortest paths from every node to a target, as routing knows them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kuijia::packet {

struct LinkRules;

class ShortestPaths {
  public:
    ShortestPaths(std::uint32_t nodes, const std::vector<LinkRules> &links, const std::vector<std::uint32_t> &hosts);

    // Returns the links at the node, in order of their numbers, that begin a shortest path to the target. The path uses
    // links that routing believes to be up, and no other host. Empty if there is none. Valid until the next change.
    std::span<const std::uint32_t> choices(std::uint32_t node, std::uint32_t target);

    // Routing learns that a link has failed or is back.
    void set_known(std::uint32_t link, bool up);

    std::uint32_t source(std::uint32_t link) const; // node that sends
    std::uint32_t target(std::uint32_t link) const; // node that receives
    std::int64_t bits_per_second(std::uint32_t link) const;
    bool is_host(std::uint32_t node) const { return is_host_[node]; }
    std::size_t nodes() const { return tables_.size(); }
    std::size_t links() const { return up_.size(); }

  private:
    // The choices of all nodes for one target, one after the other.
    struct Table {
        std::vector<std::uint32_t> first; // of each node, and the end
        std::vector<std::uint32_t> links;
    };

    std::unique_ptr<Table> toward(std::uint32_t target) const;

    const std::vector<LinkRules> &links_;
    std::vector<bool> is_host_;
    std::vector<bool> up_;
    std::vector<std::vector<std::uint32_t>> incoming_; // links into each node
    std::vector<std::unique_ptr<Table>> tables_;       // of each target asked for
};

} // namespace kuijia::packet
