package loopback

// Port is a port of 127.0.0.1 that is reserved for a program that starts. On Linux it stays reserved
// until Close, also after that program has ended: the system gives it to no other program that asks
// for any free port. Only a program that sets SO_REUSEADDR, as servers do, can listen on it.
// Elsewhere the port was free when Reserve looked.
type Port struct {
	Number int
	close  func()
}

// Reserve reserves a port, 0 for any free one. It fails where a program listens on that port.
func Reserve(number int) (*Port, error) { return reserve(number) }

// Close ends the reservation. A program that listens on the port keeps it.
func (p *Port) Close() { p.close() }
