package adminhttp

import (
	"context"
	"encoding/json"

	"github.com/matoolkit/matoolkit/internal/admin"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/report"
)

// UseCases are the use cases that the routes call, by resource.
type UseCases struct {
	Health     Health
	Runbooks   Runbooks
	Automation Automation
	Batches    Batches
	Members    Members
	Steps      Steps
	Reports    Reports
	Audit      Audit
	Workers    Workers
	Messages   Messages
	Pipelines  Pipelines

	Notifications Notifications
	Simulator     Simulator
	Scaler        Scaler
}

// UseCasesOf takes the use cases of all resources from one value, but for the simulator; *app.App has them.
func UseCasesOf(all interface {
	Health
	Runbooks
	Automation
	Batches
	Members
	Steps
	Reports
	Audit
	Workers
	Messages
	Notifications
	Pipelines
	Scaler
},
) UseCases {
	return UseCases{Health: all, Runbooks: all, Automation: all, Batches: all, Members: all, Steps: all, Reports: all, Audit: all, Workers: all, Messages: all, Notifications: all, Pipelines: all, Scaler: all}
}

// Health reports whether the store and the bus can be reached.
type Health interface {
	Health(ctx context.Context) api.Health
}

// Runbooks publishes, lists and deactivates runbooks and their versions.
type Runbooks interface {
	PublishRunbook(ctx context.Context, by audit.Caller, name string, yaml []byte, o api.PublishOptions) (api.Runbook, error)
	Runbooks(ctx context.Context, o api.ListOptions) (api.Page[api.Runbook], error)
	Runbook(ctx context.Context, name string) (api.Runbook, error)
	Lint(ctx context.Context, name string, yaml []byte) (api.RunbookCheck, error)
	CSVTemplate(ctx context.Context, name, delimiter string) ([]byte, error)
	Versions(ctx context.Context, name string, o api.ListOptions) (api.Page[api.RunbookVersion], error)
	Version(ctx context.Context, name string, version int) (api.RunbookVersion, error)
	Deactivate(ctx context.Context, by audit.Caller, name string, version int, why string, tags ...string) (api.RunbookVersion, error)
}

// Simulator plays a runbook with a list of members, and changes nothing.
type Simulator interface {
	Simulate(ctx context.Context, request api.SimulationRequest) (api.Simulation, error)
}

// Automation creates batches from data sources, and holds additions.
type Automation interface {
	Automation(ctx context.Context, by audit.Caller, name string) (api.Automation, error)
	Syncs(ctx context.Context, name string) (api.Page[api.Sync], error)
	SetAutomation(ctx context.Context, by audit.Caller, name string, enabled bool, tags ...string) (api.Automation, error)
	EnableAutomation(ctx context.Context, by audit.Caller, name, revision string, tags ...string) (api.Automation, error)
	PreviewQuery(ctx context.Context, by audit.Caller, name string, sample int) (api.QueryPreview, error)
	HeldAdditions(ctx context.Context, by audit.Caller, runbook string, o api.ListOptions) (api.AdditionHold, error)
	PreviewAdditions(ctx context.Context, runbook, revision, why string) (api.Preview, error)
	ConfirmAdditions(ctx context.Context, by audit.Caller, runbook, revision, why string) (api.AdditionsConfirmation, error)
	PreviewDiscard(ctx context.Context, runbook, revision, why string) (api.Preview, error)
	DiscardAdditions(ctx context.Context, by audit.Caller, runbook, revision, why string) (api.AdditionsDiscard, error)
}

// Batches creates, lists and controls batches and their phases.
type Batches interface {
	CreateBatchFrom(ctx context.Context, by audit.Caller, runbookName string, csv membercsv.File, options ...api.UploadOption) (api.Batch, error)
	CheckBatch(ctx context.Context, runbookName string, csv membercsv.File, options ...api.UploadOption) (api.UploadCheck, error)
	Batches(ctx context.Context, o api.ListOptions) (api.Page[api.Batch], error)
	Summary(ctx context.Context) (api.Summary, error)
	Batch(ctx context.Context, by audit.Caller, id int) (api.Batch, error)
	UpdateBatch(ctx context.Context, by audit.Caller, batch int, d api.BatchDetails, why string, tags ...string) (api.Batch, error)
	Phases(ctx context.Context, by audit.Caller, id int) (api.Page[api.Phase], error)
	ChangeMark(ctx context.Context, batch int) (string, error)
	Advance(ctx context.Context, by audit.Caller, id int, phase string, tags ...string) (api.AdvanceResult, error)
	Cancel(ctx context.Context, by audit.Caller, batch int, why string) (api.Batch, error)
	Pause(ctx context.Context, by audit.Caller, batch int, why string) (api.Batch, error)
	Resume(ctx context.Context, by audit.Caller, batch int, why string) (api.Batch, error)
	Reschedule(ctx context.Context, by audit.Caller, batch int, start, why string, dryRun bool) (api.RescheduleResult, error)
	Approve(ctx context.Context, by audit.Caller, batch int, phase, why string) (api.Phase, error)
	Repair(ctx context.Context, by audit.Caller, batch int, r api.Repair) (api.RepairResult, error)
	Preview(ctx context.Context, by audit.Caller, batch int, action api.ProposedAction) (api.Preview, error)
	Task(ctx context.Context, batch int, id string) (api.Task, error)
	Check(ctx context.Context, by audit.Caller, batch, member int, why string) (api.CheckResult, error)
	Checks(ctx context.Context, by audit.Caller, id int, o api.ListOptions) (api.Page[api.Check], error)
}

