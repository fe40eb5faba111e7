// Package health answers the probes of the platform that runs the worker: /livez,
// whether the process still does its work, or should be restarted, and /readyz,
// whether it can take jobs. A worker whose broker is away is alive but not ready: to
// restart it would not bring the broker back.
//
// It knows HTTP and nothing of the worker's work.
package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Paths of the probes. They answer GET with 200, or with 503 and the reason.
const (
	Live  = "/livez"
	Ready = "/readyz"
)

// Watched is the subject of the probes. Calls may be concurrent.
type Watched interface {
	// Alive is an error where the work has stood still at now.
	Alive(now time.Time) error
	// Ready is an error that tells why no jobs are taken.
	Ready() error
}

// Server answers probes from New until Close.
type Server struct {
	http    *http.Server
	address string
	watched atomic.Pointer[Watched]
}

// Listen serves probes at an address as CheckAddress takes it; port 0 is any that is
// free. Until Watch is called the process is alive but not ready.
func Listen(address string) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{address: listener.Addr().String()}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.answer),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	go func() { _ = s.http.Serve(listener) }() // ends with Close
	return s, nil
}

// Address is where the server listens.
func (s *Server) Address() string { return s.address }

// Watch makes w the one whom the probes ask about.
func (s *Server) Watch(w Watched) { s.watched.Store(&w) }

// Close ends the server.
func (s *Server) Close() { _ = s.http.Close() }

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	var err error
	switch r.URL.Path {
	case Live:
		if watched := s.watched.Load(); watched != nil {
			err = (*watched).Alive(time.Now())
		}
	case Ready:
		err = errors.New("starting")
		if watched := s.watched.Load(); watched != nil {
			err = (*watched).Ready()
		}
	default:
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n") // the prober is gone if this fails
}

// Ask asks the server at an address as CheckAddress takes it, from the same machine.
// The error tells why the answer is not yes.
func Ask(ctx context.Context, address, path string) error {
	at, err := netip.ParseAddrPort(strings.Replace(address, "localhost:", "127.0.0.1:", 1))
	if err != nil {
		return err
	}
	if at.Addr().IsUnspecified() { // listening on all addresses includes this one
		loopback := netip.MustParseAddr("127.0.0.1")
		if at.Addr().Is6() {
			loopback = netip.IPv6Loopback()
		}
		at = netip.AddrPortFrom(loopback, at.Port())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at.String()+path, nil)
	if err != nil {
		return err
	}
	// A client of its own: no proxy stands between a process and itself.
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	reason, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, strings.TrimSpace(string(reason)))
	}
	return nil
}

// CheckAddress validates an address to listen on: an IP address or localhost, and a
// port. An empty address does not mean all interfaces: opening the probes to other
// machines must be explicit.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("give an address and a port, such as 127.0.0.1:8080, or 0.0.0.0:8080 for all addresses")
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "localhost" {
		return fmt.Errorf("invalid host %q: use an IP address, localhost, or 0.0.0.0 for all addresses", host)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("invalid port %q", port)
	}
	return nil
}
