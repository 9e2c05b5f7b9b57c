#!/bin/sh
# After the package was installed or removed: systemd reads the unit again. The service is neither
# started nor restarted: write /etc/fanfold/fanfold.yaml first.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
