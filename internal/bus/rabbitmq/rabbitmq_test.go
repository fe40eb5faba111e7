//go:build rabbitmq

package rabbitmq_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/bustest"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

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
