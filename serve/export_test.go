package serve

// Settle waits until no session is being made ready.
func (p *Pool) Settle() { p.work.Wait() }
