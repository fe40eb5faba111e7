// Package infra holds the topology of the message bus. The rest of this directory deploys the
// product to Azure.
package infra

import _ "embed"

// Topology describes the Service Bus namespace: topics, their subscriptions and filters, with
// one worker. It has the format of the official emulator's Config.json, without comments. The
// local broker uses it, and Bicep loads the same file for Azure, so that the two cannot differ.
// Do not change the variable.
//
//go:embed topology.json
var Topology []byte
