package testenv_test

import (
	"net"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

func TestAddressIsGivenOnce(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for range 100 {
		address := testenv.Address(t)
		if given[address] {
			t.Fatalf("%s is given twice", address)
		}
		given[address] = true
		at := testenv.Must(net.ResolveTCPAddr("tcp", address))(t)
		if !at.IP.IsLoopback() || at.Port < 1024 || at.Port >= 32_768 {
			t.Errorf("the address is %s", address)
		}
	}
}
