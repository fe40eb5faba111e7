package testenv

import (
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/matoolkit/matoolkit/internal/loopback"
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
// again at the same address: no other call, on Linux of no other process either, returns it before the end of the test, and the
// system gives its port to no other socket.
func Address(t T) string {
	t.Helper()
	addresses.mu.Lock()
	defer addresses.mu.Unlock()
	for range ports {
		port := lowestPort + (os.Getpid()*portsOfProcess+addresses.tried)%ports
		addresses.tried++
		if reserved, err := loopback.Reserve(port); err == nil {
			t.Cleanup(reserved.Close)
			return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		}
	}
	t.Fatal("no loopback port is free")
	return ""
}
