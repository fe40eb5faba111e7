package bench

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	_ "modernc.org/sqlite" // what the people are kept in

	schedulertimer "github.com/matoolkit/matoolkit/functions/scheduler-timer"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/local/functionshost"
)

// crowd is who the data source has: members in batches, for each of some runbooks.
type crowd struct {
	runbooks, batches, members int // batches and members are of each runbook
	ended                      int // batches of one member each that ended before, of each runbook
}

func (w crowd) rows() int { return w.members + w.ended }

// look is one tick that is measured, and what changes in the data source before it.
type look struct {
	name   string
	change string // SQL; empty for nothing
}

// ticks measures what a tick of the scheduler takes. Each tick has processes of its
// own, so that the counters and the memory belong to that tick alone.
func ticks(ctx context.Context, c Config) error {
	t := Table{Name: "Runs of the scheduler", Columns: []string{
		"tick", "runbooks", "batches", "rows", "seconds", "reads", "queries", "writes", "messages", "handler CPU s", "handler MB",
	}}
	n := c.TickMembers
	const same = "no changes"
	for _, scene := range []struct {
		crowd crowd
		looks []look
	}{
		{crowd{runbooks: 1, batches: 20, members: n}, []look{
			{"all rows new", ""},
			{same, ""},
			{"1% of rows changed", "UPDATE people SET Name = Name || ' the other' WHERE Number % 100 = 0"},
		}},
		{crowd{runbooks: 50, batches: 1, members: n / 50}, []look{{"", ""}, {same, ""}}},
		{crowd{runbooks: 1, batches: 20, members: max(n-200, 20), ended: 200}, []look{{"", ""}, {"", ""}, {same + ", 200 batches have ended", ""}}},
	} {
		measured, err := watch(ctx, c, scene.crowd, scene.looks)
		if err != nil {
			return fmt.Errorf("ticks of %+v: %w", scene.crowd, err)
		}
		for i, r := range measured {
			if scene.looks[i].name == "" { // it only prepares the next
				continue
			}
			handler := r.of("handler")
			t.Rows = append(t.Rows, []any{
				scene.looks[i].name, scene.crowd.runbooks, scene.crowd.runbooks * scene.crowd.batches, scene.crowd.runbooks * scene.crowd.rows(),
				two(r.elapsed.Seconds()), r.stats.Cosmos.PointReads, r.stats.Cosmos.Queries,
				r.stats.Cosmos.SingleWrites + r.stats.Cosmos.Batches, r.stats.sent(),
				two(handler.cpu.Seconds()), whole(float64(handler.peak) / (1 << 20)),
			})
		}
	}
	c.add(t)
	return nil
}

// watch has a scheduler look at a crowd, again and again.
func watch(ctx context.Context, c Config, who crowd, looks []look) (results []result, err error) {
	dir, err := os.MkdirTemp("", "matoolkit-bench-")
	if err != nil {
		return nil, err
	}
	b := &bed{Config: c, dir: dir}
	defer func() { err = errors.Join(err, b.stop(), os.RemoveAll(dir)) }()
	db, err := sql.Open("sqlite", b.file("people.db"))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	began := time.Now().UTC()
	if err := who.write(ctx, db, began); err != nil {
		return nil, err
	}
	b.settings = []string{"--setting", "PEOPLE=sqlite:" + b.file("people.db")}
	if err := b.session(ctx, who.publish); err != nil {
		return nil, err
	}
	for _, l := range looks {
		if _, err := db.ExecContext(ctx, l.change); err != nil {
			return nil, err
		}
		r, err := b.tick(ctx)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
		if who.ended > 0 {
			if err := b.session(ctx, who.awaitEnd); err != nil {
				return nil, err
			}
		}
	}
	return results, b.session(ctx, func(ctx context.Context, client *apiclient.Client) error { return who.check(ctx, client, began) })
}

