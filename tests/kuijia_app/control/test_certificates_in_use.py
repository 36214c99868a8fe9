"""A controller tells in its log, its events and its metrics when its certificates expire, also when it has peers."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from kuijia_app.framework import event_log
from kuijia_app.framework.seam import cfg
from kuijia_app.pki.folder import Folder
from kuijia_app.pki.holders import CertificateKind, Holder
from kuijia_base.errors import InputError
from tests.kuijia_app.control.applications import application_of
from tests.kuijia_app.plans import motivation_plan

DAY = 86_400.0
EXPIRY = "kuijia_controller_certificate_expiry_timestamp_seconds"


def test_certificates_that_expire_soon_are_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = Folder(tmp_path)
    folder.make_authority("authority", 300, force=False)
    folder.make(Holder("c1", CertificateKind.CONTROLLER, ("localhost",)), 3, force=False)
    files = {"ctl_privkey": "c1.key", "ctl_cert": "c1.pem", "ca_certs": "ca.pem"}
    try:
        for option, file in files.items():
            cfg.CONF.set_override(option, str(tmp_path / file))
        with application_of(motivation_plan(), tmp_path) as controller, caplog.at_level("INFO"):
            controller._look_at_certificates()
            controller._look_at_certificates()
    finally:
        for option in files:
            cfg.CONF.clear_override(option)
    told = [record.message for record in caplog.records if "certificate" in record.message]
    assert len(told) == 2
    assert f"{tmp_path / 'c1.pem'} expires on " in told[1]
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [each["warning"] for each in events if each["event"] == event_log.CERTIFICATE_EXPIRES] == told[1:]
    values = {metric.name: dict(found) for metric, found in controller._metrics.tally.read()}
    left = {labels: (float(str(until)) - time.time()) / DAY for labels, until in values[EXPIRY].items()}
    assert left == {("own",): pytest.approx(3, abs=0.1), ("authority",): pytest.approx(300, abs=0.1)}


def test_peers_are_refused_if_a_certificate_is_given_but_not_the_authority_that_proves_theirs(tmp_path: Path) -> None:
    options = SimpleNamespace(peers=["127.0.0.1:6701"], peer_listen="127.0.0.1:6700")
    with application_of(motivation_plan(), tmp_path) as controller:
        cfg.CONF.set_override("ctl_privkey", "c1.key")
        cfg.CONF.set_override("ctl_cert", "c1.pem")
        try:
            with pytest.raises(InputError, match="ca_certs"):
                controller._listen_to_peers(options)
        finally:
            cfg.CONF.clear_override("ctl_privkey")
            cfg.CONF.clear_override("ctl_cert")
