// Runs the core on arbitrary problems, valid and invalid; tests/simulator/flow/fuzz.py builds it with sanitizers.
#include "fuzzing.hpp"
#include "problem.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <stdexcept>

namespace {

using kuijia::flow::Problem;

struct Arrays {
    std::vector<double> capacity;
    std::vector<std::int64_t> first{0};
    std::vector<std::int32_t> links;
    std::vector<double> offered;
    std::vector<double> weight;
    std::vector<std::int32_t> level;
    std::vector<std::uint8_t> elastic;

    Problem problem() const { return {capacity, first, links, offered, weight, level, elastic}; }
};

class Generator {
  public:
    explicit Generator(std::uint64_t seed) : random_(seed) {}

    std::size_t below(std::size_t size) { return std::uniform_int_distribution<std::size_t>(0, size - 1)(random_); }

    double rate() {
        constexpr double odd[] = {0, 1, 1e-300, 1e300, std::numeric_limits<double>::denorm_min(), 1e9};
        return below(4) ? std::uniform_real_distribution<double>(0, 100)(random_) : odd[below(std::size(odd))];
    }

    Arrays sound() {
        Arrays arrays;
        arrays.capacity.resize(1 + below(12));
        for (auto &capacity : arrays.capacity)
            capacity = rate();
        for (auto flows = below(25); flows-- > 0;) {
            std::vector<std::int32_t> path;
            for (std::size_t link = 0; link < arrays.capacity.size(); ++link)
                if (below(3) == 0)
                    path.push_back(static_cast<std::int32_t>(link));
            std::shuffle(path.begin(), path.end(), random_);
            arrays.links.insert(arrays.links.end(), path.begin(), path.end());
            arrays.first.push_back(static_cast<std::int64_t>(arrays.links.size()));
            arrays.elastic.push_back(static_cast<std::uint8_t>(below(3)));
            const bool endless = arrays.elastic.back() && !path.empty() && below(4) == 0;
            arrays.offered.push_back(endless ? std::numeric_limits<double>::infinity() : rate());
            arrays.weight.push_back(below(2) ? 1 : std::max(1e-30, rate()));
            arrays.level.push_back(static_cast<std::int32_t>(below(3)) - 1);
        }
        return arrays;
    }

    // Replace one entry by a value that may be invalid.
    void spoil(Arrays &arrays) {
        constexpr double strange[] = {-1, std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::infinity(), -0.0};
        const double number = strange[below(std::size(strange))];
        const auto whole = static_cast<std::int32_t>(below(40)) - 5;
        const auto replace = [&](auto &values, auto value) {
            if (!values.empty())
                values[below(values.size())] = value;
        };
        switch (below(8)) {
        case 0:
            return replace(arrays.capacity, number);
        case 1:
            return replace(arrays.offered, number);
        case 2:
            return replace(arrays.weight, number);
        case 3:
            return replace(arrays.links, whole);
        case 4:
            return replace(arrays.first, static_cast<std::int64_t>(whole));
        case 5:
            return arrays.level.push_back(0);
        case 6:
            return arrays.capacity.clear();
        default:
            return arrays.first.pop_back();
        }
    }

  private:
    std::mt19937_64 random_;
};

// Checks what must hold of every outcome, however odd the numbers.
void check(const Arrays &arrays, const kuijia::flow::Outcome &outcome) {
    for (std::size_t flow = 0; flow < arrays.offered.size(); ++flow)
        if (!(outcome.goodput[flow] >= 0 && outcome.goodput[flow] <= arrays.offered[flow]))
            throw std::logic_error("a flow gets less than nothing or more than it offers");
    for (std::size_t link = 0; link < arrays.capacity.size(); ++link)
        if (!(outcome.load[link] >= 0 && outcome.load[link] <= arrays.capacity[link] && outcome.dropped[link] >= 0))
            throw std::logic_error("a link carries or drops what it cannot");
}

} // namespace

int main(int, char **arguments) {
    return kuijia::fuzz<Generator>(arguments, [](Generator &generator, bool spoilt) {
        auto arrays = generator.sound();
        if (spoilt)
            generator.spoil(arrays);
        check(arrays, kuijia::flow::share(arrays.problem()));
    });
}
