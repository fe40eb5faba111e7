// Package loopback recognizes hosts that are this machine.
package loopback

import (
	"net"
	"strings"
)

// Is reports whether a host, without a port, is this machine: localhost or an address of its
// loopback interface. It looks up no name.
func Is(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
