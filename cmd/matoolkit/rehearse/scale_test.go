package rehearse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/local/tenant/population"
)

// wave is a rehearsal of the example for the first members of a source with many people.
func wave(t testing.TB, people, members int) rehearse.Config {
	t.Helper()
	all := tenants(t, func(_ string, seed *tenant.Seed) {
		for i := range seed.Licenses {
			seed.Licenses[i].Enabled += members
		}
	})
	folder, list := t.TempDir(), filepath.Join(t.TempDir(), "members.csv")
	if err := population.Write(folder, all[0].ID, all[0].Seed, people); err != nil {
		t.Fatal(err)
	}
	all[0] = testenv.Must(rehearse.ReadTenant(all[0].Name, folder, ""))(t)
	file := testenv.Must(os.Create(list))(t)
	if err := population.Members(file, members); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	assumed := rehearse.DefaultAssumptions()
	assumed.Parallelism = 20
	return rehearse.Config{
		Runbook: testenv.Must(os.ReadFile(filepath.Join(example, "runbook.yaml")))(t), Members: list, Start: start, Tenants: all, Assumed: assumed,
	}
}

func BenchmarkWave(b *testing.B) {
	for _, size := range []struct{ people, members int }{{1000, 100}, {100_000, 200}, {100_000, 1000}} {
		b.Run(fmt.Sprintf("%d_of_%d", size.members, size.people), func(b *testing.B) {
			c := wave(b, size.people, size.members)
			for range b.N {
				runtime.GC()
				began := time.Now()
				c.Progress = func(text string) { b.Log(time.Since(began).Round(time.Millisecond), text) }
				r := testenv.Must(rehearse.Run(b.Context(), c))(b)
				for _, g := range r.Errors {
					b.Log(len(g.Members), g.Phase, g.Step, g.Error)
				}
				for _, p := range r.Phases {
					b.Log(p.Name, p.Status, p.Seconds, p.Jobs)
				}
				b.ReportMetric(float64(r.Succeeded), "succeeded")
			}
		})
	}
}
