//go:build rabbitmq

package rabbitmq_test

import (
	"crypto/x509"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/bustest"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq/rabbitmqtest"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// The node of the tests.
var (
	brokerURL, brokerTLS string
	brokerRoots          *x509.CertPool
)

func TestMain(m *testing.M) {
	rabbitmqtest.Main(m, func(n *rabbitmqtest.Node) { brokerURL, brokerTLS, brokerRoots = n.URL, n.TLS, n.Roots })
}

var namespaces atomic.Int64

// open returns a client with topics of its own, which share the ladder of delays.
func open(t *testing.T) *rabbitmq.Client {
	t.Helper()
	prefix := fmt.Sprintf("t%d_%d_", time.Now().Unix()%1_000_000, namespaces.Add(1))
	client := testenv.Connected(rabbitmq.Dial(rabbitmq.Config{URL: brokerURL, Prefix: prefix, Name: t.Name(), Declare: true, Workers: []string{"worker-01"}}))(t)
	if err := client.Ping(t.Context()); err != nil { // which declares them
		t.Fatal(err)
	}
	return client
}

func TestConformance(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(t *testing.T) bustest.Namespace {
		t.Helper()
		client := open(t)
		return bustest.Namespace{
			Client: client, Advance: time.Sleep, Now: time.Now, Quiet: time.Second, Topic: client.Topic,
			Without: []bus.Property{bus.Duplicates, bus.Place, bus.Looks},
		}
	})
}
