// Flows over a dumbbell or a leaf-spine network in ns-3; prints the results as JSON.
//
// All settings match the packet model's, and further features of ns-3 are switched off: host queues that overflow,
// timestamps, Cubic's HyStart, proportional rate reduction, BBR's allowance for aggregated acknowledgements (its epochs are
// in whole seconds, so that it adds up to a tenth of a second's data to the window).
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <sys/resource.h>
#include <vector>

using namespace ns3;

namespace {

struct Options {
    std::string topology = "dumbbell";
    std::string control = "TcpNewReno";
    std::string flows; // a file of lines "source target bytes start"; 0 bytes for no end
    uint32_t leaves = 4;
    uint32_t spines = 4;
    uint32_t hosts = 1; // pairs of a dumbbell, hosts of a leaf
    double hostRate = 1000;  // Mbit/s
    double rate = 100;       // Mbit/s of the bottleneck or the fabric
    double delay = 1e-3;     // seconds of the bottleneck or of every link
    double hostDelay = 1e-3; // seconds of a dumbbell's hosts' links
    uint32_t limit = 100;    // packets that may wait
    uint32_t threshold = 0;  // packets above which packets are marked; 0 for none
    uint32_t window = 1000;  // segments that a connection may have outstanding
    uint32_t initialWindow = 10;
    uint32_t ackEvery = 1;
    double minTimeout = 0.2;
    double leastWindow = 0; // smallest DCTCP window in segments after a mark; 0 is ns-3's own
    bool fastConvergence = true; // of Cubic
    double warmUp = 0; // seconds before goodput and queue are measured
    double until = 1;  // seconds
};

constexpr uint32_t payload = 1460;
constexpr uint32_t datagram = 1500;
constexpr uint32_t frame = 1502;

// DCTCP with a lower bound of the window after marks, which ns-3's DCTCP lacks.
class BoundedDctcp : public TcpDctcp {
  public:
    static TypeId GetTypeId() {
        static TypeId id = TypeId("ns3::BoundedDctcp")
                               .SetParent<TcpDctcp>()
                               .AddConstructor<BoundedDctcp>()
                               .AddAttribute("LeastWindow", "segments", DoubleValue(0),
                                             MakeDoubleAccessor(&BoundedDctcp::m_leastWindow), MakeDoubleChecker<double>(0));
        return id;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t inFlight) override {
        const auto least = static_cast<uint32_t>(m_leastWindow * state->m_segmentSize);
        return std::max(TcpDctcp::GetSsThresh(state, inFlight), least);
    }

    Ptr<TcpCongestionOps> Fork() override { return CopyObject<BoundedDctcp>(this); }

  private:
    double m_leastWindow = 0;
};

NS_OBJECT_ENSURE_REGISTERED(BoundedDctcp);

// The bytes in a queue over time, in the queueing discipline and the device behind it.
class Waiting {
  public:
    void Change(uint32_t before, uint32_t after) {
        Account();
        m_bytes += int64_t{after} - int64_t{before};
    }

    void Begin() {
        Account();
        m_sum = 0;
    }

    double Mean(double seconds) {
        Account();
        return m_sum / seconds;
    }

  private:
    void Account() {
        const auto now = Simulator::Now().GetSeconds();
        m_sum += m_bytes * (now - m_since);
        m_since = now;
    }

    int64_t m_bytes = 0;
    double m_since = 0;
    double m_sum = 0;
};

class Network {
  public:
    explicit Network(const Options &options) : m_options(options) {}

