// Draws rules of any kind from their lists of fields: nothing here knows an entry of a registry.
#pragma once

#include "fields.hpp"
#include "random.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

namespace kuijia::packet {

// Draws a number between bounds: a bound, or one whose logarithm tends to the lower one, so that scenarios stay small.
template <typename Value> Value drawn_between(Random &random, Value low, Value high) {
    switch (random.below(8)) {
    case 0:
        return low;
    case 1:
        return high;
    default:
        const auto least = std::max(static_cast<double>(low), std::is_floating_point_v<Value> ? 1e-4 : 1.0);
        const auto drawn = least * std::pow(static_cast<double>(high) / least, random.unit() * random.unit());
        return std::clamp(static_cast<Value>(std::min(drawn, static_cast<double>(high) * 0.999)), low, high);
    }
}

template <typename Value> Value drawn(Random &random, std::size_t length = 0);

template <typename Variant, std::size_t... Place> Variant drawn_variant(Random &random, std::index_sequence<Place...>) {
    using Draw = Variant (*)(Random &);
    static constexpr Draw draws[] = {
        [](Random &from) -> Variant { return drawn<std::variant_alternative_t<Place, Variant>>(from); }...};
    return draws[random.below(sizeof...(Place))](random);
}

// Draws rules that are sound, with vectors of `length` or, if it is 0, of a drawn one.
template <typename Value> Value drawn(Random &random, std::size_t length) {
    if constexpr (HasFields<Value>) {
        for (;;) {
            Value value;
            const auto entries = 1 + random.below(3);
            for_each_field<Value>([&](const auto &field) {
                auto &member = value.*field.member;
                using Member = std::remove_cvref_t<decltype(member)>;
                if constexpr (!IsNumber<decltype(field)>) {
                    member = drawn<Member>(random, entries);
                } else if constexpr (IsVector<Member>::value) {
                    for (std::size_t entry = 0; entry < entries; ++entry)
                        member.push_back(drawn_between(random, field.low, field.high));
                    std::sort(member.begin(), member.end());
                } else {
                    member = drawn_between(random, field.low, field.high);
                }
            });
            bool sound = true;
            for_each_fault(value, [&](const char *) { sound = false; });
            if (sound)
                return value;
        }
    } else if constexpr (IsVector<Value>::value) {
        Value values;
        for (std::size_t entry = 0; entry < length; ++entry)
            values.push_back(drawn<typename Value::value_type>(random));
        return values;
    } else if constexpr (IsOptional<Value>::value) {
        return random.below(2) == 0 ? Value{} : Value{drawn<typename Value::value_type>(random)};
    } else if constexpr (IsVariant<Value>::value) {
        return drawn_variant<Value>(random, std::make_index_sequence<std::variant_size_v<Value>>());
    } else if constexpr (std::is_enum_v<Value>) {
        return static_cast<Value>(random.below(Names<Value>::all.size()));
    } else if constexpr (std::is_same_v<Value, bool>) {
        return random.below(2) == 0;
    } else {
        static_assert(std::is_same_v<Value, std::monostate>, "a field of this kind cannot be drawn");
        return {};
    }
}

// Lists the numbers in rules, each as a function that sets it.
using Setter = std::function<void(std::int64_t)>;
template <typename Rules> void add_setters(std::vector<Setter> &setters, Rules &rules) {
    for_each_number(rules, [&](const auto &, auto &value) {
        using Value = std::remove_cvref_t<decltype(value)>;
        setters.push_back([&value](std::int64_t number) { value = static_cast<Value>(number); });
    });
}

} // namespace kuijia::packet
