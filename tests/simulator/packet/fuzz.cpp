// Runs the core on arbitrary scenarios, valid and invalid; tests/simulator/packet/fuzz.py builds it with sanitizers.
#include "fuzzing.hpp"
#include "simulation.hpp"

#include <stdexcept>

namespace {

using namespace kuijia::packet;

class Generator {
  public:
    explicit Generator(std::uint64_t seed) : random_(seed) {}

    std::uint32_t below(std::uint64_t bound) { return static_cast<std::uint32_t>(random_.below(bound)); }
    bool once_in(std::uint64_t times) { return below(times) == 0; }
    template <typename Value> Value one_of(std::initializer_list<Value> values) {
        return values.begin()[below(values.size())];
    }

    Scenario sound() {
        Scenario scenario;
        scenario.seed = random_.next();
        for (auto count = 1 + below(3); count-- > 0;)
            scenario.queueings.push_back(queueing());
        for (auto count = 1 + below(8); count-- > 0;)
            scenario.links.push_back({one_of<std::int64_t>({10'000, 3'333'333, 1'000'000'000, fastest}),
                                      one_of<Time>({0, 1, 50'000'000, second}), one_of({0.0, 0.0, 0.01, 1.0}),
                                      below(scenario.queueings.size()), below(5)});
        for (auto count = 1 + below(5); count-- > 0;) {
            auto &route = scenario.routes.emplace_back();
            for (auto length = 1 + below(4); length-- > 0;)
                route.push_back(below(scenario.links.size()));
        }
        for (auto count = 1 + below(2); count-- > 0;)
            scenario.tcp.push_back(tcp());
        auto &list = scenario.lists.emplace_back();
        Time time = 0;
        for (auto count = below(50); count-- > 0; time += below(1'000'000'000))
            list.push_back({time, 1 + below(2000), once_in(2)});
        for (auto count = below(6); count-- > 0;)
            scenario.flows.push_back(flow(scenario));
        for (auto count = below(5); count-- > 0;)
            scenario.link_changes.push_back({moment(), below(scenario.links.size()), once_in(2)});
        for (auto count = scenario.flows.empty() ? 0 : below(4); count-- > 0;)
            scenario.route_changes.push_back(
                {moment(), below(scenario.flows.size()), below(scenario.routes.size()), below(scenario.routes.size())});
        if (once_in(3)) {
            scenario.probed.push_back(below(scenario.links.size()));
            scenario.probed_every = second / 100;
        }
        return scenario;
    }

    // Replace one number by a value that may be invalid.
    void spoil(Scenario &scenario) {
        const auto number = one_of<std::int64_t>({-1, 0, 1, largest_packet, never, std::int64_t{1} << 40});
        const auto small = static_cast<std::uint32_t>(number);
        auto &link = scenario.links[below(scenario.links.size())];
        auto &tcp = scenario.tcp[below(scenario.tcp.size())];
        auto &queueing = scenario.queueings[below(scenario.queueings.size())];
        auto &queue = queueing.queues[below(queueing.queues.size())];
        switch (below(25)) {
        case 0:
            link.bits_per_second = number;
            break;
        case 1:
            link.delay = number;
            break;
        case 2:
            link.loss = static_cast<double>(number);
            break;
        case 3:
            link.queueing = small;
            break;
        case 4:
            link.input = small;
            break;
        case 5:
            queue.limit = number;
            break;
        case 6:
            queue.low = number;
            break;
        case 7:
            queue.shaped = number;
            break;
        case 8:
            queue.burst = number;
            break;
        case 9:
            queueing.weights.clear();
            break;
        case 10:
            scenario.routes[below(scenario.routes.size())].clear();
            break;
        case 11:
            scenario.routes[below(scenario.routes.size())].front() = small;
            break;
        case 12:
            tcp.payload = small;
            break;
        case 13:
            tcp.header = small;
            break;
        case 14:
            tcp.initial_window = static_cast<double>(number);
            break;
        case 15:
            tcp.least_timeout = number;
            break;
        case 16:
            tcp.receive_window = small;
            break;
        case 17:
            tcp.acknowledge_every = small;
            break;
        case 18:
            scenario.lists.front().push_back({number, small, false});
            break;
        case 19:
            scenario.link_changes.push_back({number, small, true});
            break;
        case 20:
            queue.weight = static_cast<double>(number);
            break;
        case 21:
            queue.cell = small;
            break;
        case 22:
            queueing.credits.bins = small;
            break;
        case 23:
            queueing.credits.hashed_anew_after = number;
            break;
        default:
            if (!scenario.flows.empty()) {
                scenario.flows.front().bytes = static_cast<std::uint64_t>(number);
                scenario.flows.back().start = number;
            }
        }
    }

  private:
    Time moment() { return below(100) * (second / 100); }

    QueueRules queue() {
        return {one_of<std::int64_t>({0, 1500, 5000, 100'000, largest_queue}),
                one_of<std::int64_t>({0, 3000}),
                one_of<std::int64_t>({3001, 30'000}),
                one_of({0.01, 1.0}),
                one_of({0.002, 1.0}),
                one_of<std::int64_t>({0, 0, 10'000, 500'000'000}),
                one_of<std::int64_t>({1, 3000, largest_packet}),
                one_of({1u, 1u, 64u}),
                one_of({Marking::none, Marking::threshold, Marking::red}),
                one_of({Overflow::tail, Overflow::random}),
                once_in(2)};
    }

    Queueing queueing() {
        Queueing queueing{one_of({Classifier::level, Classifier::input}),
                          one_of({Order::strict, Order::round_robin}),
                          {queue()},
                          {1 + below(3)},
                          {1 + below(5), below(3), one_of<Time>({1, second / 100, never})}};
        if (once_in(5)) {
            queueing.classifier = Classifier::credits;
            queueing.order = Order::strict;
            queueing.queues.push_back(queue());
            queueing.weights.push_back(1);
            return queueing;
        }
        while (once_in(2)) {
            queueing.queues.push_back(queue());
            queueing.weights.push_back(1 + below(3));
        }
        return queueing;
    }

    TcpRules tcp() {
        return {one_of({Control::reno, Control::cubic, Control::dctcp}),
                once_in(2),
                once_in(2),
                once_in(2),
                one_of({1u, 100u, 1460u, 9000u}),
                one_of({1u, 40u}),
                one_of({1.0, 2.5, 10.0}),
                one_of({1u, 3u, 1000u, 0x80000000u}),
                one_of({1.0, 2.0, 100.0}),
                one_of({0.0625, 1.0}),
                one_of({0.0, 1.0, 2.0}),
                one_of<Time>({second / 1000, second}),
                one_of<Time>({second / 5000, second / 5}),
                one_of<Time>({second, 60 * second}),
                one_of({0u, 1u, 8u}),
                1 + below(3),
                one_of<Time>({1, second / 25})};
    }

    FlowRules flow(const Scenario &scenario) {
        const auto kind = one_of({FlowKind::tcp, FlowKind::tcp, FlowKind::constant_rate, FlowKind::listed});
        return {kind,
                static_cast<std::uint8_t>(below(4)),
                below(kind == FlowKind::tcp ? scenario.tcp.size() : 1),
                below(scenario.routes.size()),
                below(scenario.routes.size()),
                moment(),
                one_of<std::uint64_t>({0, 1, 1460, 50'000, 3'000'000}),
                one_of<std::int64_t>({10'000, 7'654'321}),
                one_of({1u, 1500u})};
    }

    Random random_;
};

// Checks what must hold of every scenario at any time.
void check(Simulation &simulation, Time before) {
    const auto &totals = simulation.totals();
    const auto require = [](bool holds, const char *fault) {
        if (!holds)
            throw std::logic_error(fault);
    };
    require(simulation.now() >= before, "time goes back");
    require(totals.made == totals.arrived + totals.dropped + totals.lost + simulation.packets_in_flight(),
            "packets have vanished or appeared");
    std::uint64_t dropped = 0;
    std::uint64_t lost = 0;
    for (std::size_t link = 0; link < simulation.links(); ++link) {
        const auto &port = simulation.port(link);
        dropped += port.counters.dropped_packets;
        lost += port.counters.lost_packets;
        require(port.backlog.bytes() >= 0 && port.backlog.bytes() <= port.backlog.peak(), "a queue is negative");
        require(simulation.packets_in_flight() > 0 || (port.backlog.bytes() == 0 && simulation.on_link(link) == 0),
                "something waits that is nowhere");
    }
    require(dropped == totals.dropped && lost == totals.lost, "links have not dropped what was dropped");
    std::uint64_t arrived = 0;
    for (std::size_t flow = 0; flow < simulation.flows(); ++flow) {
        const auto record = simulation.record(flow);
        arrived += record.arrived_packets;
        require(record.sent_packets >= record.arrived_packets + record.dropped_packets,
                "a flow got more than was sent");
        require(record.finished <= record.acknowledged, "a sender knew before it was so");
    }
    require(arrived == totals.data_arrived, "flows have not got what arrived");
}

void run(Scenario scenario) {
    Simulation simulation(std::move(scenario));
    for (auto until = Time{0}; until <= second; until += second / 8) {
        const auto before = simulation.now();
        simulation.run(until, 2000);
        check(simulation, before);
    }
}

} // namespace

int main(int, char **arguments) {
    return kuijia::fuzz<Generator>(arguments, [](Generator &generator, bool spoilt) {
        auto scenario = generator.sound();
        if (spoilt)
            generator.spoil(scenario);
        run(std::move(scenario));
    });
}
