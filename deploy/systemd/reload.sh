#!/bin/sh
# Runs after the package is installed or removed, and makes systemd read the unit again. It does not
# start or restart the service: write /etc/fanfold/fanfold.yaml first.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
