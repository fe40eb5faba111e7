package app_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

// TestNobodyGuessesASecretFromAnID: the ids that follow from the body of a message differ
// with the key of the deployment, so that a password in the body cannot be guessed from them.
func TestNobodyGuessesASecretFromAnID(t *testing.T) {
	t.Parallel()
	ids := func(t *testing.T, key byte, id string) (of map[string]string) {
		away := false
		db := memory.New(memory.Config{Hook: func(_ context.Context, o memory.Operation) memory.Fault {
			if away || len(o.Writes) > 0 && o.Writes[0].Op == store.OpDelete { // the attempts are not cleared
				return memory.Unavailable
			}
			return memory.Fault{}
		}})
		book := &notebook{}
		a := app.New(app.Config{
			Store: db, Bus: book, Log: slog.New(slog.DiscardHandler),
			Secrets: secret.New(secret.Fixed(bytes.Repeat([]byte{key}, secret.KeySize))),
		})
		must(a.PublishRunbook(t.Context(), ada, "", []byte(secretRunbook), api.PublishOptions{}))(t)
		m := message.Delivery{ID: id, Type: message.TypeWorkerResult, Body: []byte(`{"Result":"1234`), DeliveryCount: 4, EnqueuedAt: epoch}
		noError(t, a.HandleResult(t.Context(), m))
		of = map[string]string{}
		all := must(db.Dump(t.Context(), ""))(t)
		for _, d := range all {
			of[d.Type] = d.ID
		}
		away = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := a.HandleResult(ctx, m); err != nil || len(book.sent) != 1 {
			t.Fatalf("%v, sent %v", err, book.sent)
		}
		if id == "" {
			of["put back"], _, _ = strings.Cut(book.sent[0].ID, "-again-")
		}
		return of
	}
	synctest.Test(t, func(t *testing.T) { // an outage lasts by the clock of the bubble
		for _, id := range []string{"", "result-1"} {
			one, other := ids(t, 1, id), ids(t, 2, id)
			for _, kind := range []string{"attempts", "unprocessed", "put back"} {
				if one[kind] == "" && (id == "" || kind != "put back") {
					t.Errorf("message %q: no id of kind %s: %v", id, kind, one)
				}
				if one[kind] != "" && one[kind] == other[kind] {
					t.Errorf("message %q: the id of kind %s does not depend on the key: %s", id, kind, one[kind])
				}
			}
		}
	})
}
