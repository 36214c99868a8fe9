// Takes one part of the core step by step, without the simulation around it: `steps PART [NAME=VALUE...]`, the rules of
// the part in the core's own units. Each line of standard input is a step, and is answered by one line of numbers.
#include "queues/hashed_credits.hpp"
#include "queues/strict_priority.hpp"
#include "routing/clove_ecn.hpp"
#include "routing/flow_bender.hpp"
#include "routing/hermes.hpp"
#include "scenario.hpp"
#include "stand_in.hpp"
#include "transports/congestion_control.hpp"
#include "transports/expresspass.hpp"
#include "transports/flashpass.hpp"
#include "transports/resequencer.hpp"
#include "transports/tcp_receiver.hpp"
#include "transports/tcp_sender.hpp"

#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

namespace {

using namespace kuijia::packet;

using Options = std::map<std::string, std::string>;

// Numbers of a step, and the line of its answer.
class Step {
  public:
    explicit Step(const std::string &line) : words_(line) { words_ >> name_; }

    bool is(const char *name) const { return name_ == name; }
    const std::string &name() const { return name_; }
    bool more() { return !(words_ >> std::ws).eof(); }
    template <typename Value> Value next() {
        Value value{};
        if (!(words_ >> value))
            throw std::invalid_argument("a number is missing in step " + name_);
        return value;
    }
    Time time() { return next<Time>(); }
    std::uint32_t count() { return next<std::uint32_t>(); }
    double real() { return next<double>(); }
    bool flag() { return next<int>() != 0; }

