// CONGA (Alizadeh et al., SIGCOMM 2014): the first switch of a packet sends each flowlet by the uplink whose path is
// least congested, by its own estimates and by reports of the last switch; those between choose by hash.
//
// A packet carries the fields of CONGA's header in `hop`: the tag of its uplink, the largest load that it has met, and
// a report on a path of the other direction.
#pragma once

#include "routing/congestion_table.hpp"
#include "routing/forwarding.hpp"
#include "routing/load_estimator.hpp"
#include "routing/switch_ecmp.hpp"

#include <span>

namespace kuijia::packet {

struct CongaRules {
    static constexpr const char *name = "Conga";
    Time gap = 3 * second / 20'000; // pause between two flowlets
    Time period = 3 * second / 100'000;
    double discount = 0.2;
    std::uint32_t bits = 3; // of a load
    Time aging = second / 100;

    static auto fields() {
        return std::tuple{
            duration("gap", &CongaRules::gap),
            duration("period", &CongaRules::period, 1),
            number("discount", &CongaRules::discount, above_zero, 1, "must be above 0 and at most 1"),
            number("bits", &CongaRules::bits, 1, 4, "must be between 1 and 4"),
            duration("aging", &CongaRules::aging),
        };
    }
    std::unique_ptr<Forwarding> forwarding(ShortestPaths &paths, std::uint64_t seed) const;
};

class Conga final : public Forwarding {
  public:
    Conga(ShortestPaths &paths, std::uint64_t seed, const CongaRules &rules);

    std::uint32_t next(std::uint32_t node, std::uint32_t target, Packet &packet, Time now, std::uint32_t link) override;

  private:
    using Choices = std::span<const std::uint32_t>;
    struct Flowlet {
        std::uint32_t link = no_link;
        std::uint32_t leaf = 0; // that sends by it
        Time last = 0;
    };

    std::uint32_t depart(std::uint32_t node, std::uint32_t target, Packet &packet, Time now);
    std::uint32_t least_loaded(Choices choices, const CongestionTable &table, std::uint32_t before, Time now);
    void travel(std::uint32_t link, Packet &packet, Time now);
    void arrive(std::uint32_t target, const Packet &packet, Time now);
    Flowlet &flowlet_of(const Packet &packet);
    CongestionTable &table(std::uint32_t leaf, std::uint32_t other);
    std::uint32_t number(std::uint32_t leaf);

    ShortestPaths &paths_;
    CongaRules rules_;
    SwitchEcmp further_on_;
    Random random_;
    std::vector<LoadEstimator> loads_;       // of each link
    std::vector<std::uint32_t> tags_;        // of each link, among those of its node that lead to switches
    std::vector<std::uint32_t> leaf_;        // of each host, its first one
    std::vector<Flowlet> flowlets_;          // of each flow's two directions
    std::vector<std::uint32_t> leaf_number_; // of each node that is a leaf so far
    std::vector<std::vector<std::unique_ptr<CongestionTable>>> tables_; // by numbers of leaves
    std::vector<std::uint8_t> levels_;                                  // of the choices at hand
};

} // namespace kuijia::packet
