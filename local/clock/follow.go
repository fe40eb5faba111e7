package clock

import (
	"log/slog"
	"sync"
	"time"
)

// look is how often a clock that follows reads its file.
const look = 100 * time.Millisecond

// Follow makes the moves that another process keeps in the file of Open, until stop is
// called. It logs an unreadable file once and reads it again.
func (c *Clock) Follow(log *slog.Logger) (stop func()) {
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		readable := true
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			err := c.catchUp()
			if err != nil && readable {
				log.Error("cannot follow the clock file: cannot follow the clock file: cannot follow the clock file: the clock may be behind", "error", err)
			}
			readable = err == nil
		}
	})
	return sync.OnceFunc(func() { close(ended); group.Wait() })
}

func (c *Clock) catchUp() error {
	offset, err := read(c.file)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if offset > c.offset {
		c.set(offset)
	}
	return nil
}
