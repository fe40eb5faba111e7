package admin

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/report"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// Report is a report on a batch that is ready to be written.
type Report struct {
	Name  string // of a file with the report
	Media string
	// Write reads the members and writes the report, once. It has no more than some pages of members in
	// memory at a time. After an error the report is incomplete.
	Write func(context.Context, io.Writer) error
}

// Report prepares a report on the members of a batch, step by step. It has the batch and its phases as
// they are now, and each member as it is when Write reads it: a batch that is under way does not wait for
// its report. It leaves out phase executions that begin after it. It records first that the caller reads
// the report. Errors: CodeInvalid for an unknown format, CodeNotFound, CodeUnavailable; of Write also the
// writer's.
func (a *Admin) Report(ctx context.Context, by audit.Caller, id int, format report.Format) (Report, error) {
	if !slices.Contains(report.Formats, format) {
		return Report{}, problem.New(api.CodeInvalid, "invalid report format %q: use %s or %s", format, report.CSV, report.HTML)
	}
	r := &reporting{admin: a, format: format, head: report.Batch{AsOf: a.now().UTC()}}
	if err := r.begin(ctx, id); err != nil {
		return Report{}, err
	}
	if err := a.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadReport, Batch: id}); err != nil {
		return Report{}, err
	}
	return Report{
		Name:  fmt.Sprintf("batch-%d-%s.%s", id, r.head.AsOf.Format("20060102T150405Z"), format),
		Media: format.Media(),
		Write: r.write,
	}, nil
}

// reporting writes one report.
type reporting struct {
	admin  *Admin
	format report.Format
	batch  model.Batch
	secret []string // columns that are not shown
	head   report.Batch
}

// reportBuffer is how many bytes are buffered, so that an error about the first members comes before
// anything is sent.
const reportBuffer = 64 << 10

// begin reads the batch and its phases.
func (r *reporting) begin(ctx context.Context, id int) error {
	item, err := r.admin.applier.ReadBatch(ctx, id)
	if err != nil {
		return err
	}
	r.batch = item.Doc
	b := &r.batch
	if r.secret, err = r.admin.runbooks.SecretsOf(ctx, b); err != nil {
		return err
	}
	r.head = report.Batch{
		ID: b.ID, Name: apiview.Batch(*b, r.head.AsOf).Name, Owner: b.Owner, Display: b.Display != "", Runbook: b.Runbook, Version: b.Version, Status: string(b.Status), Notes: reportNotes(b), CreatedBy: b.CreatedBy,
		Start: b.StartTime, Completed: b.CompletedAt, Members: b.Members - b.Removed, Removed: b.Removed, Failed: b.Failed(), AsOf: r.head.AsOf,
	}
	if r.head.Checks, err = r.checks(ctx); err != nil {
		return err
	}
	if r.head.Columns, err = r.columns(ctx); err != nil {
		return err
	}
	for _, p := range b.Phases {
		view := apiview.Phase(p)
		if err := r.admin.countMembers(ctx, b, p, &view); err != nil {
			return err
		}
		phase := report.Phase{
			Name: p.Name, Status: view.Status, Note: view.Reason, Due: p.DueAt, Ended: p.CompletedAt, Members: view.Members,
			Succeeded: view.Succeeded, Failed: view.Failed, Cancelled: view.Cancelled, Running: view.Running, Waiting: view.Waiting,
		}
		steps, err := r.steps(ctx, p)
		if err != nil {
			return err
		}
		for _, s := range steps {
			phase.Steps = append(phase.Steps, s.Name)
			phase.Undoes = phase.Undoes || s.OnFailure != ""
		}
		r.head.Phases = append(r.head.Phases, phase)
	}
	return nil
}

