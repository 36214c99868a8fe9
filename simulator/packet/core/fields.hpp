// Parameters of rules, each written once: name, member, bounds and unit. The checks, the binding to Python, which uses
// the same names, and the fuzzer follow these lists.
#pragma once

#include "units.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

namespace kuijia::packet {

// Unit of a number in Python where it differs from the one here: seconds for picoseconds, Mbit/s for bit/s.
enum class Unit : std::uint8_t { none, seconds, megabits };

inline constexpr double above_zero = std::numeric_limits<double>::denorm_min();

// A number, or several, between bounds that `expected` describes.
template <typename Rules, typename Member, typename Value> struct NumberField {
    const char *name;
    Member Rules::*member;
    Value low;
    Value high;
    const char *expected;
    Unit unit;
};

// A flag, an enumerator, an index that is checked elsewhere, or nested rules.
template <typename Rules, typename Member> struct PlainField {
    const char *name;
    Member Rules::*member;
};

template <typename Rules, typename Value>
NumberField<Rules, Value, Value> number(const char *name, Value Rules::*member, std::type_identity_t<Value> low,
                                        std::type_identity_t<Value> high, const char *expected,
                                        Unit unit = Unit::none) {
    return {name, member, low, high, expected, unit};
}

template <typename Rules, typename Value>
NumberField<Rules, std::vector<Value>, Value> numbers(const char *name, std::vector<Value> Rules::*member,
                                                      std::type_identity_t<Value> low, std::type_identity_t<Value> high,
                                                      const char *expected, Unit unit = Unit::none) {
    return {name, member, low, high, expected, unit};
}

template <typename Rules, typename Member> PlainField<Rules, Member> plain(const char *name, Member Rules::*member) {
    return {name, member};
}

template <typename Rules> auto duration(const char *name, Time Rules::*member, Time low = 0) {
    return number(name, member, low, longest,
                  low > 0 ? "must be above 0 and at most 26 days" : "must be between 0 and 26 days", Unit::seconds);
}

template <typename Rules> auto rate(const char *name, std::int64_t Rules::*member) {
    return number(name, member, slowest, fastest, "must be between 10 kbit/s and 1 Tbit/s", Unit::megabits);
}

template <typename Rules>
concept HasFields = requires { Rules::fields(); };

template <typename Field>
concept IsNumber = requires(const Field &field) { field.expected; };

// Names of an enumeration's values, in order. Each enumeration that is a parameter has a specialisation.
template <typename Enum> struct Names;

template <HasFields Rules, typename Function> void for_each_field(const Function &function) {
    std::apply([&](const auto &...field) { (function(field), ...); }, Rules::fields());
}

template <typename Value> struct IsVector : std::false_type {};
template <typename Value> struct IsVector<std::vector<Value>> : std::true_type {};
template <typename Value> struct IsOptional : std::false_type {};
template <typename Value> struct IsOptional<std::optional<Value>> : std::true_type {};
template <typename Value> struct IsVariant : std::false_type {};
template <typename... Values> struct IsVariant<std::variant<Values...>> : std::true_type {};

// Calls `function` with the field and the value of each number in `rules` and in rules nested in it.
template <typename Rules, typename Function> void for_each_number(Rules &rules, const Function &function) {
    using Value = std::remove_const_t<Rules>;
    if constexpr (HasFields<Value>) {
        for_each_field<Value>([&](const auto &field) {
            auto &member = rules.*field.member;
            if constexpr (!IsNumber<decltype(field)>)
                for_each_number(member, function);
            else if constexpr (IsVector<std::remove_cvref_t<decltype(member)>>::value)
                for (auto &one : member)
                    function(field, one);
            else
                function(field, member);
        });
    } else if constexpr (IsVector<Value>::value) {
        for (auto &one : rules)
            for_each_number(one, function);
    } else if constexpr (IsOptional<Value>::value) {
        if (rules)
            for_each_number(*rules, function);
    } else if constexpr (IsVariant<Value>::value) {
        std::visit([&](auto &one) { for_each_number(one, function); }, rules);
    }
}

// Calls `function` with the `fault` of `rules`, and of rules nested in it: parameters that do not fit each other.
template <typename Rules, typename Function> void for_each_fault(const Rules &rules, const Function &function) {
    if constexpr (requires { rules.fault(); })
        if (const char *fault = rules.fault())
            function(fault);
    if constexpr (HasFields<Rules>) {
        for_each_field<Rules>([&](const auto &field) { for_each_fault(rules.*field.member, function); });
    } else if constexpr (IsVector<Rules>::value) {
        for (const auto &one : rules)
            for_each_fault(one, function);
    } else if constexpr (IsOptional<Rules>::value) {
        if (rules)
            for_each_fault(*rules, function);
    } else if constexpr (IsVariant<Rules>::value) {
        std::visit([&](const auto &one) { for_each_fault(one, function); }, rules);
    }
}

// Throws std::invalid_argument if a parameter is wrong; the message names it, the rules' kind (`what`) and place.
template <typename Rules> void require_sound(const Rules &rules, const char *what, std::size_t place) {
    const auto refuse = [&](const std::string &problem) {
        throw std::invalid_argument(std::string(what) + " " + std::to_string(place) + ": " + problem);
    };
    for_each_number(rules, [&](const auto &field, const auto &value) {
        if (!(value >= field.low && value <= field.high))
            refuse(std::string(field.name) + " " + field.expected);
    });
    for_each_fault(rules, refuse);
}

} // namespace kuijia::packet
