#include "routing/congestion_table.hpp"

namespace kuijia::packet {

void CongestionTable::record(PathLoad load, Time now) {
    if (load.tag >= from_.size())
        from_.resize(load.tag + std::size_t{1});
    auto &path = from_[load.tag];
    changed_ -= path.changed();
    path.at = now;
    path.known = true;
    path.level = load.level;
    changed_ += path.changed();
}

PathLoad CongestionTable::report(Time now) {
    auto chosen = from_.size();
    for (std::size_t step = 0; step < from_.size(); ++step) {
        const auto place = (turn_ + step) % from_.size();
        auto &path = from_[place];
        if (path.known && now - path.at > aging_) {
            changed_ -= path.changed();
            path = {};
        }
        if (!path.known || (chosen < from_.size() && !path.changed()))
            continue;
        chosen = place;
        if (path.changed() || changed_ == 0)
            break;
    }
    if (chosen == from_.size())
        return {no_tag, 0};
    auto &path = from_[chosen];
    changed_ -= path.changed();
    path.reported = path.level;
    turn_ = chosen + 1;
    return {static_cast<std::uint32_t>(chosen), path.level};
}

void CongestionTable::learn(PathLoad load, Time now) {
    if (load.tag >= to_.size())
        to_.resize(load.tag + std::size_t{1});
    to_[load.tag] = {now, load.level};
}

} // namespace kuijia::packet
