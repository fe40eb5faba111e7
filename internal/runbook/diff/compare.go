package diff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Compare returns the changes from a runbook to a newer one. Phases are
// the same phase by name, and steps by name within their list, as they are for the
// engine; a step that is in another phase now is removed from one and added to the
// other.
func Compare(old, newer *runbook.Runbook) Changes {
	c := &comparison{}
	c.field("name", old.Name, newer.Name)
	c.field("description", old.Description, newer.Description)
	c.request(old.Request, newer.Request)
	c.source(old.DataSource, newer.DataSource)
	c.quietHours(old.QuietHours, newer.QuietHours)
	c.retry("retry", old.Retry, newer.Retry)
	c.field("display", old.Display, newer.Display)
	c.field("secret", strings.Join(old.Secret, ", "), strings.Join(newer.Secret, ", "))
	c.steps("checks", old.Checks, newer.Checks)
	c.steps("init", old.Init, newer.Init)
	c.phases(old.Phases, newer.Phases)
	c.steps("on_member_removed", old.OnMemberRemoved, newer.OnMemberRemoved)
	c.rollbacks(old.Rollbacks, newer.Rollbacks)
	return c.found
}

type comparison struct{ found Changes }

// field notes a field whose value, as text, is empty where it is absent.
func (c *comparison) field(path, from, to string) {
	kind := Changed
	switch {
	case from == to:
		return
	case from == "":
		kind = Added
	case to == "":
		kind = Removed
	}
	c.found = append(c.found, Change{Kind: kind, Path: path, From: from, To: to})
}

// request notes the limits of requests. A runbook that has none of them has a data source.
func (c *comparison) request(from, to *runbook.Request) {
	if from == nil || to == nil {
		c.field("trigger", triggerText(from), triggerText(to))
		return
	}
	c.field("items.max", strconv.Itoa(from.MaxItems), strconv.Itoa(to.MaxItems))
	c.field("items.expires", durationText(from.Expires), durationText(to.Expires))
	c.itemSource(from.Source, to.Source)
}

// itemSource notes the changes of the function that lists the items.
func (c *comparison) itemSource(from, to *runbook.ItemSource) {
	const path = "items.source"
	list := func(s *runbook.ItemSource) (all []runbook.ItemSource) {
		if s != nil {
			all = append(all, *s)
		}
		return all
	}
	for _, p := range pair(list(from), list(to), func(s runbook.ItemSource) string { return s.Name }) {
		if whole(c, path, p, func(s runbook.ItemSource) string { return stepText(s.Step) }) {
			c.step(path, p.from.Step, p.to.Step)
			c.field(path+".output", p.from.Output, p.to.Output)
		}
	}
}

func triggerText(r *runbook.Request) string {
	if r == nil {
		return ""
	}
	return runbook.TriggerRequest
}

func (c *comparison) source(from, to runbook.DataSource) {
	path := "data_source."
	if from.Type == runbook.SourceRequest && to.Type == from.Type {
		path = "items."
	}
	c.field(path+"type", from.Type, to.Type)
	c.field(path+"connection", from.Connection, to.Connection)
	c.field(path+"warehouse_id", from.WarehouseID, to.WarehouseID)
	c.field(path+"query", from.Query, to.Query)
	c.graph(from.Graph, to.Graph)
	c.field(path+"primary_key", from.PrimaryKey, to.PrimaryKey)
	c.field(path+"batch_time_column", from.BatchTimeColumn, to.BatchTimeColumn)
	c.field(path+"batch_time", from.BatchTime, to.BatchTime)
	c.field(path+"time_zone", from.TimeZone, to.TimeZone)
	for _, p := range pair(from.MultiValued, to.MultiValued, func(m runbook.MultiValued) string { return m.Name }) {
		c.field(path+"multi_valued_columns["+p.name+"]", p.from.Format, p.to.Format)
	}
	c.field(path+"timeout", durationText(from.Timeout), durationText(to.Timeout))
	c.field(path+"removal_guard", percentText(from.RemovalGuard), percentText(to.RemovalGuard))
	c.field(path+"addition_guard", guardText(from.AdditionGuard), guardText(to.AdditionGuard))
}

// graph compares the people of a graph source.
func (c *comparison) graph(from, to *runbook.Graph) {
	const path = "data_source."
	if from == nil || to == nil {
		c.field(path+"people", graphText(from), graphText(to))
		return
	}
	c.field(path+"groups", strings.Join(from.Groups, ", "), strings.Join(to.Groups, ", "))
	c.field(path+"users", from.Users, to.Users)
	if from.List == nil || to.List == nil {
		c.field(path+"list", listText(from.List), listText(to.List))
	} else {
		c.field(path+"list.site", from.List.Site, to.List.Site)
		c.field(path+"list.name", from.List.Name, to.List.Name)
		c.field(path+"list.filter", from.List.Filter, to.List.Filter)
	}
	if from.Workbook == nil || to.Workbook == nil {
		c.field(path+"workbook", workbookText(from.Workbook), workbookText(to.Workbook))
	} else {
		c.field(path+"workbook.site", from.Workbook.Site, to.Workbook.Site)
		c.field(path+"workbook.library", from.Workbook.Library, to.Workbook.Library)
		c.field(path+"workbook.path", from.Workbook.Path, to.Workbook.Path)
		c.field(path+"workbook.sheet", from.Workbook.Sheet, to.Workbook.Sheet)
	}
	for _, p := range pair(from.Columns, to.Columns, func(g runbook.GraphColumn) string { return g.Name }) {
		c.field(path+"columns."+p.name, p.from.Property, p.to.Property)
	}
}

