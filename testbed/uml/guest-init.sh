#!/bin/bash
# First process of a user-mode Linux guest: its root is the machine's own, read-only. Makes places to write, loads the
# modules, runs the command that lies in the channel folder, leaves its exit status there and switches the guest off.
# /dev/tty1 and /dev/tty2 are standard output and error of the one who booted it; a line from /dev/tty3 interrupts the
# command, which has KUIJIA_GRACE seconds to end then.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
channel=$KUIJIA_CHANNEL
modules=$KUIJIA_MODULES
grace=$KUIJIA_GRACE

switch_off() {
    sync
    echo o >/proc/sysrq-trigger
    sleep infinity
}

interrupt_when_told() {
    read -r </dev/tty3 || return
    kill -INT "$(</run/command)" && sleep "$grace"
    switch_off
}

mount -t proc proc /proc
trap switch_off EXIT
mount -t sysfs sys /sys
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run

# Found by the kernel when it wants a module, and here; the machine's /lib/modules has those of its own kernel.
mkdir -p /run/modules/lib
ln -s -- "$modules" /run/modules/lib/modules
printf '#!/bin/sh\nexec modprobe -d /run/modules "$@"\n' >/run/modprobe
chmod +x /run/modprobe
echo /run/modprobe >/proc/sys/kernel/modprobe
/run/modprobe -a openvswitch veth sch_htb sch_prio sch_netem sch_ingress cls_u32 cls_bpf tcp_bbr

mkdir /run/channel
mount -t hostfs channel /run/channel -o "$channel"
mount -t tmpfs tmp /tmp
while IFS= read -r -d '' mode && IFS= read -r -d '' folder; do
    mkdir -p -- "$folder"
    mount -t hostfs -o "$mode,$folder" folder "$folder"
done </run/channel/folders
ip link set lo up

stty -F /dev/tty1 raw
stty -F /dev/tty2 raw
interrupt_when_told &
bash /run/channel/command </dev/null >/dev/tty1 2>/dev/tty2
echo $? >/run/channel/status
