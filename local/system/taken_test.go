package system

import (
	"net"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

// A second system's error names the taken port once and says what to do.
func TestAPortThatIsTaken(t *testing.T) {
	t.Parallel()
	l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, part := range []Part{ServiceBus, Cosmos} {
		addresses := FreeAddresses()
		addresses.ServiceBus, addresses.Cosmos = l.Addr().String(), l.Addr().String()
		_, err := Start(t.Context(), Config{Parts: []Part{part}, Addresses: addresses})
		if err == nil {
			t.Fatalf("%s starts at an address that is taken", part)
		}
		if !strings.HasPrefix(err.Error(), string(part)+": listen tcp "+l.Addr().String()) || !strings.Contains(err.Error(), "is another matoolkit running?") {
			t.Errorf("%s: %v", part, err)
		}
	}
}