func (c *comparison) quietHours(from, to *runbook.QuietHours) {
	if from == nil || to == nil {
		c.field("quiet_hours", quietHoursText(from), quietHoursText(to))
		return
	}
	c.field("quiet_hours.time_zone", from.TimeZone, to.TimeZone)
	c.field("quiet_hours.windows", windowsText(from.Windows), windowsText(to.Windows))
}

func (c *comparison) retry(path string, from, to *runbook.Retry) {
	if from == nil || to == nil {
		c.field(path, retryText(from), retryText(to))
		return
	}
	c.field(path+".max_retries", strconv.Itoa(from.MaxRetries), strconv.Itoa(to.MaxRetries))
	c.field(path+".interval", durationText(from.Interval), durationText(to.Interval))
	c.field(path+".backoff", backoffText(from), backoffText(to))
	c.field(path+".max_interval", durationText(from.MaxInterval), durationText(to.MaxInterval))
	c.field(path+".jitter", percentText(float64(from.Jitter)), percentText(float64(to.Jitter)))
}

func (c *comparison) poll(path string, from, to *runbook.Poll) {
	if from == nil || to == nil {
		c.field(path, pollText(from), pollText(to))
		return
	}
	c.field(path+".interval", durationText(from.Interval), durationText(to.Interval))
	c.field(path+".timeout", durationText(from.Timeout), durationText(to.Timeout))
}

func (c *comparison) cache(path string, from, to *runbook.Cache) {
	if from == nil || to == nil {
		c.field(path, cacheText(from), cacheText(to))
		return
	}
	c.field(path+".key", from.Key, to.Key)
	c.field(path+".ttl", durationText(from.TTL), durationText(to.TTL))
}

func (c *comparison) phases(from, to []runbook.Phase) {
	for _, p := range pair(from, to, func(p runbook.Phase) string { return p.Name }) {
		path := "phases[" + p.name + "]"
		if !whole(c, path, p, phaseText) {
			continue
		}
		c.field(path+".offset", p.from.Offset.String(), p.to.Offset.String())
		c.field(path+".when", p.from.When.String(), p.to.When.String())
		c.field(path+".approval", approvalText(p.from), approvalText(p.to))
		c.field(path+".require_success", percentText(p.from.RequireSuccess), percentText(p.to.RequireSuccess))
		c.field(path+".stop_when.failed", p.from.StopWhen.String(), p.to.StopWhen.String())
		c.steps(path+".steps", p.from.Steps, p.to.Steps)
		c.steps(path+".on_complete", p.from.OnComplete, p.to.OnComplete)
	}
}

func (c *comparison) rollbacks(from, to map[string][]runbook.Step) {
	for _, name := range keys(from, to) {
		path := "rollbacks[" + name + "]"
		before, was := from[name]
		after, is := to[name]
		if was && is {
			c.steps(path, before, after)
			continue
		}
		c.field(path, stepsText(before), stepsText(after))
	}
}

func (c *comparison) steps(list string, from, to []runbook.Step) {
	for _, p := range pair(from, to, func(s runbook.Step) string { return s.Name }) {
		path := list + "[" + p.name + "]"
		if whole(c, path, p, stepText) {
			c.step(path, p.from, p.to)
		}
	}
}

func (c *comparison) step(path string, from, to runbook.Step) {
	c.field(path+".worker_id", from.WorkerID, to.WorkerID)
	c.field(path+".function", from.Function, to.Function)
	c.field(path+".when", from.When.String(), to.When.String())
	c.params(path+".params", from.Params, to.Params)
	for _, name := range keys(from.OutputParams, to.OutputParams) {
		c.field(path+".output_params."+name, from.OutputParams[name], to.OutputParams[name])
	}
	c.field(path+".on_failure", from.OnFailure, to.OnFailure)
	c.poll(path+".poll", from.Poll, to.Poll)
	c.retry(path+".retry", from.Retry, to.Retry)
	c.field(path+".timeout", durationText(from.Timeout), durationText(to.Timeout))
	c.field(path+".require", flagText(from.Require), flagText(to.Require))
	c.cache(path+".cache", from.Cache, to.Cache)
	c.field(path+".detached", flagText(from.Detached), flagText(to.Detached))
}

