package dispatch_test

import (
	"net"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// line is the network between a worker and a broker. Each direction can be held
// up, which delays sent data, and the line can be cut.
type line struct {
	listener net.Listener
	broker   func() string // where the broker is
	up, down valve         // from the worker to the broker, and back

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// valve lets bytes pass while it is open.
type valve struct {
	mu     sync.Mutex
	moved  *sync.Cond
	closed bool
	held   bool // something has come to it while it was closed
}

func (v *valve) set(closed bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed, v.held = closed, false
	v.moved.Broadcast()
}

func (v *valve) hold()    { v.set(true) }
func (v *valve) release() { v.set(false) }

func (v *valve) pass() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for v.closed {
		v.held = true
		v.moved.Broadcast()
		v.moved.Wait()
	}
}

// awaitHeld waits until something has come that is held up.
func (v *valve) awaitHeld(t testing.TB) {
	t.Helper()
	held := make(chan struct{})
	go func() {
		defer close(held)
		v.mu.Lock()
		defer v.mu.Unlock()
		for !v.held {
			v.moved.Wait()
		}
	}()
	await(t, "something is sent", held)
}

func newLine(t testing.TB, broker func() string) *line {
	t.Helper()
	listener := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	l := &line{listener: listener, broker: broker}
	l.up.moved, l.down.moved = sync.NewCond(&l.up.mu), sync.NewCond(&l.down.mu)
	t.Cleanup(func() {
		_ = listener.Close()
		l.sever()
	})
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go l.connect(near)
		}
	}()
	return l
}

func (l *line) connect(near net.Conn) {
	far, err := net.Dial("tcp", l.broker())
	if err != nil {
		_ = near.Close()
		return
	}
	l.mu.Lock()
	if l.cut {
		_, _ = near.Close(), far.Close()
	}
	l.conns = append(l.conns, near, far)
	l.mu.Unlock()
	go carry(far, near, &l.up)
	go carry(near, far, &l.down)
}

func carry(to, from net.Conn, v *valve) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		v.pass()
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// sever cuts the line: data in transit is lost, and connections fail until mend.
func (l *line) sever() {
	l.mu.Lock()
	l.cut = true
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
	l.mu.Unlock()
	l.up.release()
	l.down.release()
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

func (l *line) connectionString() string {
	return "Endpoint=sb://" + l.listener.Addr().String() + ";SharedAccessKeyName=" + servicebus.KeyName +
		";SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true;"
}
