package servicebus

import (
	"bufio"
	"context"
	"encoding/xml"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// webSocketPath is where clients open AMQP over WebSockets.
const webSocketPath = "/$servicebus/websocket"

// isHTTP reports whether a connection begins with an HTTP method.
func isHTTP(first []byte) bool {
	for _, method := range []string{"GET ", "HEAD", "POST", "PUT ", "DELE", "PATC", "OPTI", "CONN", "TRAC"} {
		if string(first) == method {
			return true
		}
	}
	return false
}

// webServer answers the connections that speak HTTP: it upgrades WebSockets and refuses
// all else. It is the net.Listener of its http.Server, which gets the connections that
// serve is called with.
type webServer struct {
	server *Server
	http   *http.Server
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newWebServer(s *Server) *webServer {
	w := &webServer{server: s, accept: make(chan net.Conn), closed: make(chan struct{})}
	w.http = &http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idleTimeout, ErrorLog: log.New(io.Discard, "", 0)}
	return w
}

func (w *webServer) run() { _ = w.http.Serve(w) } // always http.ErrServerClosed

func (w *webServer) close() error { return w.http.Close() }

// serve hands a connection to the HTTP server, which closes it.
func (w *webServer) serve(nc net.Conn) error {
	select {
	case w.accept <- nc:
		return nil
	case <-w.closed:
		return nc.Close()
	}
}

// Accept returns the next connection that serve got.
func (w *webServer) Accept() (net.Conn, error) {
	select {
	case nc := <-w.accept:
		return nc, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (w *webServer) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// Addr is the address of the server.
func (w *webServer) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// ServeHTTP upgrades a WebSocket to AMQP and answers any other request with 501.
func (w *webServer) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if strings.TrimSuffix(r.URL.Path, "/") != webSocketPath {
		refuseHTTP(out)
		return
	}
	socket, err := websocket.Accept(out, r, &websocket.AcceptOptions{Subprotocols: []string{"AMQPWSB10", "amqp"}})
	if err != nil {
		return // Accept answered
	}
	socket.SetReadLimit(-1) // frames have their own limit
	nc := websocket.NetConn(context.Background(), socket, websocket.MessageBinary)
	w.server.track(nc, func() { _ = socket.CloseNow() }, func() error {
		return newConn(w.server, nc, bufio.NewReaderSize(nc, readBuffer)).run()
	})
}

// refuseHTTP says, as the administration API writes its errors, that it is not served.
func refuseHTTP(out http.ResponseWriter) {
	body, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"Error"`
		Code    int
		Detail  string
	}{Code: http.StatusNotImplemented, Detail: "The local Service Bus does not support the administration API. Declare queues, topics, subscriptions and rules in the topology file. AMQP and AMQP over WebSockets are served at this address."})
	if err != nil {
		body = []byte(err.Error())
	}
	out.Header().Set("Content-Type", "application/xml; charset=utf-8")
	out.WriteHeader(http.StatusNotImplemented)
	_, _ = out.Write(body)
}

var _ net.Listener = (*webServer)(nil)
