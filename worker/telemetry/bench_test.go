package telemetry_test

import (
	"log/slog"
	"testing"

	"github.com/matoolkit/matoolkit/internal/otlp"
	"github.com/matoolkit/matoolkit/local/collector"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/dispatch"
	"github.com/matoolkit/matoolkit/worker/telemetry"
)

// What a job pays for being recorded: with a collector, and with none.
func BenchmarkJob(b *testing.B) {
	c, err := collector.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for name, endpoint := range map[string]string{"collector": c.URL(), "off": ""} {
		b.Run(name, func(b *testing.B) {
			p, err := otlp.Start(b.Context(), otlp.Config{
				Service: "bench", Getenv: func(name string) string { return map[string]string{otlp.EnvEndpoint: endpoint}[name] }, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close(b.Context())
			r, err := telemetry.New(p)
			if err != nil {
				b.Fatal(err)
			}
			functions, err := catalog.New(catalog.NoOp)
			if err != nil {
				b.Fatal(err)
			}
			jobs, d := r.Jobs(functions), delivery(catalog.NoOp.Name, 1)
			b.ReportAllocs()
			for b.Loop() {
				_, ended := jobs.Received(b.Context(), d)
				ended(dispatch.Outcome{Answered: true, Ran: true})
			}
		})
	}
}
