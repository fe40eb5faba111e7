package tenant

// moveMailboxes carries out the due steps of moves between the tenants. It locks one tenant at a time, and a crash
// between two of its writes is repaired by the next call: a mailbox leaves its source before the target has it.
func (g *Tenants) moveMailboxes() error {
	g.moving.Lock()
	defer g.moving.Unlock()
	for _, target := range g.tenants {
		for _, move := range []func(*Server) (moved int, err error){g.moveBatches, g.moveJobs} {
			for { // a copy is followed by a completion that is due
				moved, err := move(target)
				if err != nil {
					return err
				}
				if moved == 0 {
					break
				}
			}
		}
	}
	return nil
}

// moveBatches carries out the steps of migration batches that are due.
func (g *Tenants) moveBatches(target *Server) (moved int, err error) {
	due := target.exchange.DueMoves()
	for i, m := range due {
		source := g.tenants[g.named(m.Endpoint)]
		if due[i].Refusal, err = source.exchange.Release(m.Move); err != nil {
			return 0, err
		}
	}
	if len(due) == 0 {
		return 0, nil
	}
	return len(due), target.exchange.NoteMoves(due)
}

// moveJobs carries out the steps of migration jobs that are due.
func (g *Tenants) moveJobs(target *Server) (moved int, err error) {
	due := target.graph.Jobs().DueMoves()
	for i, m := range due {
		source := g.tenants[g.withID(m.SourceTenantID)]
		if due[i].Refusal, err = source.exchange.Release(m.Move); err != nil {
			return 0, err
		}
	}
	if len(due) == 0 {
		return 0, nil
	}
	return len(due), target.graph.Jobs().NoteMoves(due)
}
