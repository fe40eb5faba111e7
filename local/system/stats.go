package system

import (
	"encoding/json"
	"os"

	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// Stats are the counters of the parts since their start; a part that runs
// elsewhere has none.
type Stats struct {
	Cosmos     *cosmos.Stats     `json:"cosmos,omitempty"`
	ServiceBus *servicebus.Stats `json:"serviceBus,omitempty"`
}

// Stats of the system.
func (s *System) Stats() Stats {
	var stats Stats
	if s.Cosmos != nil {
		c := s.Cosmos.Stats()
		stats.Cosmos = &c
	}
	if s.ServiceBus != nil {
		b := s.ServiceBus.Stats()
		stats.ServiceBus = &b
	}
	return stats
}

// WriteStats writes the counters to a file.
func (s *System) WriteStats(file string) error {
	body, err := json.MarshalIndent(s.Stats(), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, body, 0o600)
}
