package tenant

// moveMailboxes carries out what is due of the moves between the tenants. It locks one tenant at a time, and a crash
// between two of its writes is repaired by the next call: a mailbox leaves its source before the target has it.
func (g *Tenants) moveMailboxes() error {
	g.moving.Lock()
	defer g.moving.Unlock()
	for _, target := range g.tenants {
		for { // a copy is followed by a completion that is due
			due := target.exchange.DueMoves()
			if len(due) == 0 {
				break
			}
			for i, m := range due {
				source := g.tenants[g.named(m.Endpoint)]
				var err error
				if due[i].Refusal, err = source.exchange.Release(m); err != nil {
					return err
				}
			}
			if err := target.exchange.NoteMoves(due); err != nil {
				return err
			}
		}
	}
	return nil
}