// params compares parameters, and those within them, by name. A list is one value.
func (c *comparison) params(path string, from, to map[string]any) {
	for _, name := range keys(from, to) {
		before, was := from[name]
		after, is := to[name]
		inner, mapped := before.(map[string]any)
		if newer, both := after.(map[string]any); mapped && both && len(inner) > 0 && len(newer) > 0 {
			c.params(path+"."+name, inner, newer)
			continue
		}
		var texts [2]string
		if was {
			texts[0] = valueText(before)
		}
		if is {
			texts[1] = valueText(after)
		}
		c.field(path+"."+name, texts[0], texts[1])
	}
}

// whole notes what became of a phase or a step as a whole. It tells whether there is
// one in both runbooks, so that their fields can be compared.
func whole[T any](c *comparison, path string, p paired[T], text func(T) string) bool {
	switch p.kind {
	case Added:
		c.found = append(c.found, Change{Kind: Added, Path: path, To: text(p.to)})
		return false
	case Removed:
		c.found = append(c.found, Change{Kind: Removed, Path: path, From: text(p.from)})
		return false
	case Moved:
		c.found = append(c.found, Change{Kind: Moved, Path: path, From: p.wasAfter, To: p.isAfter})
	}
	return true
}

// keys are the names that either has, sorted.
func keys[V any](from, to map[string]V) []string {
	all := slices.Concat(slices.Collect(maps.Keys(from)), slices.Collect(maps.Keys(to)))
	slices.Sort(all)
	return slices.Compact(all)
}

// The texts of values, as the format writes them; empty for none.

func phaseText(p runbook.Phase) string { return p.Offset.String() + ", " + stepsText(p.Steps) }

func stepText(s runbook.Step) string { return s.Function + " on " + s.WorkerID }

func stepsText(steps []runbook.Step) string {
	switch len(steps) {
	case 0:
		return ""
	case 1:
		return "1 step"
	}
	return fmt.Sprintf("%d steps", len(steps))
}

func retryText(r *runbook.Retry) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("max_retries %d", r.MaxRetries)
	for _, part := range []struct{ name, value string }{
		{"interval", durationText(r.Interval)},
		{"backoff", r.Backoff},
		{"max_interval", durationText(r.MaxInterval)},
		{"jitter", percentText(float64(r.Jitter))},
	} {
		if part.value != "" {
			text += ", " + part.name + " " + part.value
		}
	}
	return text
}

// backoffText is how the waits grow, also where it is left to the default.
func backoffText(r *runbook.Retry) string { return cmp.Or(r.Backoff, runbook.BackoffFixed) }

func pollText(p *runbook.Poll) string {
	if p == nil {
		return ""
	}
	return "interval " + durationText(p.Interval) + ", timeout " + durationText(p.Timeout)
}

func cacheText(p *runbook.Cache) string {
	if p == nil {
		return ""
	}
	return "key " + p.Key + ", ttl " + durationText(p.TTL)
}

func quietHoursText(q *runbook.QuietHours) string {
	if q == nil {
		return ""
	}
	return windowsText(q.Windows) + " " + q.TimeZone
}

func windowsText(windows []runbook.Window) string {
	all := make([]string, len(windows))
	for i, w := range windows {
		all[i] = w.String()
	}
	return strings.Join(all, ", ")
}

func approvalText(p runbook.Phase) string {
	switch {
	case p.Approval && p.SecondApprover:
		return runbook.ApprovalSecondPerson
	case p.Approval:
		return runbook.ApprovalRequired
	}
	return ""
}

func flagText(set bool) string {
	if set {
		return "true"
	}
	return ""
}

func percentText(share float64) string {
	if share == 0 {
		return ""
	}
	return humanize.Percent(share)
}

func guardText(g runbook.AdditionGuard) string {
	if g == (runbook.AdditionGuard{}) {
		return ""
	}
	return fmt.Sprintf("{share: %s, number: %d}", percentText(g.Share), g.Number)
}

// graphText says where the people of a graph source are.
func graphText(g *runbook.Graph) string {
	switch {
	case g == nil:
		return ""
	case len(g.Groups) > 0:
		return "groups " + strings.Join(g.Groups, ", ")
	case g.Users != "":
		return "users " + g.Users
	case g.List != nil:
		return listText(g.List)
	}
	return workbookText(g.Workbook)
}

func listText(l *runbook.GraphList) string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf("list %q of %s", l.Name, l.Site)
}

func workbookText(w *runbook.GraphWorkbook) string {
	if w == nil {
		return ""
	}
	return fmt.Sprintf("workbook %q of %s", w.Path, w.Site)
}

// durationText writes a duration in its largest whole unit.
func durationText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return ""
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// valueText is a parameter's value as JSON.
func valueText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v) // Parse gives nothing that JSON does not have
	}
	return strings.TrimSpace(b.String())
}
