#!/bin/sh
# Makes Vagrant's box debian/bookworm64 for libvirt from Debian's packages alone (docs/boxes.md).
# Run it as root in an empty folder outside the clone: sh CLONE/deploy/vagrant/make-box.sh CLONE
set -eu
clone=$1

debootstrap --variant=minbase --include=systemd-sysv,udev,dbus,kmod,linux-image-amd64,sudo,openssh-server,rsync,ca-certificates,iproute2,ifupdown,isc-dhcp-client,python3 bookworm root
chroot root useradd --create-home --shell /bin/bash vagrant
echo 'vagrant ALL=(ALL) NOPASSWD:ALL' >root/etc/sudoers.d/vagrant
git clone "$clone" root/home/vagrant/kuijia
chroot root chown -R vagrant: /home/vagrant/kuijia
for each in proc sys dev; do
    mount --rbind "/$each" "root/$each"
    mount --make-rslave "root/$each"
done
chroot root /home/vagrant/kuijia/run kuijia --version # packages, .venv, compiled cores
umount -R -l root/dev root/sys root/proc
echo '/dev/vda / ext4 defaults 0 1' >root/etc/fstab
printf 'auto lo eth0\niface lo inet loopback\niface eth0 inet dhcp\n' >root/etc/network/interfaces
install -D -m 600 "$(dpkg -L vagrant | grep '/keys/vagrant.pub$')" root/home/vagrant/.ssh/authorized_keys
chroot root chown -R vagrant: /home/vagrant/.ssh
cp root/boot/vmlinuz-* vmlinuz
cp root/boot/initrd.img-* initrd.img
mke2fs -t ext4 -d root disk.img 4G
qemu-img convert -O qcow2 disk.img box.img
echo '{"provider": "libvirt", "format": "qcow2", "virtual_size": 4}' >metadata.json
: >Vagrantfile.box
tar --transform 's/Vagrantfile.box/Vagrantfile/' -cf kuijia.box metadata.json Vagrantfile.box box.img
vagrant box add --name debian/bookworm64 kuijia.box