    void Build() {
        const bool dumbbell = m_options.topology == "dumbbell";
        m_hosts.Create(dumbbell ? 2 * m_options.hosts : m_options.leaves * m_options.hosts);
        m_leaves.Create(dumbbell ? 2 : m_options.leaves);
        m_spines.Create(dumbbell ? 0 : m_options.spines);
        InternetStackHelper stack;
        Ipv4StaticRoutingHelper routing;
        stack.SetRoutingHelper(routing);
        stack.InstallAll();
        for (uint32_t host = 0; host < m_hosts.GetN(); ++host) {
            const auto leaf = m_leaves.Get(host / m_options.hosts);
            const auto queuedAtLeaf = !dumbbell;
            const auto [up, down] = Connect(m_hosts.Get(host), leaf, m_options.hostRate,
                                            dumbbell ? m_options.hostDelay : m_options.delay, false, queuedAtLeaf);
            m_address.push_back(up.address);
            routing.GetStaticRouting(m_hosts.Get(host)->GetObject<Ipv4>())->SetDefaultRoute(down.address, up.interface);
            Route(leaf, host, down.interface);
        }
        if (dumbbell) {
            const auto [right, left] = Connect(m_leaves.Get(0), m_leaves.Get(1), m_options.rate, m_options.delay, true, false);
            for (uint32_t host = 0; host < m_hosts.GetN(); ++host)
                host < m_options.hosts ? Route(m_leaves.Get(1), host, left.interface)
                                       : Route(m_leaves.Get(0), host, right.interface);
            return;
        }
        for (uint32_t leaf = 0; leaf < m_options.leaves; ++leaf)
            for (uint32_t spine = 0; spine < m_options.spines; ++spine) {
                const auto [up, down] =
                    Connect(m_leaves.Get(leaf), m_spines.Get(spine), m_options.rate, m_options.delay, true, true);
                for (uint32_t host = 0; host < m_hosts.GetN(); ++host) {
                    if (host / m_options.hosts == leaf)
                        Route(m_spines.Get(spine), host, down.interface);
                    else if (host % m_options.spines == spine)
                        Route(m_leaves.Get(leaf), host, up.interface);
                }
            }
    }

    Ptr<Node> Host(uint32_t number) const { return m_hosts.Get(number); }
    Ipv4Address Address(uint32_t number) const { return m_address.at(number); }
    std::vector<std::unique_ptr<Waiting>> &Queues() { return m_waiting; }

    uint64_t DroppedPackets() const {
        auto dropped = m_dropped;
        for (const auto &disc : m_discs)
            dropped += disc->GetStats().nTotalDroppedPackets;
        return dropped;
    }

  private:
    struct End {
        Ipv4Address address;
        uint32_t interface;
    };