  private:
    std::istringstream words_;
    std::string name_;
};

void answer(std::initializer_list<double> numbers) {
    for (const auto number : numbers)
        std::printf("%.17g ", number);
}

void run(const std::function<void(Step &)> &take) {
    for (std::string line; std::getline(std::cin, line);) {
        Step step(line);
        take(step);
        std::printf("\n");
        std::fflush(stdout);
    }
}

template <typename Value> void assign(Value &to, const std::string &text) {
    if constexpr (std::is_enum_v<Value> || std::is_same_v<Value, bool>)
        to = static_cast<Value>(std::stoi(text));
    else
        std::istringstream(text) >> to;
}

// Sets what `options` name, and forgets it there.
template <typename Rules> Rules rules_of(Options &options) {
    Rules rules;
    for_each_field<Rules>([&](const auto &field) {
        using Member = std::remove_cvref_t<decltype(rules.*field.member)>;
        if constexpr (std::is_arithmetic_v<Member> || std::is_enum_v<Member>)
            if (const auto found = options.find(field.name); found != options.end()) {
                assign(rules.*field.member, found->second);
                options.erase(found);
            }
    });
    return rules;
}

template <typename Value> Value option(Options &options, const char *name, Value usual) {
    if (const auto found = options.find(name); found != options.end()) {
        assign(usual, found->second);
        options.erase(found);
    }
    return usual;
}

void require_empty(const Options &options) {
    if (!options.empty())
        throw std::invalid_argument(options.begin()->first + ": no such option");
}

// The window of a control that goes by losses and marks: its size and threshold.
void window(Options options) {
    Window window{option(options, "window", 10.0)};
    auto control = control_of(rules_of<TcpRules>(options));
    require_empty(options);
    run([&](Step &step) {
        std::visit(
            [&](auto &of) {
                if (step.is("set")) {
                    window.size = step.real();
                } else if (step.is("grow")) {
                    const auto acknowledged = step.real();
                    const auto now = step.time();
                    of.grow(window, acknowledged, {now, step.time()});
                } else if (step.is("lost")) {
                    of.lost(window, step.real(), {0, 0});
                } else if (step.is("marked")) {
                    of.marked(window, step.real(), {0, 0});
                } else if (step.is("timed_out")) {
                    of.timed_out(window, step.real(), {0, 0});
                } else if (step.is("observe")) {
                    const auto missing = step.count();
                    const auto acknowledged = step.count();
                    const bool marked = step.flag();
                    of.observe(missing, acknowledged, marked, step.count());
                }
            },
            control);
        answer({window.size, window.threshold});
    });
}

// A control that goes by delay or by the rate of delivery: its window, threshold and pace.
void feedback(Options options) {
    Window window{option(options, "window", 10.0)};
    Random random(option(options, "seed", std::uint64_t{0}));
    auto control = control_of(rules_of<TcpRules>(options));
    require_empty(options);
    DeliveryRate delivery;
    Time smoothed = 0;
    const auto take = [&](auto &of, Step &step) {
        if (step.is("set")) {
            window.size = step.real();
        } else if (step.is("lost")) {
            of.lost(window, step.real(), {0, 0});
        } else if (step.is("timed_out")) {
            of.timed_out(window, step.real(), {0, 0});
        } else if (step.is("recovered")) {
            of.recovered(window);
        } else if (step.is("limited")) {
            delivery.limit_by_application(step.real());
        } else if (step.is("sent")) {
            const auto number = step.count();
            const bool was_idle = step.flag();
            if (was_idle)
                of.restarts(delivery.app_limited());
            delivery.sent(number, was_idle, step.time());
        } else if (step.is("delivered")) {
            const auto number = step.count();
            delivery.delivered(number, step.time());
        } else if (step.is("acknowledged")) {
            const auto now = step.time();
            const auto sample = step.time();
            smoothed = step.time();
            std::array<double, 8> told;
            for (auto &number : told)
                number = step.real();
            const auto [missing, next, delivered, lost, in_flight, was_full, in_order, may_grow] = told;
            const auto first_missing = static_cast<std::uint32_t>(missing);
            delivery.forget_below(first_missing);
            of.acknowledged(window, {now, sample, smoothed, first_missing, static_cast<std::uint32_t>(next), delivered,
                                     lost, in_flight, was_full > 0, in_order > 0, may_grow > 0, delivery.sample(sample),
                                     &delivery, random});
        }
        answer({window.size, window.threshold, of.pace(window, smoothed)});
    };
    run([&](Step &step) { std::visit([&](auto &of) { take(of, step); }, control); });
}

void take_blocks(Step &step, Packet &packet) {
    for (; step.more(); packet.blocks = (packet.blocks + 1) & 3) {
        packet.sacked[packet.blocks].begin = step.count();
        packet.sacked[packet.blocks].end = step.count();
    }
}

double shown(Time time) { return time == never ? -1.0 : static_cast<double>(time); }

// A sender of TCP: what it sends, if it does, and its window, deadline and round-trip time.
void tcp(Options options) {
    const auto segments = option(options, "segments", 1'000'000u);
    const auto rules = rules_of<TcpRules>(options);
    require_empty(options);
    Random random(0);
    TcpSender sender(rules, segments);
    run([&](Step &step) {
        const auto now = step.time();
        double number = -1;
        bool again = false;
        if (step.is("send")) {
            const auto next = sender.next(now);
            number = next.what == TcpSender::Sends::segment ? next.number : -1.0;
            again = next.again;
        } else if (step.is("acknowledged")) {
            Packet packet{};
            packet.number = step.count();
            packet.sent = step.time();
            packet.echo = step.flag();
            take_blocks(step, packet);
            sender.acknowledged(packet, now, random);
        } else if (step.is("timed_out")) {
            sender.timed_out(now);
        }
        answer({number, again * 1.0, sender.window(), sender.outstanding() * 1.0, shown(sender.deadline()),
                static_cast<double>(sender.round_trip())});
    });
}

void answer_blocks(const Range *blocks, std::uint8_t count) {
    answer({count * 1.0});
    for (std::uint8_t block = 0; block < count; ++block)
        answer({blocks[block].begin * 1.0, blocks[block].end * 1.0});
}

// A receiver of TCP: its deadline, then of each acknowledgement its number, the time and path of the segment that it
// answers, its mark, how many blocks it has, and these.
void tcp_receiver(Options options) {
    const auto segments = option(options, "segments", 1'000'000u);
    const auto rules = rules_of<TcpRules>(options);
    require_empty(options);
    TcpReceiver receiver(rules, segments);
    run([&](Step &step) {
        TcpReceiver::Acknowledgements made;
        if (step.is("segment")) {
            Packet packet{};
            const auto now = step.time();
            packet.number = step.count();
            packet.sent = step.time();
            packet.path = step.next<std::uint16_t>();
            packet.marked = step.flag();
            made = receiver.received(packet, now);
        } else {
            made.all[made.count++] = receiver.timed_out();
        }
        answer({shown(receiver.deadline())});
        for (std::uint8_t place = 0; place < made.count; ++place) {
            const auto &of = made.all[place];
            answer({of.number * 1.0, static_cast<double>(of.sent), of.path * 1.0, of.echo * 1.0});
            answer_blocks(of.sacked.data(), of.blocks);
        }
    });
}

// A buffer that puts segments back into order: its deadline, then the segments that it passes on.
void resequencer(Options options) {
    const auto rules = rules_of<TcpRules>(options);
    require_empty(options);
    Resequencer buffer(rules);
    run([&](Step &step) {
        Packet packet{};
        const bool comes = step.is("segment");
        const auto now = step.time();
        packet.number = comes ? step.count() : 0;
        const auto passed = comes ? buffer.received(packet, now) : buffer.due(now);
        answer({shown(buffer.deadline())});
        for (const auto &each : passed)
            answer({each.number * 1.0});
    });
}

// The rate of a receiver's credits.
void credit_rate(Options options) {
    const auto rules = rules_of<ExpressPassRules>(options);
    require_empty(options);
    CreditRate rate(rules);
    run([&](Step &step) {
        if (step.is("begin")) {
            const auto first = step.real();
            rate.begin(first, step.time());
        } else if (step.is("noted")) {
            rate.noted(step.count());
        } else if (step.is("adapt")) {
            const auto now = step.time();
            const auto round_trip = step.time();
            rate.adapt(now, round_trip, step.real());
        }
        answer({rate.rate()});
    });
}

// A queue with random early detection: 0 takes, 1 marks, 2 drops.
void red(Options options) {
    Random random(option(options, "seed", std::uint64_t{0}));
    const auto rules = rules_of<RedRules>(options);
    require_empty(options);
    Red red;
    run([&](Step &step) {
        const bool capable = step.flag();
        const auto waiting = step.time();
        answer({static_cast<double>(red.judge(rules, capable, waiting, step.time(), random))});
    });
}

// Both ends of a transport: its window or rate, when it wants to wake as a sender and as a receiver, then what it sent:
// the kind of each packet, its number and if queues drop it first; of a credit also its size, its time and what it
// answers, of a probe when it left, of acknowledgements and returned probes their blocks.
void take_steps(Transport &transport, Simulation &simulation) {
    run([&](Step &step) {
        Host host(simulation, 0, step.time());
        if (step.is("counters")) {
            const auto all = transport.counters();
            return answer({all.goodput * 1.0, all.retransmitted * 1.0, all.timeouts * 1.0, all.outstanding * 1.0,
                           static_cast<double>(all.round_trip), all.offered * 1.0, all.credits * 1.0, all.unused * 1.0,
                           simulation.timeouts * 1.0, simulation.completed * 1.0, simulation.finished * 1.0});
        }
        if (step.is("packets")) { // of the step before
            for (const auto &packet : simulation.sent)
                answer({packet.size * 1.0, packet.level * 1.0, static_cast<double>(packet.sent), packet.blocks * 1.0,
                        packet.sacked[0].begin * 1.0, packet.path * 1.0, packet.echo * 1.0, packet.again * 1.0});
            return;
        }
        simulation.sent.clear();
        simulation.asked = {};
        if (step.is("start")) {
            transport.start(host);
        } else if (step.is("wake")) {
            transport.wake(host, step.more() ? step.count() : 0);
        } else {
            Packet packet{};
            packet.backward = step.is("answer") || step.is("credits");
            packet.kind = step.is("answer") || step.is("comes") ? static_cast<Kind>(step.next<unsigned>())
                          : step.is("credits")                  ? Kind::credit
                          : step.is("emulation")                ? Kind::emulation
                          : step.is("request")                  ? Kind::request
                          : step.is("stop")                     ? Kind::stop
                          : step.is("probe")                    ? Kind::probe
                                                                : Kind::data;
            packet.path = 3;
            packet.marked = step.is("marked");
            packet.number = step.count();
            packet.sent = step.is("credits") ? 0 : step.time();
            packet.ecn_capable = !step.is("early");
            take_blocks(step, packet);
            transport.receive(host, packet);
        }
        const auto counters = transport.counters();
        answer({counters.window, static_cast<double>(simulation.wakes[0]), static_cast<double>(simulation.wakes[1])});
        for (const auto &packet : simulation.sent) {
            answer({static_cast<double>(packet.kind), packet.number * 1.0, !packet.ecn_capable * 1.0});
            for (std::uint8_t block = 0; packet.kind == Kind::credit && block < packet.blocks; ++block)
                answer({packet.size * 1.0, static_cast<double>(packet.sent), packet.sacked[block].begin * 1.0,
                        packet.sacked[block].end * 1.0});
            if (packet.kind == Kind::acknowledgement || (packet.kind == Kind::probe && packet.backward)) {
                answer({static_cast<double>(packet.sent)});
                answer_blocks(packet.sacked, packet.blocks);
            }
        }
    });
}

template <typename Rules> void transport(Options options) {
    Simulation simulation(option(options, "seed", std::uint64_t{0}));
    simulation.links.push_back({option(options, "card", std::int64_t{10'000'000'000}), 0, 0, 0, 0, 0, 0});
    const FlowRules flow{0, 0, 0, 0, 0, option(options, "bytes", std::uint64_t{0})};
    const auto rules = rules_of<Rules>(options);
    require_empty(options);
    const auto both = rules.transport(flow);
    take_steps(*both, simulation);
}

// Two racks of two hosts each with a spine for each path: hosts 0 to 3, switches 4 and 5, then the spines. A flow for
// each pair of hosts in different racks that begins at the first, and one back: 0 to 2, 0 to 3, 1 to 2, 1 to 3, 2 to 0.
// Hosts with two homes have a card in each of two racks; spines connect the racks of one home, in turn.
void connect(Simulation &simulation, std::uint32_t homes, std::uint32_t paths, std::int64_t rate, Time delay) {
    constexpr std::uint32_t hosts = 4;
    simulation.hosts = hosts;
    const auto connect = [&](std::uint32_t from, std::uint32_t to) {
        simulation.links.push_back({rate, delay, 0, 0, from, to, 0});
        return static_cast<std::uint32_t>(simulation.links.size() - 1);
    };
    std::vector<std::array<std::uint32_t, hosts>> up(homes);
    std::vector<std::array<std::uint32_t, hosts>> down(homes);
    for (std::uint32_t home = 0; home < homes; ++home)
        for (std::uint32_t host = 0; host < hosts; ++host) {
            up[home][host] = connect(host, 4 + 2 * home + host / 2);
            down[home][host] = connect(4 + 2 * home + host / 2, host);
        }
    std::vector<std::array<std::uint32_t, 4>> of_spines; // to it from each rack, and from it
    for (std::uint32_t path = 0; path < paths; ++path) {
        const auto rack = 4 + 2 * (path % homes);
        const auto spine = 4 + 2 * homes + path;
        of_spines.push_back(
            {connect(rack, spine), connect(rack + 1, spine), connect(spine, rack), connect(spine, rack + 1)});
    }
    const auto add = [&](std::uint32_t from, std::uint32_t to) {
        for (std::uint32_t path = 0; path < paths; ++path) {
            const auto &links = of_spines[path];
            const auto home = path % homes;
            simulation.routes.push_back({up[home][from], links[from / 2], links[2 + to / 2], down[home][to]});
        }
    };
    for (const auto source : {0u, 1u})
        for (const auto target : {2u, 3u}) {
            simulation.ends.push_back({source, target});
            add(source, target);
        }
    simulation.ends.push_back({2, 0});
    add(2, 0);
    for (const auto &ends : simulation.ends)
        add(ends.target, ends.source);
}

// A choice of paths: the place that a packet takes, how many moves and failures were counted, when it wants to wake, -1
// if it has not asked, and the pair and path of each probe.
template <typename Rules> void choice_of(Options options) {
    Simulation simulation(1);
    const auto homes = option(options, "homes", 1u);
    const auto paths = option(options, "paths", 2u);
    connect(simulation, homes, paths, option(options, "card", std::int64_t{10'000'000'000}),
            option(options, "delay", Time{0}));
    const auto seed = option(options, "seed", std::uint64_t{0});
    const auto rules = rules_of<Rules>(options);
    require_empty(options);
    PathNetwork network(simulation);
    const auto choice = rules.choice(network, seed);
    simulation.wakes[0] = -1;
    std::uint32_t version = 0;
    std::vector<std::vector<std::uint32_t>> sets(2 * simulation.ends.size()); // of packets there, then of answers
    for (std::uint32_t set = 0; set < sets.size(); ++set)
        for (std::uint32_t path = 0; path < paths; ++path)
            sets[set].push_back(set * paths + path);
    std::vector<bool> reversed(sets.size()); // of flows: they take another set, from the last path to the first
    run([&](Step &step) {
        double place = -1;
        if (step.is("reverse")) {
            const auto flow = step.count();
            reversed[flow] = step.flag();
        } else if (step.is("send") || step.is("answer")) {
            Packet packet{};
            packet.flow = step.count();
            packet.sent = step.time();
            packet.backward = step.is("answer");
            packet.kind = packet.backward ? Kind::acknowledgement : Kind::data;
            packet.size = step.count() & 0xffffff;
            packet.number = step.count();
            packet.again = step.flag();
            const auto set = packet.flow + (packet.backward ? static_cast<std::uint32_t>(simulation.ends.size()) : 0);
            auto routes = sets[set];
            if (reversed[packet.flow])
                std::ranges::reverse(routes);
            const auto number = set + (reversed[packet.flow] ? static_cast<std::uint32_t>(sets.size()) : 0);
            place = choice->choose(packet, {routes, number, packet.backward ? 0 : version});
            const bool names = !packet.backward && !std::is_same_v<Rules, FlowBenderRules>;
            if (names && routes[static_cast<std::size_t>(place)] % paths / homes != packet.path)
                throw std::logic_error("the packet names another path than it takes");
        } else if (step.is("routes")) {
            ++version;
            for (std::uint32_t set = 0; set < simulation.ends.size(); ++set)
                sets[set].clear();
            while (step.more())
                for (std::uint32_t set = 0, path = step.count(); set < simulation.ends.size(); ++set)
                    sets[set].push_back(set * paths + path);
        } else if (step.is("acknowledged")) {
            Packet packet{};
            packet.flow = step.count();
            const auto now = step.time();
            packet.path = step.next<std::uint16_t>();
            packet.sent = step.time();
            packet.echo = step.flag();
            packet.number = step.more() ? step.count() : 0;
            set_delay(packet, now - packet.sent);
            choice->acknowledged(packet, now);
        } else if (step.is("timed_out")) {
            const auto flow = step.count();
            choice->timed_out(flow, step.time());
        } else if (step.is("ended")) {
            const auto flow = step.count();
            choice->ended(flow, step.time());
        } else if (step.is("wake")) {
            choice->wake(step.time());
        } else if (step.is("probed")) {
            Packet packet{};
            packet.backward = true;
            packet.number = step.count();
            const auto now = step.time();
            packet.path = step.next<std::uint16_t>();
            packet.sent = step.time();
            packet.echo = step.flag();
            set_delay(packet, now - packet.sent);
            choice->probed(packet, now);
        }
        const auto counters = choice->counters();
        answer({place, counters.moves * 1.0, counters.failed * 1.0, static_cast<double>(simulation.wakes[0])});
        simulation.wakes[0] = -1;
        for (const auto &probe : simulation.probes)
            answer({probe.number * 1.0, probe.path * 1.0});
        simulation.probes.clear();
    });
}

// Packets that come to queues of a link of 1 Gbit/s, each a flow of its own, and leave them.
class Queues {
  public:
    explicit Queues(std::uint64_t seed) : random_(seed) {}

    // Answers with the number of the packet that leaves, -1 for none, when to ask again, -1 for never, and how many
    // packets were dropped.
    void take(Step &step, Discipline &queues) {
        double number = -1;
        double retry = -1;
        const auto now = step.time();
        if (step.is("offer")) {
            const auto id = pool_.take();
            pool_[id] = {};
            pool_[id].flow = pool_[id].number = step.count();
            pool_[id].level = step.next<unsigned>() & 0xff;
            pool_[id].size = step.count() & 0xffffff;
            Arrival arrival{pool_, port_, random_, now, 0};
            queues.offer(id, arrival);
        } else if (step.is("choose")) {
            const auto chosen = queues.choose(pool_, now);
            if (chosen.packet == no_packet) {
                retry = shown(chosen.retry);
            } else {
                number = pool_[chosen.packet].number;
                port_.free_at = now + port_.rate.of(pool_[chosen.packet].size);
            }
        } else if (step.is("drained")) {
            retry = static_cast<double>(queues.drained_at(port_));
        }
        answer({number, retry, static_cast<double>(port_.counters.dropped_packets)});
    }

  private:
    Random random_;
    PacketPool pool_;
    Port port_{Rate(1'000'000'000), 0, nullptr};
};

// The first steps make the queues and their shared buckets; a queue can be `alone`.
void strict_priority(Options options) {
    Queues packets(option(options, "seed", std::uint64_t{0}));
    const bool alone = option(options, "alone", false);
    require_empty(options);
    StrictPriorityRules rules;
    std::unique_ptr<Discipline> queues;
    std::shared_ptr<SharedByPorts> shared;
    run([&](Step &step) {
        if (step.is("queue")) {
            auto &queue = rules.queues.emplace_back();
            queue.limit = step.time();
            if (const auto rate = step.time(); rate > 0)
                queue.shaping = TokenBucketRules{rate, step.time()};
            answer({-1, -1, 0});
        } else if (step.is("bucket")) {
            auto &one = rules.shared.emplace_back();
            one.bucket.rate = step.time();
            one.bucket.burst = step.time();
            while (step.more())
                one.queues.push_back(step.count());
            answer({-1, -1, 0});
        } else {
            if (!queues)
                queues = alone ? rules.queues.front().discipline({1, 0, shared}) : rules.discipline({1, 0, shared});
            packets.take(step, *queues);
        }
    });
}

void hashed_credits(Options options) {
    const auto seed = option(options, "seed", std::uint64_t{0});
    const auto rules = rules_of<HashedCreditsRules>(options);
    require_empty(options);
    std::shared_ptr<SharedByPorts> shared;
    const auto queues = rules.discipline({1, seed, shared});
    Queues packets(seed);
    run([&](Step &step) { packets.take(step, *queues); });
}

} // namespace

int main(int count, char **arguments) {
    const std::map<std::string, void (*)(Options)> parts{{"window", window},
                                                         {"feedback", feedback},
                                                         {"tcp", tcp},
                                                         {"tcp_ends", transport<TcpRules>},
                                                         {"tcp_receiver", tcp_receiver},
                                                         {"resequencer", resequencer},
                                                         {"credit_rate", credit_rate},
                                                         {"red", red},
                                                         {"flashpass", transport<FlashPassRules>},
                                                         {"expresspass", transport<ExpressPassRules>},
                                                         {"hermes", choice_of<HermesRules>},
                                                         {"clove", choice_of<CloveEcnRules>},
                                                         {"flow_bender", choice_of<FlowBenderRules>},
                                                         {"strict_priority", strict_priority},
                                                         {"hashed_credits", hashed_credits}};
    try {
        Options options;
        for (int place = 2; place < count; ++place) {
            const std::string word = arguments[place];
            const auto end = word.find('=');
            options[word.substr(0, end)] = word.substr(end + 1);
        }
        parts.at(count > 1 ? arguments[1] : "")(std::move(options));
    } catch (const std::exception &fault) {
        std::fprintf(stderr, "%s\n", fault.what());
        return 1;
    }
    return 0;
}
