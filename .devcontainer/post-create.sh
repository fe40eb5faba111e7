#!/bin/sh
# What the features of the container do not bring: a C compiler for the race detector, the
# checker of the scripts in workflows, and what "make func" needs: the Functions host and a
# storage emulator. The modules come last: everything else works without them.
set -eu
sudo apt-get update
sudo apt-get install -y --no-install-recommends build-essential shellcheck
npm install --global azure-functions-core-tools@4 azurite@3
go mod download
