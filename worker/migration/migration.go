// Package migration carries out the functions for Microsoft's own move with jobs of Graph. It makes requests through the
// client of package graph.
package migration

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// jobsPath is of the jobs. A job is found by its id or its display name.
const jobsPath = "/v1.0/solutions/migrations/crossTenantMigrationJobs"

// maxUsers is the larger of the two limits that pages of Microsoft have.
const maxUsers = 2000

// validFor is how long a job may be started after its validation.
const validFor = 7 * 24 * time.Hour

// service is the migrations of Graph.
type service struct{ graph *graph.Client }

// Functions are the catalogue's functions that this package carries out.
func Functions(g *graph.Client) []catalog.Function {
	s := service{g}
	return []catalog.Function{
		catalog.NewCrossTenantMigrationJob.With(s.newJob),
		catalog.ConfirmCrossTenantMigrationJob.With(s.validateJob),
		catalog.TestCrossTenantMigrationJob.With(s.testJob),
		catalog.StartCrossTenantMigrationJob.With(s.startJob),
		catalog.SetCrossTenantMigrationJob.With(s.setJob),
		catalog.CompleteCrossTenantMigrationJob.With(s.completeJob),
		catalog.StopCrossTenantMigrationJob.With(s.stopJob),
		catalog.RemoveCrossTenantMigrationJob.With(s.removeJob),
		catalog.TestCrossTenantMigrationUser.With(s.testUser),
		catalog.StopCrossTenantMigrationUser.With(s.stopUser),
	}
}

// job is a crossTenantMigrationJob.
type job struct {
	ID, DisplayName, Status, Message string
	SourceTenantID                   string `json:"sourceTenantId"`
	Resources, Workloads             []string
	CompleteAfterDateTime            string
	LastUpdatedDateTime              string
	CreatedDateTime                  time.Time
	ExchangeSettings                 *exchangeSettings
}

type exchangeSettings struct {
	SourceEndpoint       string `json:"sourceEndpoint"`
	TargetDeliveryDomain string `json:"targetDeliveryDomain"`
}

// readJob reads a job as it came. The example of a page has the job in the property value.
func readJob(object map[string]any) (j job, err error) {
	if inner, lone := object["value"].(map[string]any); lone && object["id"] == nil {
		object = inner
	}
	if err := read(object, &j); err != nil || j.ID == "" || j.Status == "" {
		return j, conflict("Graph's answer is not a migration job")
	}
	return j, nil
}

func read(object map[string]any, into any) error {
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// is compares the status. Pages write it with capitals in some places, and cancelled with one l.
func (j job) is(statuses ...string) bool { return is(j.Status, statuses) }

func is(status string, statuses []string) bool {
	status = strings.Replace(strings.ToLower(status), "canceled", "cancelled", 1)
	return slices.ContainsFunc(statuses, func(s string) bool { return strings.ToLower(s) == status })
}

// Kinds of statuses of a job. Every other status, such as adminActionRequired, unknownFutureValue, or one that Graph gets
// later, is none that a function writes for.
var (
	validating = []string{"validateSubmitted", "validateProcessing", "validateInProgress"}
	running    = []string{"approved", "processing", "inProgress", "cuttingOver"}
	withdrawn  = []string{"cancelled", "pendingCancel", "pendingDelete", "deleted"}
	restarted  = []string{"failed", "completedWithErrors"} // with Start-CrossTenantMigrationJob
)

// updatedSince tells whether the job changed at a time or later.
func (j job) updatedSince(at time.Time) bool {
	updated, err := time.Parse(time.RFC3339, j.LastUpdatedDateTime)
	return err == nil && !at.IsZero() && !updated.Before(at.Truncate(time.Second))
}

// describe is the status with Graph's message.
func (j job) describe() string {
	if j.Message == "" {
		return j.Status
	}
	return j.Status + " (" + j.Message + ")"
}

// jobName reads the name of a job. It refuses names that a path cannot have.
func jobName(p catalog.Params) (string, error) {
	name := p.String("JobName")
	if strings.ContainsAny(name, `/\?#%$()`) || strings.Trim(name, ". ") != name {
		return "", wrong(`JobName must not have / \ ? # % $ or parentheses, nor begin or end with a dot or a space`)
	}
	return name, nil
}

func jobPath(name string) string { return jobsPath + "/" + url.PathEscape(name) }

// readTime reads a time with a zone.
func readTime(p catalog.Params, name string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, p.String(name))
	if err != nil {
		return at, wrong(name + " must be a time with a zone, such as 2026-03-01T18:00:00Z")
	}
	return at.UTC(), nil
}

// allWorkloads are those of Graph, spelled as Graph spells them.
var allWorkloads = []string{"Exchange", "ODSP", "Teams", "Meeting"}

// readWorkloads reads workloads; none stands for all.
func readWorkloads(p catalog.Params) (workloads []string, err error) {
	for _, given := range p.List("Workloads") {
		i := slices.IndexFunc(allWorkloads, func(w string) bool { return strings.EqualFold(w, given) })
		if i < 0 {
			return nil, wrong(fmt.Sprintf("Workloads has %q: use %s", given, strings.Join(allWorkloads, ", ")))
		}
		if !slices.Contains(workloads, allWorkloads[i]) {
			workloads = append(workloads, allWorkloads[i])
		}
	}
	return workloads, nil
}

func wrong(text string) error {
	return &catalog.Failure{Type: catalog.FailureParameters, Message: text}
}

func conflict(text string) error {
	return &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: text}
}

// refused tells whether Graph refused a write for the state of its object.
func refused(err error) bool {
	var f *catalog.Failure
	return errors.As(err, &f) && (strings.EqualFold(f.Type, catalog.FailureConflict) || f.Type == "HTTP 409")
}

// says tells whether the text of a failure has one of the parts.
func says(err error, parts ...string) bool {
	var f *catalog.Failure
	return errors.As(err, &f) && slices.ContainsFunc(parts, func(part string) bool {
		return strings.Contains(strings.ToLower(f.Type+" "+f.Message), strings.ToLower(part))
	})
}

func failed(text string) error {
	return &catalog.Failure{Type: catalog.FailureMigration, Attempts: 1, Message: text}
}
