package testenv

import (
	"context"
	"io"
	"time"
)

// T has the methods of a test that Started, Connected and Must need. Those of packages testing and rapid have it.
type T interface {
	Helper()
	Fatal(args ...any)
	Cleanup(f func())
}

// Started returns a server that was started. The function that it returns fails the test if the
// server did not start, and closes it at the end of the test.
func Started[S io.Closer](server S, err error) func(T) S {
	return func(t T) S {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		return server
	}
}

// Connected returns a client that was connected. The function that it returns fails the test if the
// connection failed, and closes the client at the end of the test.
func Connected[C interface {
	Close(ctx context.Context) error
}](client C, err error) func(T) C {
	return func(t T) C {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), closeTime)
			defer cancel()
			_ = client.Close(ctx)
		})
		return client
	}
}

// closeTime is how long the end of a connection may take: its server may have ended.
const closeTime = time.Second

// Must returns the value of a call. The function that it returns fails the test if the call failed.
func Must[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
