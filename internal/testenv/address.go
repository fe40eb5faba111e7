package testenv

import (
	"net"
	"os"
	"strconv"
	"sync"
)

const (
	// No system takes these ports for a listener that asks for any port, or for an outgoing connection.
	lowestPort, highestPort = 20_000, 32_767
	ports                   = highestPort - lowestPort + 1
	// portsOfProcess is how many ports a process tries before it comes to those of the next.
	portsOfProcess = 64
)

// addresses counts the ports that Address has tried.
var addresses struct {
	mu    sync.Mutex
	tried int
}

// Address returns a loopback address with a port that is free. A server that listens there can be closed and started
// again at the same address: until all ports were tried no other call returns it, and the system gives its port to no
// other socket.
func Address(t T) string {
	t.Helper()
	addresses.mu.Lock()
	defer addresses.mu.Unlock()
	for range ports {
		port := lowestPort + (os.Getpid()*portsOfProcess+addresses.tried)%ports
		addresses.tried++
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = listener.Close()
			return address
		}
	}
	t.Fatal("no loopback port is free")
	return ""
}