// Members finds, lists, adds, corrects and removes the members of a batch, and holds removals.
type Members interface {
	FindMember(ctx context.Context, batch int, ref string) (int, error)
	Find(ctx context.Context, by audit.Caller, text string, o api.ListOptions) (api.Page[api.FoundMember], error)
	Member(ctx context.Context, by audit.Caller, batch, member int) (api.Member, error)
	CorrectMember(ctx context.Context, by audit.Caller, batch, member int, request api.CorrectionRequest, why string, tags ...string) (api.MemberCorrection, error)
	UpdateMembersFrom(ctx context.Context, by audit.Caller, batch int, csv membercsv.File, dry bool, why string, options ...api.UploadOption) (api.MembersUpdate, error)
	Members(ctx context.Context, by audit.Caller, id int, o api.ListOptions) (api.Page[api.Member], error)
	AddMembersFrom(ctx context.Context, by audit.Caller, batch int, csv membercsv.File, options ...api.UploadOption) (api.AddResult, error)
	CheckMembers(ctx context.Context, batch int, csv membercsv.File, options ...api.UploadOption) (api.UploadCheck, error)
	RemoveMember(ctx context.Context, by audit.Caller, batch, member int, why string) (api.Member, error)
	HeldRemovals(ctx context.Context, by audit.Caller, batch int, o api.ListOptions) (api.RemovalHold, error)
	ConfirmRemovals(ctx context.Context, by audit.Caller, batch int, revision, why string) (api.Batch, error)
	MoveMembers(ctx context.Context, by audit.Caller, batch int, revision, why string) (api.Batch, error)
	DiscardRemovals(ctx context.Context, by audit.Caller, batch int, revision, why string) (api.Batch, error)
}

// Steps lists the steps of a batch and resolves failed ones.
type Steps interface {
	Steps(ctx context.Context, by audit.Caller, id int, o api.ListOptions) (api.Page[api.Step], error)
	Step(ctx context.Context, by audit.Caller, batch int, stepID int64) (api.Step, error)
	Errors(ctx context.Context, by audit.Caller, batch int) (api.BatchErrors, error)
	SkipStep(ctx context.Context, by audit.Caller, batch int, stepID int64, why string) (api.Step, error)
	MarkStepDone(ctx context.Context, by audit.Caller, batch int, stepID int64, result json.RawMessage, why string) (api.Step, error)
}

// Reports writes reports on batches.
type Reports interface {
	Report(ctx context.Context, by audit.Caller, id int, format report.Format) (admin.Report, error)
}

// Audit lists audit records.
type Audit interface {
	Audit(ctx context.Context, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error)
	BatchAudit(ctx context.Context, batch int, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error)
	RunbookAudit(ctx context.Context, name string, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error)
	MessageAudit(ctx context.Context, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error)
}

// Workers lists the workers.
type Workers interface {
	Workers(ctx context.Context, o api.ListOptions) (api.Page[api.Worker], error)
	Worker(ctx context.Context, id string) (api.Worker, error)
}

// Messages lists, replays and discards unprocessable messages.
type Messages interface {
	UnprocessableMessages(ctx context.Context, o api.ListOptions) (api.Page[api.UnprocessableMessage], error)
	UnprocessableMessage(ctx context.Context, by audit.Caller, id string) (api.UnprocessableMessage, error)
	Replay(ctx context.Context, by audit.Caller, id, why string) (api.UnprocessableMessage, error)
	Discard(ctx context.Context, by audit.Caller, id, why string) (api.UnprocessableMessage, error)
}

// Notifications lists, adds, tests and removes notification rules.
type Notifications interface {
	NotificationRules(ctx context.Context) (api.Page[api.NotificationRule], error)
	NotificationRule(ctx context.Context, name string) (api.NotificationRule, error)
	AddNotificationRule(ctx context.Context, by audit.Caller, request api.NotificationRequest) (api.NotificationRule, error)
	RemoveNotificationRule(ctx context.Context, by audit.Caller, name, why string) (api.NotificationRule, error)
	TestNotificationRule(ctx context.Context, by audit.Caller, name string) (api.NotificationDelivery, error)
	NotificationDeliveries(ctx context.Context, name string, o api.ListOptions) (api.Page[api.NotificationDelivery], error)
}

// Pipelines starts batches for requests, and tells what became of them.
type Pipelines interface {
	StartPipeline(ctx context.Context, by audit.Caller, name string, r api.PipelineRequest) (api.PipelineBatch, error)
	PipelineBatch(ctx context.Context, name string, batch int) (api.PipelineBatch, error)
	PipelineResult(ctx context.Context, by audit.Caller, name string, batch int) (api.PipelineResult, error)
	LatestResult(ctx context.Context, by audit.Caller, name, owner string) (api.PipelineResult, error)
	Route(ctx context.Context, name, owner string) (api.PipelineRoute, error)
	Routing(ctx context.Context, name string) (api.Routing, error)
	SetRouting(ctx context.Context, by audit.Caller, name, why string, r api.RoutingRequest, tags ...string) (api.Routing, error)
	ReportComparison(ctx context.Context, by audit.Caller, name string, batch int, r api.ComparisonRequest) (api.Comparison, error)
	Comparisons(ctx context.Context, name string) (api.Comparisons, error)
}

// Scaler shows the container scaler, and what its next tick would do.
type Scaler interface {
	ScalerStatus(ctx context.Context) (api.ScalerStatus, error)
	PlanScaling(ctx context.Context) (api.ScalerPlan, error)
}
