package loopback_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// TestReserve reserves many ports, which other listeners do not get, and listens on one of them twice.
func TestReserve(t *testing.T) {
	t.Parallel()
	reserved := map[int]bool{}
	var last *loopback.Port
	for range 100 {
		p := testenv.Must(loopback.Reserve(0))(t)
		defer p.Close()
		if reserved[p.Number] {
			t.Errorf("port %d is reserved twice", p.Number)
		}
		reserved[p.Number], last = true, p
	}
	for range 500 {
		l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer l.Close()
		if port := l.Addr().(*net.TCPAddr).Port; reserved[port] {
			t.Errorf("another listener got the reserved port %d", port)
		}
	}
	for range 2 {
		l := testenv.Must(net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(last.Number)))(t)
		if p, err := loopback.Reserve(last.Number); err == nil {
			p.Close()
			t.Errorf("port %d is reserved while a program listens on it", last.Number)
		}
		_ = l.Close()
	}
}