// write puts the crowd into a database. Batches start in a month, so that nothing of
// them is due; those that are to have ended started an hour ago. Each runbook has people of
// its own, because a person cannot be in the batches of two.
func (w crowd) write(ctx context.Context, db *sql.DB, now time.Time) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "CREATE TABLE people (Number INTEGER, Runbook TEXT, Upn TEXT, Name TEXT, Start TEXT)"); err != nil {
		return err
	}
	add, err := tx.PrepareContext(ctx, "INSERT INTO people VALUES (?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	for runbook := range w.runbooks {
		for i := range w.rows() {
			start := now.Truncate(time.Hour).AddDate(0, 1, i*w.batches/w.members)
			if i >= w.members {
				start = now.Truncate(time.Minute).Add(-time.Hour - time.Duration(i-w.members)*time.Minute)
			}
			_, err := add.ExecContext(ctx, i, runbookName(runbook), fmt.Sprintf("person%02d-%06d@contoso.com", runbook, i), fmt.Sprintf("Person %d", i), start.Format(time.RFC3339))
			if err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

func runbookName(i int) string { return fmt.Sprintf("bench-%02d", i) }

func (w crowd) publish(ctx context.Context, client *apiclient.Client) error {
	for i := range w.runbooks {
		name := runbookName(i)
		yaml := fmt.Sprintf(`name: %s
data_source:
  type: sql
  connection: PEOPLE
  query: SELECT Upn, Name, Start FROM people WHERE Runbook = '%s'
  primary_key: Upn
  batch_time_column: Start
  addition_guard: {share: 100%%, number: 1000000}
phases:
  - name: only
    offset: T-0
    steps:
      - %s
`, name, name, call("step", "true", ""))
		if _, err := client.PublishRunbook(ctx, []byte(yaml)); err != nil {
			return err
		}
		if _, err := client.SetAutomation(ctx, name, true); err != nil {
			return err
		}
	}
	return nil
}

// awaitEnd waits until the batches have ended that are to.
func (w crowd) awaitEnd(ctx context.Context, client *apiclient.Client) error {
	for {
		ended := 0
		o := api.ListOptions{Limit: 1000}
		for {
			page, err := client.Batches(ctx, o)
			if err != nil {
				return err
			}
			for _, b := range page.Items {
				if b.CompletedAt != nil {
					ended++
				}
			}
			if o.Continuation = page.Continuation; o.Continuation == "" {
				break
			}
		}
		if ended == w.runbooks*w.ended {
			return nil
		}
		for i := range w.runbooks {
			if v, err := client.Automation(ctx, runbookName(i)); err != nil || v.LastError != "" {
				return errors.Join(err, fmt.Errorf("the tick failed: %s", v.LastError))
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d batches have ended: %w", ended, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// check holds against what came of it that each runbook was looked at, and no row was
// left out.
func (w crowd) check(ctx context.Context, client *apiclient.Client, since time.Time) error {
	for i := range w.runbooks {
		v, err := client.Automation(ctx, runbookName(i))
		if err != nil {
			return err
		}
		if v.LastError != "" || v.LastGoodAt == nil || v.LastGoodAt.Before(since) || v.Rows != w.rows() || v.ProblemCount != 0 || len(v.Held) != 0 {
			return fmt.Errorf("the tick of %s read %d rows, with %d problems (first: %+v), %d holds and error %q; want %d rows and no problems",
				runbookName(i), v.Rows, v.ProblemCount, v.Problems[:min(1, len(v.Problems))], len(v.Held), v.LastError, w.rows())
		}
	}
	return nil
}

// session starts the parts, does something through the API, and stops them.
func (b *bed) session(ctx context.Context, do func(context.Context, *apiclient.Client) error) error {
	if err := b.between(ctx); err != nil {
		return err
	}
	if err := b.start(ctx); err != nil {
		return errors.Join(err, b.logs())
	}
	client, err := b.api()
	if err == nil {
		err = do(ctx, client)
	}
	if err != nil {
		return errors.Join(err, b.logs())
	}
	return b.stop()
}

// tick starts the parts, has the scheduler look once, and stops them.
func (b *bed) tick(ctx context.Context) (r result, err error) {
	if err := b.between(ctx); err != nil {
		return r, err
	}
	if err := b.start(ctx); err != nil {
		return r, errors.Join(err, b.logs())
	}
	before, err := b.usage()
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := b.look(ctx); err != nil {
		return r, errors.Join(err, b.logs())
	}
	r.elapsed = time.Since(began)
	if r.usage, err = b.usageSince(before); err != nil {
		return r, err
	}
	if err := b.stop(); err != nil {
		return r, err
	}
	r.stats, err = b.counts()
	return r, err
}

// look has the host run the scheduler, and waits for its end.
func (b *bed) look(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.endpoints.Addresses.Host+"/_local/functions/"+schedulertimer.Name, bytes.NewReader([]byte("{}")))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var run functionshost.Run
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the tick failed: %s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return json.Unmarshal(text, &run)
}

// between waits until the host is not about to tick by itself, and clears its last
// tick, so that exactly one tick is measured.
func (b *bed) between(ctx context.Context) error {
	const room = 40 * time.Second
	if err := os.RemoveAll(b.file("data/host/timers")); err != nil {
		return err
	}
	next := time.Now().Truncate(model.TickInterval).Add(model.TickInterval)
	if time.Until(next) > room {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(next) + time.Second):
		return nil
	}
}