    // The first end's output queue is limited and marks if `queued`, the other's if `queuedBack`.
    std::pair<End, End> Connect(Ptr<Node> one, Ptr<Node> other, double rate, double delay, bool queued, bool queuedBack) {
        PointToPointHelper helper;
        const bool marks = m_options.threshold > 0 && (queued || queuedBack);
        if (!marks)
            helper.DisableFlowControl();
        helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate * 1e6))));
        helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(static_cast<uint64_t>(delay * 1e9 + 0.5))));
        const auto devices = helper.Install(one, other);
        Ipv4AddressHelper addresses;
        addresses.SetBase(Ipv4Address((10u << 24) + (m_links++ << 8)), "255.255.255.0");
        if (marks)
            InstallQueues(devices, queued, queuedBack);
        const auto interfaces = addresses.Assign(devices);
        for (uint32_t end = 0; end < 2; ++end) {
            const bool limited = end == 0 ? queued : queuedBack;
            const auto queue = DynamicCast<PointToPointNetDevice>(devices.Get(end))->GetQueue();
            queue->SetMaxSize(limited && !marks ? QueueSize(QueueSizeUnit::BYTES, m_options.limit * frame)
                                                : QueueSize(QueueSizeUnit::PACKETS, limited ? 1 : 1'000'000));
            if (limited)
                Watch(queue);
        }
        return {{interfaces.GetAddress(0), interfaces.Get(0).second}, {interfaces.GetAddress(1), interfaces.Get(1).second}};
    }

    // RED that marks everything above a length and does not average is a threshold (RFC 8257 section 3.1). The device
    // behind it holds one more waiting packet.
    void InstallQueues(const NetDeviceContainer &devices, bool queued, bool queuedBack) {
        TrafficControlHelper marking;
        marking.SetRootQueueDisc("ns3::RedQueueDisc", "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false),
                                 "QW", DoubleValue(1), "Gentle", BooleanValue(false), "MinTh",
                                 DoubleValue(m_options.threshold * datagram), "MaxTh", DoubleValue(m_options.threshold * datagram), "MaxSize",
                                 QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, (m_options.limit - 1) * datagram)));
        TrafficControlHelper plain;
        plain.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", QueueSizeValue(QueueSize("1000000p")));
        (queued ? marking : plain).Install(devices.Get(0));
        (queuedBack ? marking : plain).Install(devices.Get(1));
        for (uint32_t end = 0; end < 2; ++end)
            if (end == 0 ? queued : queuedBack) {
                const auto device = devices.Get(end);
                const auto disc = device->GetNode()->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(device);
                m_waiting.push_back(std::make_unique<Waiting>());
                disc->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&Waiting::Change, m_waiting.back().get()));
                m_discs.push_back(disc);
            }
    }

    void Watch(Ptr<Queue<Packet>> queue) {
        if (m_options.threshold == 0)
            m_waiting.push_back(std::make_unique<Waiting>());
        const auto which = m_watched++;
        queue->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&Waiting::Change, m_waiting.at(which).get()));
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&Network::Dropped, this));
    }

    void Dropped(Ptr<const Packet>) { ++m_dropped; }

    void Route(Ptr<Node> node, uint32_t host, uint32_t interface) {
        Ipv4StaticRoutingHelper routing;
        routing.GetStaticRouting(node->GetObject<Ipv4>())->AddHostRouteTo(m_address.at(host), interface);
    }

    Options m_options;
    NodeContainer m_hosts;
    NodeContainer m_leaves;
    NodeContainer m_spines;
    std::vector<Ipv4Address> m_address;
    std::vector<std::unique_ptr<Waiting>> m_waiting;
    std::vector<Ptr<QueueDisc>> m_discs;
    std::size_t m_watched = 0;
    uint64_t m_dropped = 0;
    uint32_t m_links = 0;
};

struct Flow {
    uint64_t bytes = 0;
    double start = 0;
    uint64_t received = 0;
    uint64_t receivedBefore = 0;
    double finished = -1;

    void Receive(Ptr<const Packet> packet, const ns3::Address &) {
        received += packet->GetSize();
        if (bytes > 0 && received >= bytes && finished < 0)
            finished = Simulator::Now().GetSeconds();
    }
};

