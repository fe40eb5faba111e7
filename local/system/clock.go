package system

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/matoolkit/matoolkit/local/clock"
)

// Clock is the clock of Service Bus, the Functions host and the handler; it is nil for
// a system that runs elsewhere. Cosmos DB, Entra ID and the tenant keep the real time,
// as do the worker and the locks of messages.
func (s *System) Clock() *clock.Clock { return s.clock }

// openClock has the clock go on where the kept state says.
func (s *System) openClock() (err error) {
	file := ""
	if dir := s.config.DataDir; dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		file = filepath.Join(dir, "clock.json")
	}
	if s.clock, err = clock.Open(file); err != nil || file == "" {
		return err
	}
	if !slices.Contains(s.config.Parts, ServiceBus) || slices.Contains(s.config.Parts, Host) {
		return nil
	}
	// The host moves the clock in another process, through the file.
	stop := s.clock.Follow(s.config.Logger)
	s.close = append(s.close, func() error { stop(); return nil })
	return nil
}

// tickWhenMoved ticks Service Bus after each move of the clock, until the system is closed.
func (s *System) tickWhenMoved() {
	bus, stop, done := s.ServiceBus, make(chan struct{}), make(chan struct{})
	moved := s.clock.Moved()
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-moved:
				moved = s.clock.Moved()
				bus.Tick()
			}
		}
	}()
	s.close = append(s.close, func() error { close(stop); <-done; return nil })
}
