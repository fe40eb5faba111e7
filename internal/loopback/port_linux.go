package loopback

import (
	"errors"
	"os"
	"syscall"
)

// reserve binds a socket and does not listen on it. With SO_REUSEADDR, such a socket and one that
// listens can have the same port.
func reserve(number int) (*Port, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	err = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	if err == nil {
		err = os.NewSyscallError("bind", syscall.Bind(socket, &syscall.SockaddrInet4{Port: number, Addr: [4]byte{127, 0, 0, 1}}))
	}
	var bound syscall.Sockaddr
	if err == nil {
		bound, err = syscall.Getsockname(socket)
	}
	if err != nil {
		return nil, errors.Join(err, syscall.Close(socket))
	}
	return &Port{Number: bound.(*syscall.SockaddrInet4).Port, close: func() { _ = syscall.Close(socket) }}, nil
}
