// Package infra holds the topology of the message bus and the settings with its names. The rest of this directory deploys the
// product to Azure.
package infra

import (
	_ "embed"
	"encoding/json"
)

// Topology describes the Service Bus namespace: topics, their subscriptions and filters, with
// one worker. It has the format of the official emulator's Config.json, without comments. The
// local broker uses it, and Bicep loads the same file for Azure, so that the two cannot differ.
// Do not change the variable.
//
//go:embed topology.json
var Topology []byte

//go:embed bus-names.json
var busNames []byte

// BusNames returns the settings with the names of topics and subscriptions, and their defaults,
// which Bicep loads from the same file.
func BusNames() map[string]string {
	var names map[string]string
	if err := json.Unmarshal(busNames, &names); err != nil {
		panic("infra: bus-names.json: " + err.Error()) // a test parses it
	}
	return names
}
