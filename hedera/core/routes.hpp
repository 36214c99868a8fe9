// Paths of flows: for each flow and label the links whose load depends on the label.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace kuijia::hedera {

inline std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

[[noreturn]] inline void refuse(const char *what, std::size_t entry, const char *expected) {
    throw std::invalid_argument(std::string(what) + "[" + std::to_string(entry) + "]: expected " + expected);
}

// Throws std::invalid_argument if a number is not one of 0 to size - 1.
inline void require_below(const char *what, std::span<const std::int32_t> numbers, std::size_t size) {
    for (std::size_t entry = 0; entry < numbers.size(); ++entry)
        if (numbers[entry] < 0 || at(numbers[entry]) >= size)
            refuse(what, entry, "an existing number");
}

// Throws std::invalid_argument if there are not `size` amounts, or if one is negative.
void require_amounts(const char *what, std::span<const std::int32_t> amounts, std::size_t size);

// A fat-tree of k-port switches, half = k / 2. Label l stands for core switch l; the links are numbered by
// hedera/network/fat_tree.py.
class FatTreeRoutes {
  public:
    FatTreeRoutes(std::int32_t half, std::span<const std::int32_t> source, std::span<const std::int32_t> target)
        : half_(half), source_(source.begin(), source.end()), target_(target.begin(), target.end()) {
        if (half < 1 || half > 127)
            throw std::invalid_argument("half: expected half the ports of a switch, 1 to 127");
        if (source.size() != target.size())
            throw std::invalid_argument("target: expected as many as sources");
        square_ = half * half;
        cables_ = 2 * half * square_;
        reciprocal_ = (std::uint64_t{1} << 40) / static_cast<std::uint64_t>(half) + 1;
        require_below("source", source_, hosts());
        require_below("target", target_, hosts());
        aggregation_.resize(at(square_));
        for (std::int32_t label = 0; label < square_; ++label)
            aggregation_[at(label)] = static_cast<std::uint8_t>(label / half);
    }

    std::size_t flows() const { return source_.size(); }
    std::size_t hosts() const { return at(cables_); }
    std::size_t links() const { return at(cables_) * 6; }
    std::int32_t labels() const { return square_; }
    std::int32_t target(std::size_t flow) const { return target_[flow]; }
    static constexpr std::size_t longest() { return 4; } // links of the longest path

    // Calls visit(link) for the links of a flow that depend on the label, in order from its source.
    template <class Visit> void path(std::size_t flow, std::int32_t label, Visit &&visit) const {
        const auto from = edge(source_[flow]), to = edge(target_[flow]);
        if (from == to)
            return;
        const auto group = aggregation(label);
        const auto source_pod = divided(from), target_pod = divided(to);
        visit(cables_ + from * half_ + group);
        if (source_pod != target_pod) {
            visit(2 * cables_ + source_pod * square_ + label);
            visit(3 * cables_ + target_pod * square_ + label);
        }
        visit(4 * cables_ + to * half_ + group);
    }

    std::int32_t half() const { return half_; }
    std::int32_t cables() const { return cables_; }
    std::int32_t square() const { return square_; }
    std::int32_t source(std::size_t flow) const { return source_[flow]; }
    std::int32_t edge(std::int32_t host) const { return divided(host); }
    std::int32_t pod(std::int32_t edge) const { return divided(edge); }
    std::int32_t aggregation(std::int32_t label) const { return aggregation_[at(label)]; }

  private:
    // number / half by multiplication; exact below 2^23, as all numbers of hosts and edges are.
    std::int32_t divided(std::int32_t number) const {
        return static_cast<std::int32_t>((static_cast<std::uint64_t>(number) * reciprocal_) >> 40);
    }

    std::int32_t half_, square_ = 0, cables_ = 0;
    std::uint64_t reciprocal_ = 0;
    std::vector<std::int32_t> source_, target_;
    std::vector<std::uint8_t> aggregation_;
};

// Any other graph: a table of paths; the path of row r and label l begins at first[r * labels + l].
class TableRoutes {
  public:
    TableRoutes(std::size_t links, std::int32_t labels, std::span<const std::int64_t> first,
                std::span<const std::int32_t> hops, std::span<const std::int32_t> row,
                std::span<const std::int32_t> target, std::size_t hosts)
        : links_(links), hosts_(hosts), labels_(labels), first_(first.begin(), first.end()),
          hops_(hops.begin(), hops.end()), row_(row.begin(), row.end()), target_(target.begin(), target.end()) {
        if (labels < 1)
            throw std::invalid_argument("labels: expected at least one");
        if (first.empty() || (first.size() - 1) % at(labels) != 0)
            throw std::invalid_argument("first: expected an entry for each row and label, and one more");
        if (first.front() != 0 || first.back() != static_cast<std::int64_t>(hops.size()))
            throw std::invalid_argument("first: expected 0 at its start and the number of hops at its end");
        for (std::size_t entry = 1; entry < first.size(); ++entry)
            if (first[entry] < first[entry - 1])
                refuse("first", entry, "positions that never decrease");
            else
                longest_ = std::max(longest_, static_cast<std::size_t>(first[entry] - first[entry - 1]));
        if (row.size() != target.size())
            throw std::invalid_argument("row: expected as many as targets");
        require_below("hops", hops_, links);
        require_below("row", row_, (first.size() - 1) / at(labels));
        require_below("target", target_, hosts);
    }

    std::size_t flows() const { return row_.size(); }
    std::size_t hosts() const { return hosts_; }
    std::size_t links() const { return links_; }
    std::int32_t labels() const { return labels_; }
    std::int32_t target(std::size_t flow) const { return target_[flow]; }
    std::size_t longest() const { return longest_; } // links of the longest path

    template <class Visit> void path(std::size_t flow, std::int32_t label, Visit &&visit) const {
        const auto place = at(row_[flow]) * at(labels_) + at(label);
        for (auto hop = first_[place]; hop < first_[place + 1]; ++hop)
            visit(hops_[static_cast<std::size_t>(hop)]);
    }

  private:
    std::size_t links_, hosts_, longest_ = 0;
    std::int32_t labels_;
    std::vector<std::int64_t> first_;
    std::vector<std::int32_t> hops_, row_, target_;
};

} // namespace kuijia::hedera
