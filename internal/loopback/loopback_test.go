package loopback_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

func TestIs(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "localhost.example": false, "127.0.0.1.example": false,
		"127.1": false, "[::1]": false, "127.0.0.1:80": false, "2130706433": false,
	} {
		if got := loopback.Is(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
