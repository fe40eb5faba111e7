// Package infra is what the infrastructure and the programs must agree on. The rest of
// this directory is Bicep, which deploys it to Azure.
package infra

import _ "embed"

// Topology is what the Service Bus namespace holds: its topics, their subscriptions and
// filters, with one worker. It has the format of the official emulator's Config.json,
// without comments: it is embedded here for the broker on one machine, and Bicep loads
// the same file for Azure, so that the two cannot differ. It is not to be changed.
//
//go:embed topology.json
var Topology []byte