// columns names the columns of the rows of the first members, and those that the runbook uses, in order.
func (r *reporting) columns(ctx context.Context) ([]string, error) {
	if r.format != report.CSV {
		return nil, nil
	}
	rb, err := r.admin.runbooks.Load(ctx, r.batch.Runbook, r.batch.Version)
	if err != nil {
		return nil, err
	}
	first, err := r.admin.store.MembersOfPage(ctx, r.batch.ID, 1, "")
	if err != nil {
		return nil, err
	}
	names := rb.Columns()
	for _, m := range first {
		names = slices.AppendSeq(names, maps.Keys(m.Doc.Data))
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// checks names the checks that the batch has, and counts the members by their results; nil where it has
// none.
func (r *reporting) checks(ctx context.Context) (*report.Checks, error) {
	counts, err := r.admin.members.CountChecks(ctx, &r.batch)
	if err != nil || counts == nil {
		return nil, err
	}
	rb, err := r.admin.runbooks.Load(ctx, r.batch.Runbook, r.batch.Version)
	if err != nil {
		return nil, err
	}
	return &report.Checks{Names: checkNames(rb), Passed: counts.Passed, Failed: counts.Failed, Running: counts.Running, NotRun: counts.NotRun}, nil
}

// steps gives the steps that a phase execution has for each member.
func (r *reporting) steps(ctx context.Context, p model.Phase) ([]runbook.Step, error) {
	if p.Kind != model.KindPhase && p.Kind != model.KindRemoval {
		return nil, nil
	}
	rb, err := r.admin.runbooks.Load(ctx, r.batch.Runbook, p.Version)
	if err != nil {
		return nil, err
	}
	if p.Kind == model.KindRemoval {
		return rb.OnMemberRemoved, nil
	}
	phase, ok := rb.Phase(p.Name)
	if !ok {
		return nil, fmt.Errorf("batch %d: version %d of runbook %s has no phase %s", r.batch.ID, p.Version, rb.Name, p.Name)
	}
	return phase.Steps, nil
}

// reportNotes gives the notes on a batch: its error, who paused and cancelled it, its removal hold.
func reportNotes(b *model.Batch) []string {
	var notes []string
	add := func(did string, m *model.Attribution) {
		if m == nil {
			return
		}
		note := fmt.Sprintf("%s by %s on %s", did, m.By, m.At.UTC().Format("2006-01-02 15:04:05Z"))
		if m.Why != "" {
			note += ": " + m.Why
		}
		notes = append(notes, note)
	}
	if b.Note != "" {
		notes = append(notes, "Note: "+b.Note)
	}
	if b.Error != "" {
		notes = append(notes, b.Error)
	}
	add("Paused", b.Paused)
	add("Cancelled", b.Cancelled)
	if b.Filling {
		notes = append(notes, "The batch is still being created: some members are missing here.")
	}
	if b.RemovalHold != nil {
		notes = append(notes, fmt.Sprintf("The removal of %d of %d members is held.", b.RemovalHold.Members, b.RemovalHold.Of))
	}
	return notes
}

// write writes the report, the failed members first where the format wants that.
func (r *reporting) write(ctx context.Context, to io.Writer) error {
	out := bufio.NewWriterSize(to, reportBuffer)
	w, err := report.New(r.format, out, r.head)
	if err != nil {
		return err
	}
	written := make([]bool, r.batch.Members+1) // by member id: a member whose status changes is written once
	if r.format.FailedFirst() {
		if err := r.writeFailed(ctx, w, written); err != nil {
			return err
		}
	}
	for page := 1; page <= r.batch.PageCount(); page++ {
		if err := r.writePage(ctx, w, written, page, ""); err != nil {
			return err
		}
	}
	if err := w.Close(r.admin.now()); err != nil {
		return err
	}
	return out.Flush()
}

// writeFailed writes the failed members, from the pages that have any.
func (r *reporting) writeFailed(ctx context.Context, w report.Writer, written []bool) error {
	found, err := r.admin.store.FailedMembers(ctx, r.batch.ID)
	if err != nil {
		return err
	}
	pages := make([]bool, r.batch.PageCount()+1)
	for _, f := range found {
		if f.Page < len(pages) { // else the page was added since
			pages[f.Page] = true
		}
	}
	for page, has := range pages {
		if !has {
			continue
		}
		if err := r.writePage(ctx, w, written, page, model.MemberFailed); err != nil {
			return err
		}
	}
	return nil
}

// writePage writes the members of one page that were not written before; with a status, only members
// with it.
func (r *reporting) writePage(ctx context.Context, w report.Writer, written []bool, page int, status model.MemberStatus) error {
	at := r.admin.now().UTC()
	members, err := r.admin.store.MembersOfPage(ctx, r.batch.ID, page, status)
	if err != nil {
		return err
	}
	members = slices.DeleteFunc(members, func(m store.Item[model.Member]) bool { return m.Doc.ID >= len(written) || written[m.Doc.ID] })
	if len(members) == 0 {
		return nil
	}
	runs, err := r.admin.store.RunsOfPage(ctx, r.batch.ID, page, store.RunSelection{LastPhase: len(r.batch.Phases)})
	if err != nil {
		return err
	}
	byMember := map[int][]report.Run{}
	for _, run := range runs {
		workers, err := r.admin.workers.ReadRecords(ctx, &run.Doc)
		if err != nil {
			return err
		}
		rb, err := r.admin.runbooks.Load(ctx, run.Doc.Runbook, run.Doc.Version)
		if err != nil {
			return err
		}
		view, err := reportRun(rb, &run.Doc, r.head.Phases[run.Doc.Phase-1].Steps, workers, at)
		if err != nil {
			return err
		}
		byMember[run.Doc.Member] = append(byMember[run.Doc.Member], view)
	}
	checks, err := r.checksOfPage(ctx, page)
	if err != nil {
		return err
	}
	for _, m := range members {
		written[m.Doc.ID] = true
		v := apiview.Member(&r.batch, m.Doc, r.secret)
		if err := w.Member(report.Member{
			ID: v.ID, Key: v.Key, Display: v.Display, Status: v.Status, Phase: v.Phase, FailedIn: v.FailedIn, FailedStep: v.FailedStep, Error: v.Error,
			AddedAt: v.AddedAt, FailedAt: v.FailedAt, RemovedAt: v.RemovedAt, RemovedBy: v.RemovedBy, Checks: checks[v.ID], Runs: byMember[v.ID], Data: v.Data, ReadAt: at,
		}); err != nil {
			return err
		}
	}
	return nil
}

// checksOfPage gives the last results of the checks of the members of one page, by member.
func (r *reporting) checksOfPage(ctx context.Context, page int) (map[int][]report.Check, error) {
	if r.head.Checks == nil {
		return nil, nil
	}
	runs, err := r.admin.store.RunsOfPage(ctx, r.batch.ID, page, store.RunSelection{Phase: model.CheckPhase})
	if err != nil {
		return nil, err
	}
	byMember := map[int][]report.Check{}
	for _, run := range runs {
		views, err := r.admin.checksOfRun(ctx, &r.batch, &run.Doc)
		if err != nil {
			return nil, err
		}
		for _, v := range views {
			byMember[v.MemberID] = append(byMember[v.MemberID], report.Check{Name: v.Name, Status: v.Status, Error: v.Error})
		}
	}
	return byMember, nil
}

// reportRun gives a run as the report shows it, with the status of each of the steps that its phase
// has there. A run that went over to another version has a status only where that version has the step.
func reportRun(rb *runbook.Runbook, run *model.Run, steps []string, workers map[string]workers.Record, now time.Time) (report.Run, error) {
	out := report.Run{Phase: run.Phase - 1, Status: string(run.Status), Ended: run.EndedAt, Steps: make([]string, len(steps))}
	for i, s := range run.Steps {
		status := apiview.StepStatus(run, i, workers, now)
		definition, err := run.Definition(rb, i)
		if err != nil {
			return out, err
		}
		if s.Rollback == "" {
			if at := slices.Index(steps, definition.Name); at >= 0 {
				out.Steps[at] = status
			}
			continue
		}
		out.Undone = append(out.Undone, report.Undone{Sequence: s.Rollback, Step: definition.Name, Status: status})
	}
	return out, nil
}
