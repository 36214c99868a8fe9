// Runs the kernels on arbitrary flows, valid and invalid; tests/hedera/fuzz.py builds it with sanitizers.
#include "annealing.hpp"
#include "estimation.hpp"
#include "first_fit.hpp"
#include "flow_book.hpp"
#include "fuzzing.hpp"
#include "refinement.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using namespace kuijia::hedera;

namespace {

using Ints = std::vector<std::int32_t>;

constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();

class Generator {
  public:
    explicit Generator(std::uint64_t seed) : random_(seed) {}

    std::int32_t below(std::int32_t size) { return std::uniform_int_distribution<std::int32_t>(0, size - 1)(random_); }

    std::int32_t amount() {
        constexpr std::int32_t odd[] = {0, 1, 1 << 16, 1 << 20};
        return below(4) ? below(1 << 16) : odd[below(4)];
    }

    Ints numbers(std::int32_t count, std::int32_t size) {
        Ints values(at(count));
        for (auto &value : values)
            value = below(size);
        return values;
    }

    template <class Values> void shuffle(Values &values) { std::shuffle(values.begin(), values.end(), random_); }

    // Replace one entry by a value that may be invalid.
    template <class Values> void spoil(Values &values) {
        constexpr std::int32_t strange[] = {-1, -2, most, 1000};
        switch (below(3)) {
        case 0:
            if (!values.empty())
                values[at(below(static_cast<std::int32_t>(values.size())))] = strange[below(4)];
            return;
        case 1:
            return values.push_back(0);
        default:
            if (!values.empty())
                values.pop_back();
        }
    }

