//go:build !linux

package loopback

import (
	"net"
	"strconv"
)

func reserve(number int) (*Port, error) {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(number))
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return &Port{Number: port, close: func() {}}, l.Close()
}
