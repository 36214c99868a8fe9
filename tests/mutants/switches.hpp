// Changes of a core that are compiled all at once: the environment says which of them is in force, and there is none
// without it. The functions below stand in for the operators, numbers and statements that are changed.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <type_traits>

namespace kuijia::changes {

inline const int active = [] {
    const char *number = std::getenv("KUIJIA_CHANGE");
    return number == nullptr ? -1 : std::atoi(number);
}();

inline bool on(int number) { return number == active; }
inline bool off(int number) { return number != active; }

// An operator between two operands: `a + between<7, Plus, Minus> + b`.
template <int number, typename Old, typename New> struct Between {};
template <int number, typename Old, typename New> inline constexpr Between<number, Old, New> between{};
template <int number, typename Old, typename New, typename Left> struct Begun {
    const Left &left;
};

// Symbols of the module that say for which numbers a change was compiled, and for which it could not be.
template <int number> [[gnu::used]] inline char possible = 0;
template <int number> [[gnu::used]] inline char impossible = 0;

template <int number, typename Old, typename New, typename Left, typename Right>
auto chosen(const Left &left, const Right &right) {
    using Result = std::remove_cvref_t<decltype(Old::of(left, right))>;
    if constexpr (requires { static_cast<Result>(New::of(left, right)); }) {
        (void)&possible<number>;
        if (on(number))
            return static_cast<Result>(New::of(left, right));
    } else {
        (void)&impossible<number>;
    }
    return static_cast<Result>(Old::of(left, right));
}

#define KUIJIA_OPERATOR(name, sign)                                                                                    \
    struct name {                                                                                                      \
        template <typename Left, typename Right>                                                                       \
        static auto of(const Left &left, const Right &right) -> decltype(left sign right) {                            \
            return left sign right;                                                                                    \
        }                                                                                                              \
    };                                                                                                                 \
    template <int number, typename Old, typename New, typename Left>                                                   \
    Begun<number, Old, New, Left> operator sign(const Left &left, Between<number, Old, New>) {                         \
        return {left};                                                                                                 \
    }                                                                                                                  \
    template <int number, typename Old, typename New, typename Left, typename Right>                                   \
    auto operator sign(Begun<number, Old, New, Left> begun, const Right &right) {                                      \
        return chosen<number, Old, New>(begun.left, right);                                                            \
    }
KUIJIA_OPERATOR(Plus, +)
KUIJIA_OPERATOR(Minus, -)
KUIJIA_OPERATOR(Times, *)
KUIJIA_OPERATOR(By, /)
KUIJIA_OPERATOR(Modulo, %)
KUIJIA_OPERATOR(Less, <)
KUIJIA_OPERATOR(LessEqual, <=)
KUIJIA_OPERATOR(Greater, >)
KUIJIA_OPERATOR(GreaterEqual, >=)
KUIJIA_OPERATOR(Equal, ==)
KUIJIA_OPERATOR(NotEqual, !=)
#undef KUIJIA_OPERATOR

// `!value`.
template <int number> struct Not {};
template <int number, typename Value> bool operator*(Not<number>, const Value &value) {
    return on(number) ? static_cast<bool>(value) : !static_cast<bool>(value);
}

// A number: one more, or twice as much.
template <int number, typename Value> Value other(Value value) {
    if (off(number))
        return value;
    if constexpr (std::is_floating_point_v<Value>)
        return value == 0 ? Value{1} : 2 * value;
    else
        return static_cast<Value>(value + 1);
}

// What is added or taken away.
template <int number, typename Value> auto opposite(Value value) {
    using Result = decltype(+value);
    return on(number) ? static_cast<Result>(-value) : static_cast<Result>(value);
}

template <int number, typename Value> Value &step_up(Value &value) { return on(number) ? --value : ++value; }
template <int number, typename Value> Value &step_down(Value &value) { return on(number) ? ++value : --value; }

// The least or the greatest of several.
template <int number, bool least> struct Extreme {
    template <typename Value> Value operator()(const Value &one, const Value &two) const {
        return least == off(number) ? std::min(one, two) : std::max(one, two);
    }
    template <typename Value> Value operator()(std::initializer_list<Value> all) const {
        return least == off(number) ? std::min(all) : std::max(all);
    }
};

} // namespace kuijia::changes