  private:
    std::mt19937_64 random_;
};

// Input of an annealer besides routes.
struct Problem {
    Ints amount, capacity, choice, begin, fee_of_flow, label, host, pod_first, block_first, edge_first;
    std::vector<std::int64_t> fee;
    double greed;
};

template <class Routes> Problem problem(Generator &random, const Routes &routes) {
    Problem made;
    for (std::size_t flow = 0; flow < routes.flows(); ++flow) {
        made.amount.push_back(random.amount());
        made.choice.push_back(random.below(routes.labels() + 1) - 1);
        made.begin.push_back(random.below(routes.labels()));
        made.fee_of_flow.push_back(random.amount());
    }
    for (std::size_t link = 0; link < routes.links(); ++link)
        made.capacity.push_back(random.amount());
    const auto hosts = static_cast<std::int32_t>(routes.hosts()), slots = hosts + random.below(4);
    made.label = random.numbers(slots, routes.labels());
    made.host.assign(at(slots), -1);
    std::iota(made.host.begin(), made.host.begin() + hosts, 0);
    random.shuffle(made.host);
    const auto ranges = [&](std::int32_t size) {
        auto first = random.numbers(random.below(4), size + 1);
        first.insert(first.end(), {0, size});
        std::sort(first.begin(), first.end());
        return first;
    };
    made.pod_first = ranges(slots);
    made.block_first = ranges(slots);
    made.edge_first = ranges(hosts);
    for (std::int32_t host = 0; host < hosts; ++host)
        made.fee.push_back(random.amount());
    constexpr double greeds[] = {0, 0.5, 1000, 1e300};
    made.greed = greeds[random.below(4)];
    return made;
}

void spoil(Generator &random, Problem &made) {
    constexpr double strange[] = {-1, infinity, std::numeric_limits<double>::quiet_NaN()};
    switch (random.below(12)) {
    case 0:
        return random.spoil(made.amount);
    case 1:
        return random.spoil(made.capacity);
    case 2:
        return random.spoil(made.choice);
    case 3:
        return random.spoil(made.label);
    case 4:
        return random.spoil(made.host);
    case 5:
        return random.spoil(made.pod_first);
    case 6:
        return random.spoil(made.block_first);
    case 7:
        return random.spoil(made.edge_first);
    case 8:
        return random.spoil(made.fee);
    case 9:
        return random.spoil(made.begin);
    case 10:
        return random.spoil(made.fee_of_flow);
    default:
        made.greed = strange[random.below(3)];
    }
}

// Checks what must hold of every answer.
template <class Routes> void place(const Routes &routes, Problem &made) {
    auto seats = made.host;
    const auto told = anneal(routes, made.amount, made.capacity,
                             Seating{made.label, seats, made.pod_first, made.block_first, made.edge_first, made.fee},
                             {50, made.greed, 65536, 1});
    if (told.after > told.before || told.after < 0)
        throw std::logic_error("annealing ends in a worse state than it began in");
    std::sort(seats.begin(), seats.end());
    auto before = made.host;
    std::sort(before.begin(), before.end());
    if (seats != before)
        throw std::logic_error("annealing loses hosts");
    auto refined = made.begin;
    const auto end = refine(routes, made.capacity, Flows{made.amount, refined, made.choice, made.fee_of_flow},
                            {50, made.greed, 65536, 1});
    if (end.after > end.before || end.after < 0)
        throw std::logic_error("refinement ends in a worse state than it began in");
    require_below("refined", refined, at(routes.labels()));
    auto choice = made.choice;
    first_fit(routes, made.amount, made.capacity, choice);
    for (std::size_t flow = 0; flow < choice.size(); ++flow)
        if (choice[flow] < hashed || choice[flow] >= routes.labels() ||
            (made.choice[flow] != hashed && choice[flow] != made.choice[flow]))
            throw std::logic_error("first fit moves a flow, or moves it nowhere");
}

template <class Routes> void try_placing(Generator &random, const Routes &routes, bool spoilt) {
    auto made = problem(random, routes);
    if (spoilt)
        spoil(random, made);
    place(routes, made);
}

void try_fat_tree(Generator &random, bool spoilt) {
    auto half = 1 + random.below(3);
    const auto hosts = 2 * half * half * half, flows = random.below(20);
    auto source = random.numbers(flows, hosts), target = random.numbers(flows, hosts);
    if (spoilt && random.below(2)) {
        random.below(2) ? random.spoil(source) : random.spoil(target);
        half = random.below(3) ? half : random.below(300) - 20;
    }
    try_placing(random, FatTreeRoutes(half, source, target), spoilt);
}

void try_table(Generator &random, bool spoilt) {
    const auto links = 1 + random.below(10), labels = 1 + random.below(4), rows = 1 + random.below(5);
    const auto hosts = 1 + random.below(8), flows = random.below(20);
    std::vector<std::int64_t> first{0};
    Ints hops;
    for (auto place = 0; place < rows * labels; ++place) {
        auto path = Ints(at(links));
        std::iota(path.begin(), path.end(), 0);
        random.shuffle(path);
        path.resize(at(random.below(links + 1)));
        hops.insert(hops.end(), path.begin(), path.end());
        first.push_back(static_cast<std::int64_t>(hops.size()));
    }
    auto row = random.numbers(flows, rows), target = random.numbers(flows, hosts);
    if (spoilt)
        switch (random.below(5)) {
        case 0:
            random.spoil(first);
            break;
        case 1:
            random.spoil(hops);
            break;
        case 2:
            random.spoil(row);
            break;
        case 3:
            random.spoil(target);
            break;
        default:
            break;
        }
    try_placing(random, TableRoutes(at(links), labels, first, hops, row, target, at(hosts)), spoilt);
}

void try_estimating(Generator &random, bool spoilt) {
    const auto hosts = 1 + random.below(12), flows = random.below(60);
    auto source = random.numbers(flows, hosts), target = random.numbers(flows, hosts);
    if (spoilt)
        random.below(2) ? random.spoil(source) : random.spoil(target);
    const auto found = estimate(hosts, source, target, 1, 1000);
    if (!found.settled)
        throw std::logic_error("demands do not settle");
    for (const auto demand : found.demand)
        if (!(demand > -same && demand <= 1 + same))
            throw std::logic_error("a demand that no interface has");
}

void try_reading(Generator &random, bool spoilt) {
    const auto known = 1 + random.below(4);
    FlowBook book(known);
    for (auto time = 1; time <= 4; ++time) {
        Ints switches(at(known));
        std::iota(switches.begin(), switches.end(), 0);
        random.shuffle(switches);
        switches.resize(at(random.below(known + 1)));
        std::vector<std::int64_t> first{0};
        std::vector<std::uint64_t> key, bytes;
        std::vector<double> age;
        for (std::size_t answer = 0; answer < switches.size(); ++answer) {
            for (auto flow = random.below(9); flow-- > 0;) {
                key.push_back(static_cast<std::uint64_t>(random.below(12))); // sometimes the same twice
                bytes.push_back(random.below(5) ? static_cast<std::uint64_t>(random.amount()) : ~std::uint64_t{0});
                age.push_back(random.below(5) ? random.below(100) / 8.0 : 0.0);
            }
            first.push_back(static_cast<std::int64_t>(key.size()));
        }
        if (spoilt)
            switch (random.below(6)) {
            case 0:
                random.spoil(switches);
                break;
            case 1:
                random.spoil(first);
                break;
            case 2:
                random.spoil(key);
                break;
            case 3:
                random.spoil(bytes);
                break;
            case 4:
                random.spoil(age);
                break;
            default:
                time = 1;
                break;
            }
        const auto reading = book.read({static_cast<double>(time), switches, first, key, bytes, age});
        auto labels = reading.label;
        for (std::size_t flow = 0; flow < labels.size(); ++flow) {
            if (!spoilt && !(reading.rate[flow] >= 0))
                throw std::logic_error("a rate that is not one");
            labels[flow] = random.below(9) - 1;
        }
        if (spoilt && random.below(4) == 0)
            random.spoil(labels);
        book.note(labels);
        if (spoilt && random.below(4) == 0)
            return;
    }
}

} // namespace

int main(int, char **arguments) {
    return kuijia::fuzz<Generator>(arguments, [](Generator &generator, bool spoilt) {
        switch (generator.below(4)) {
        case 0:
            return try_estimating(generator, spoilt);
        case 1:
            return try_fat_tree(generator, spoilt);
        case 2:
            return try_reading(generator, spoilt);
        default:
            return try_table(generator, spoilt);
        }
    });
}
