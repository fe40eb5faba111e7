package program

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/heap"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/otlp"
	"github.com/matoolkit/matoolkit/internal/termlog"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/worker/announce"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/control"
	"github.com/matoolkit/matoolkit/worker/custom"
	"github.com/matoolkit/matoolkit/worker/dispatch"
	"github.com/matoolkit/matoolkit/worker/health"
	"github.com/matoolkit/matoolkit/worker/heartbeat"
	"github.com/matoolkit/matoolkit/worker/telemetry"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Config of a Process. All but Attributes are required.
type Config struct {
	Settings Settings
	Service  string // name in telemetry
	Version  string
	// Attributes of the process in telemetry, beside the worker id.
	Attributes map[string]string
	Getenv     func(string) string
	Stdout     io.Writer // the log
}

// Process is a running program. Run it once.
type Process struct {
	// HTTP trusts the configured authorities, and has a timeout of 100 seconds.
	HTTP *http.Client
	Log  *slog.Logger // names the worker in every line
	// Record records calls and jobs.
	Record *telemetry.Recorder

	config    Config
	anonymous *slog.Logger
	measured  *otlp.Providers
	probes    *health.Server
}

// heapFloor is small beside the memory of a container.
const heapFloor = 80 << 20

// Start prepares what functions need: TLS roots, the log, telemetry and probes. It does not connect to the broker.
func Start(ctx context.Context, c Config) (*Process, error) {
	heap.SetFloor(heapFloor)
	p := &Process{config: c}
	var err error
	if p.HTTP, err = tlsroots.HTTPClient(c.Settings.CAFile); err != nil {
		return nil, fmt.Errorf("%s: %w", tlsroots.EnvCAFile, err)
	}
	p.HTTP.Timeout = 100 * time.Second
	level := c.Settings.LogLevel
	p.anonymous = slog.New(termlog.Handler(c.Stdout, level, slog.NewJSONHandler(c.Stdout, &slog.HandlerOptions{Level: level})))
	p.Log = p.anonymous.With(logkey.WorkerID, c.Settings.WorkerID)
	about := map[string]string{"matoolkit.worker_id": c.Settings.WorkerID}
	maps.Copy(about, c.Attributes)
	if replica := c.Getenv(EnvReplica); replica != "" {
		about["service.instance.id"] = replica
	}
	p.measured, err = otlp.Start(ctx, otlp.Config{
		Service: c.Service, Version: c.Version, Attributes: about,
		Getenv: c.Getenv, HTTP: p.HTTP, Log: p.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	if p.Record, err = telemetry.New(p.measured); err != nil {
		p.Close()
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	if address := c.Settings.Health; address != "" {
		if p.probes, err = health.Listen(address); err != nil {
			p.Close()
			return nil, fmt.Errorf("%s: %w", EnvHealth, err)
		}
	}
	return p, nil
}

// Close stops the probes, and sends the telemetry of the last jobs. A collector that is away is not waited
// for any longer: the platform would kill the worker.
func (p *Process) Close() {
	if p.probes != nil {
		p.probes.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	p.measured.Close(ctx)
}

// Custom loads the command functions of the settings; none without a directory. Where there are any, the
// process becomes opaque to them. Config has the rest: variables of the program, and tokens.
func (s Settings) Custom(getenv func(string) string, config custom.Config) (*custom.Set, error) {
	if s.CustomDir == "" {
		return &custom.Set{}, nil
	}
	if err := custom.Shield(); err != nil {
		return nil, err
	}
	config.Dir, config.Getenv, config.MaxTimeout = s.CustomDir, getenv, s.JobTimeout
	return custom.Load(config)
}

// CloseFunctions waits until the processes of functions that were stopped with
// their jobs are gone.
func CloseFunctions(functions *custom.Set) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = functions.Close(ctx) // what the kernel cannot end now ends with the container
}

// State is the content of heartbeats beside the jobs.
type State struct {
	Gauge *throttle.Gauge // of the limiters
	// CredentialExpires tells when the credential of the functions expires, the zero time if it does not; nil for never.
	CredentialExpires func() time.Time
}

// Run runs jobs until ctx ends, at a signal, or the worker has been idle for long.
func (p *Process) Run(ctx context.Context, client bus.Client, functions *catalog.Catalog, state State) error {
	c, log := p.config.Settings, p.Log
	revoked, err := control.New(client, control.Config{WorkerID: c.WorkerID, Log: log})
	if err != nil {
		return fmt.Errorf("service bus: %w", err)
	}
	loop, err := dispatch.New(client, functions, dispatch.Config{
		WorkerID: c.WorkerID, MaxParallelism: c.MaxParallelism, JobTimeout: c.JobTimeout, Linger: c.ResultLinger,
		IdleTimeout: c.IdleTimeout, ShutdownGrace: c.ShutdownGrace, Log: p.anonymous, // to which it adds the id
		Controls: revoked, Observer: p.Record.Jobs(functions),
	})
	if err != nil {
		return fmt.Errorf("service bus: %w", err)
	}
	if p.probes != nil {
		p.probes.Watch(loop)
		log.Info("serving health probes", logkey.Address, p.probes.Address())
	}
	log.Info("taking jobs", logkey.MaxParallelism, c.MaxParallelism, logkey.Functions, len(functions.Functions()))
	report := heartbeat.New(heartbeat.Config{
		WorkerID: c.WorkerID, Version: p.config.Version, MaxParallelism: c.MaxParallelism, To: client, Log: log,
		Changed: state.Gauge.Changed(), State: func() heartbeat.State {
			jobs := loop.InHand()
			s := heartbeat.State{
				Jobs: jobs.Jobs, Oldest: jobs.Oldest, TakenThrough: jobs.TakenThrough, Ended: jobs.Ended,
				ThrottledUntil: state.Gauge.Until(),
			}
			if state.CredentialExpires != nil {
				s.CredentialExpiresAt = state.CredentialExpires()
			}
			return s
		},
	})
	who := announce.Worker{ID: c.WorkerID, Version: p.config.Version, Started: time.Now(), JobTimeout: c.JobTimeout, Functions: functions.Functions()}
	stop := while(revoked.Run, report.Run, func(ctx context.Context) { who.Send(ctx, client, log) })
	loop.Run(ctx)
	stop()
	report.Stop(goodbyeTime)
	return nil
}

// goodbyeTime bounds the last heartbeat: when the jobs have used up the grace, the platform
// gives the worker some more seconds only.
const goodbyeTime = time.Second

// while does things at the same time until what it returns is called. That waits for
// their end.
func while(things ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, do := range things {
		group.Go(func() { do(ctx) })
	}
	return func() {
		cancel()
		group.Wait()
	}
}
