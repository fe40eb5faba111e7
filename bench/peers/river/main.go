//go:build linux

// Command river does with River and PostgreSQL what "matoolkit local bench" measures: members go
// through steps that do nothing. Each step is one job. One transaction updates the member, inserts
// the job of the next step and completes the job. It prints the result as JSON on its last line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// config says what to do and how.
type config struct {
	Members     int           `json:"members"`
	Steps       int           `json:"stepsPerMember"`
	Workers     int           `json:"workers"`
	Connections int           `json:"connections"`
	Poll        bool          `json:"pollOnly"`
	Cooldown    time.Duration `json:"-"`
	Later       bool          `json:"completeLater"`
}

// result is the last line of the output.
type result struct {
	config
	Cooldown   string  `json:"fetchCooldown"`
	River      string  `json:"river"`
	PostgreSQL string  `json:"postgresql"`
	Seconds    float64 `json:"seconds"`
	PerSecond  float64 `json:"stepsPerSecond"`
	CPU        float64 `json:"cpuMsPerStep"`
	Client     float64 `json:"clientCPUMsPerStep"` // part of CPU
	Written    float64 `json:"kbWrittenPerStep"`
}

func main() {
	c := config{}
	flag.IntVar(&c.Members, "members", 2000, "members")
	flag.IntVar(&c.Steps, "steps", 5, "steps per member")
	flag.IntVar(&c.Workers, "workers", 100, "jobs that run at once")
	flag.IntVar(&c.Connections, "connections", 40, "connections to PostgreSQL")
	flag.BoolVar(&c.Poll, "poll-only", false, "look for jobs at intervals, without LISTEN and NOTIFY")
	flag.DurationVar(&c.Cooldown, "fetch-cooldown", 20*time.Millisecond, "shortest time between two fetches")
	flag.BoolVar(&c.Later, "complete-later", false, "let River complete jobs in batches after their transactions")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, c config) (err error) {
	if c.Members < 1 || c.Steps < 1 || c.Workers < 1 || c.Connections < 1 {
		return fmt.Errorf("members, steps, workers and connections must be positive")
	}
	pg, err := startPostgres(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if e := pg.stop(); err == nil {
			err = e
		}
	}()
	pool, err := connect(ctx, pg.dir, c.Connections)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := prepare(ctx, pool, c.Members); err != nil {
		return err
	}
	r, err := run(ctx, c, pool, pg)
	if err != nil {
		return err
	}
	line, err := json.Marshal(r)
	if err == nil {
		fmt.Println(string(line))
	}
	return err
}

func connect(ctx context.Context, dir string, connections int) (*pgxpool.Pool, error) {
	at, err := pgxpool.ParseConfig(fmt.Sprintf("host=%s user=river dbname=postgres", dir))
	if err != nil {
		return nil, err
	}
	at.MaxConns = int32(connections)
	return pgxpool.NewWithConfig(ctx, at)
}

// prepare creates the tables and the members, as an upload does.
func prepare(ctx context.Context, pool *pgxpool.Pool, members int) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, `CREATE TABLE members (
		id bigint PRIMARY KEY, upn text NOT NULL, name text NOT NULL, step int NOT NULL, status text NOT NULL, changed timestamptz NOT NULL)`)
	if err != nil {
		return err
	}
	_, err = pool.CopyFrom(ctx, pgx.Identifier{"members"}, []string{"id", "upn", "name", "step", "status", "changed"},
		pgx.CopyFromSlice(members, func(i int) ([]any, error) {
			return []any{i, fmt.Sprintf("person%06d@contoso.com", i), fmt.Sprintf("Person %d", i), 0, "pending", time.Now()}, nil
		}))
	return err
}

// step is the job of one step of one member.
type step struct {
	Member int    `json:"member"`
	Step   int    `json:"step"`
	Value  string `json:"value"`
}

func (step) Kind() string { return "step" }

type worker struct {
	river.WorkerDefaults[step]
	config
	pool *pgxpool.Pool
	done chan<- struct{} // one element for each member that has ended
}

