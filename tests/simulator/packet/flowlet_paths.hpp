// Drives forwarding by flowlets with packets at any times: none goes into a link that is known to be down, and those of
// one flowlet take the same path.
#pragma once

#include "drawing.hpp"
#include "routing/registry.hpp"
#include "scenario.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

namespace kuijia::packet {

// Hosts first, two for each leaf, then the leaves, at last the spines; with parallel cables.
class FlowletPaths {
  public:
    FlowletPaths(Random &random, const ForwardingRules &rules, Time gap)
        : random_(random), gap_(gap), leaves_(2 + count(2)), spines_(1 + count(3)) {
        for (std::uint32_t host = 0; host < hosts(); ++host) {
            known_hosts_.push_back(host);
            cable(host, hosts() + host / 2);
        }
        for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf)
            for (std::uint32_t spine = 0; spine < spines_; ++spine)
                for (auto cables = 1 + count(2); cables-- > 0;)
                    cable(hosts() + leaf, hosts() + leaves_ + spine);
        up_.assign(links_.size(), true);
        paths_ = std::make_unique<ShortestPaths>(hosts() + leaves_ + spines_, links_, known_hosts_);
        forwarding_ = std::visit([&](const auto &of) { return of.forwarding(*paths_, random_.next()); }, rules);
        last_.resize(2 * flows);
    }

    void check(std::size_t packets) {
        for (Time now = 0; packets-- > 0; now += pause()) {
            if (count(20) == 0)
                change();
            send(count(flows), count(2) == 0, now);
        }
    }

  private:
    static constexpr std::uint32_t flows = 8;
    struct Last {
        Time time = never;
        std::uint64_t changes = 0;
        std::vector<std::uint32_t> path;
    };

    std::uint32_t count(std::uint64_t bound) { return static_cast<std::uint32_t>(random_.below(bound)); }
    std::uint32_t hosts() const { return 2 * leaves_; }
    Time pause() {
        return random_.below(4) == 0 ? gap_ + static_cast<Time>(random_.below(3))
                                     : drawn_between<Time>(random_, 0, gap_ / 4 + 1);
    }

    void cable(std::uint32_t one, std::uint32_t other) {
        for (const auto &[source, target] : {std::pair{one, other}, std::pair{other, one}})
            links_.push_back({1'000'000'000, 0, 0.0, 0, source, target, 0});
    }

    void change() {
        const auto link = count(links_.size());
        up_[link] = count(2) == 0;
        paths_->set_known(link, up_[link]);
        ++changes_;
    }

    void send(std::uint32_t flow, bool backward, Time now) {
        const auto require = [](bool holds, const char *fault) {
            if (!holds)
                throw std::logic_error(fault);
        };
        const auto one = flow % hosts();
        const auto other = (flow + 3) % hosts();
        const auto [source, target] = backward ? std::pair{other, one} : std::pair{one, other};
        Packet packet{};
        packet.flow = flow;
        packet.backward = backward;
        packet.size = 1500;
        auto &last = last_[2 * flow + backward];
        std::vector<std::uint32_t> path;
        for (auto node = hosts() + source / 2; node != target; node = links_[path.back()].target) {
            const auto link = forwarding_->next(node, target, packet, now, path.empty() ? no_link : path.back());
            if (link == no_link)
                break;
            require(link < links_.size() && links_[link].source == node, "a packet leaves by a link that is elsewhere");
            require(up_[link], "a packet goes into a link that is known to be down");
            path.push_back(link);
            require(path.size() < paths_->nodes(), "a packet goes round");
        }
        if (last.time != never && now - last.time <= gap_ && last.changes == changes_)
            require(path == last.path, "a flowlet is on two paths");
        last = {now, changes_, std::move(path)};
    }

    Random &random_;
    Time gap_;
    std::uint32_t leaves_;
    std::uint32_t spines_;
    std::vector<std::uint32_t> known_hosts_;
    std::vector<LinkRules> links_;
    std::vector<bool> up_;
    std::unique_ptr<ShortestPaths> paths_;
    std::unique_ptr<Forwarding> forwarding_;
    std::vector<Last> last_;
    std::uint64_t changes_ = 0;
};

inline void check_flowlet_paths(Random &random, std::size_t packets) {
    auto flowlets = drawn<FlowletsRules>(random);
    flowlets.gap = std::min<Time>(flowlets.gap, second);
    FlowletPaths(random, flowlets, flowlets.gap).check(packets);
    auto conga = drawn<CongaRules>(random);
    conga.gap = std::min<Time>(conga.gap, second);
    FlowletPaths(random, conga, conga.gap).check(packets);
}

} // namespace kuijia::packet