void Configure(const Options &options) {
    const auto socket = [](const std::string &name, const AttributeValue &value) {
        Config::SetDefault("ns3::" + name, value);
    };
    const auto buffer = UintegerValue(options.window * payload);
    socket("TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + options.control)));
    socket("TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::TcpClassicRecovery")));
    socket("TcpSocket::SegmentSize", UintegerValue(payload));
    socket("TcpSocket::InitialCwnd", UintegerValue(options.initialWindow));
    socket("TcpSocket::DelAckCount", UintegerValue(options.ackEvery));
    socket("TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    socket("TcpSocket::SndBufSize", buffer);
    socket("TcpSocket::RcvBufSize", buffer);
    socket("TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    socket("TcpSocketBase::Timestamp", BooleanValue(false));
    socket("TcpSocketBase::MinRto", TimeValue(Seconds(options.minTimeout)));
    socket("TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    socket("TcpCubic::HyStart", BooleanValue(false));
    socket("TcpCubic::FastConvergence", BooleanValue(options.fastConvergence));
    // Between different bounds a queue stays where it begins.
    socket("TcpVegas::Alpha", UintegerValue(3));
    socket("TcpVegas::Beta", UintegerValue(3));
    socket("TcpBbr::AckEpochAckedResetThresh", UintegerValue(1));
    socket("BoundedDctcp::LeastWindow", DoubleValue(options.leastWindow));
    socket("RttEstimator::InitialEstimation", TimeValue(Seconds(1)));
}

std::vector<Flow> Install(const Options &options, const Network &network) {
    struct Line {
        uint32_t source;
        uint32_t target;
        uint64_t bytes;
        double start;
    };
    std::vector<Line> lines;
    std::ifstream file(options.flows);
    for (Line line{}; file >> line.source >> line.target >> line.bytes >> line.start;)
        lines.push_back(line);
    std::vector<Flow> flows(lines.size());
    std::map<uint32_t, uint16_t> ports;
    for (std::size_t place = 0; place < lines.size(); ++place) {
        const auto &line = lines[place];
        flows[place].bytes = line.bytes;
        flows[place].start = line.start;
        const uint16_t port = 1000 + ports[line.target]++;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        const auto receiver = sink.Install(network.Host(line.target)).Get(0);
        receiver->TraceConnectWithoutContext("Rx", MakeCallback(&Flow::Receive, &flows[place]));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(network.Address(line.target), port));
        bulk.SetAttribute("MaxBytes", UintegerValue(line.bytes));
        bulk.SetAttribute("SendSize", UintegerValue(payload));
        bulk.Install(network.Host(line.source)).Start(Seconds(line.start));
    }
    return flows;
}

Options Read(int count, char **arguments) {
    Options options;
    CommandLine line;
    line.AddValue("topology", "dumbbell or leaf-spine", options.topology);
    line.AddValue("control", "class of the congestion control", options.control);
    line.AddValue("flows", "file of flows", options.flows);
    line.AddValue("leaves", "leaves", options.leaves);
    line.AddValue("spines", "spines", options.spines);
    line.AddValue("hosts", "pairs of hosts, or hosts of a leaf", options.hosts);
    line.AddValue("host-rate", "Mbit/s", options.hostRate);
    line.AddValue("rate", "Mbit/s", options.rate);
    line.AddValue("delay", "seconds", options.delay);
    line.AddValue("host-delay", "seconds", options.hostDelay);
    line.AddValue("limit", "packets", options.limit);
    line.AddValue("threshold", "packets", options.threshold);
    line.AddValue("window", "segments", options.window);
    line.AddValue("initial-window", "segments", options.initialWindow);
    line.AddValue("ack-every", "segments", options.ackEvery);
    line.AddValue("min-timeout", "seconds", options.minTimeout);
    line.AddValue("least-window", "segments", options.leastWindow);
    line.AddValue("fast-convergence", "of Cubic", options.fastConvergence);
    line.AddValue("warm-up", "seconds", options.warmUp);
    line.AddValue("until", "seconds", options.until);
    line.Parse(count, arguments);
    return options;
}

} // namespace

int main(int count, char **arguments) {
    const auto options = Read(count, arguments);
    Time::SetResolution(Time::PS);
    Configure(options);
    Network network(options);
    network.Build();
    auto flows = Install(options, network);
    Simulator::Schedule(Seconds(options.warmUp), [&] {
        for (auto &flow : flows)
            flow.receivedBefore = flow.received;
        for (auto &queue : network.Queues())
            queue->Begin();
    });
    Simulator::Stop(Seconds(options.until));
    const auto began = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;

    const double measured = options.until - options.warmUp;
    uint64_t received = 0;
    std::cout.precision(12);
    std::cout << "{\"goodput\": [";
    for (std::size_t place = 0; place < flows.size(); ++place) {
        received += flows[place].received;
        std::cout << (place ? ", " : "") << (flows[place].received - flows[place].receivedBefore) * 8 / measured / 1e6;
    }
    std::cout << "], \"completion\": [";
    for (std::size_t place = 0; place < flows.size(); ++place)
        std::cout << (place ? ", " : "") << (flows[place].finished < 0 ? -1 : flows[place].finished - flows[place].start);
    std::cout << "], \"queue\": [";
    for (std::size_t place = 0; place < network.Queues().size(); ++place)
        std::cout << (place ? ", " : "") << network.Queues()[place]->Mean(measured) / frame;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::cout << "], \"packets\": " << received / payload << ", \"dropped\": " << network.DroppedPackets()
              << ", \"seconds\": " << took.count() << ", \"megabytes\": " << usage.ru_maxrss / 1024.0 << "}" << std::endl;
    Simulator::Destroy();
}