// Work does nothing for the step and goes on to the next one. A job that runs again, because its
// process ended before the job was completed, finds its member changed and inserts nothing.
func (w *worker) Work(ctx context.Context, job *river.Job[step]) error {
	tx, err := w.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	status := "running"
	if job.Args.Step == w.Steps {
		status = "succeeded"
	}
	changed, err := tx.Exec(ctx, `UPDATE members SET step = $2, status = $3, changed = now() WHERE id = $1 AND step = $2 - 1`,
		job.Args.Member, job.Args.Step, status)
	if err != nil {
		return err
	}
	if changed.RowsAffected() == 1 && job.Args.Step < w.Steps {
		next := step{Member: job.Args.Member, Step: job.Args.Step + 1, Value: job.Args.Value}
		if _, err := river.ClientFromContext[pgx.Tx](ctx).InsertTx(ctx, tx, next, nil); err != nil {
			return err
		}
	}
	if !w.Later {
		if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
			return err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if changed.RowsAffected() == 1 && job.Args.Step == w.Steps {
		w.done <- struct{}{}
	}
	return nil
}

// run has all members go through all steps and measures that.
func run(ctx context.Context, c config, pool *pgxpool.Pool, pg *postgres) (r result, err error) {
	done := make(chan struct{}, c.Members)
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{config: c, pool: pool, done: done})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: c.Workers}}, Workers: workers, Logger: quiet(),
		PollOnly: c.Poll, FetchCooldown: c.Cooldown, FetchPollInterval: max(c.Cooldown, 20*time.Millisecond),
	})
	if err != nil {
		return r, err
	}
	if err := client.Start(ctx); err != nil {
		return r, err
	}
	before, err := pg.usage()
	if err != nil {
		return r, err
	}
	own, began := ownCPU(), time.Now()
	if err := begin(ctx, client, c.Members); err != nil {
		return r, err
	}
	for range c.Members {
		select {
		case <-done:
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
	took := time.Since(began)
	if err := client.Stop(ctx); err != nil { // completes what is to be completed later
		return r, err
	}
	after, err := pg.usage()
	if err != nil {
		return r, err
	}
	own = ownCPU() - own
	if err := check(ctx, pool, c); err != nil {
		return r, err
	}
	steps := float64(c.Members * c.Steps)
	perStep := func(d time.Duration) float64 { return d.Seconds() * 1000 / steps }
	return result{
		config: c, Cooldown: c.Cooldown.String(), River: version("github.com/riverqueue/river"), PostgreSQL: pg.version,
		Seconds: took.Seconds(), PerSecond: steps / took.Seconds(), CPU: perStep(after.cpu - before.cpu + own), Client: perStep(own),
		Written: float64(after.written-before.written) / 1024 / steps,
	}, nil
}

// begin inserts the first job of each member.
func begin(ctx context.Context, client *river.Client[pgx.Tx], members int) error {
	const page = 1000
	for from := 0; from < members; from += page {
		var jobs []river.InsertManyParams
		for i := from; i < min(from+page, members); i++ {
			jobs = append(jobs, river.InsertManyParams{Args: step{Member: i, Step: 1, Value: fmt.Sprintf("Person %d", i)}})
		}
		if _, err := client.InsertManyFast(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}

// check compares the stored state with what had to be done.
func check(ctx context.Context, pool *pgxpool.Pool, c config) error {
	var members, jobs int
	err := pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM members WHERE status = 'succeeded' AND step = $1), (SELECT count(*) FROM river_job WHERE state = 'completed')`, c.Steps).
		Scan(&members, &jobs)
	if err == nil && (members != c.Members || jobs != c.Members*c.Steps) {
		err = fmt.Errorf("%d members succeeded and %d jobs were completed, want %d and %d", members, jobs, c.Members, c.Members*c.Steps)
	}
	return err
}

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, d := range info.Deps {
		if d.Path == module {
			return d.Version
		}
	}
	return ""
}
