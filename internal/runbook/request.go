package runbook

import (
	"cmp"
	"strings"
	"time"
)

// TriggerRequest is the one value of trigger: a request starts each batch, and brings its items.
const TriggerRequest = "request"

// Limits of a request, and what a runbook has that does not say.
const (
	MaxItems        = 10_000
	DefaultMaxItems = 500
	DefaultExpires  = 24 * time.Hour
	// MinExpires is longer than messages about the last jobs of a batch are under way.
	MinExpires = 15 * time.Minute
)

// ItemsName is the name under which the source of a batch's items is shown among the phases.
const ItemsName = "items"

// Request says which items a batch has that a request starts, and how long the batch stays.
type Request struct {
	MaxItems int
	Expires  time.Duration // after the end of the batch
	Source   *ItemSource   // nil: the request brings the items
}

// ItemSource is the call of a function that lists the items of a batch.
type ItemSource struct {
	Step          // without a condition, a rollback, a cache and outputs
	Output string // the field of the result that has the list
}

// IsRequested reports whether requests start the batches of the runbook, each with its items.
func (r *Runbook) IsRequested() bool { return r.Request != nil }

// ListsItems reports whether a function lists the items of a batch that a request starts.
func (r *Runbook) ListsItems() bool { return r.Request != nil && r.Request.Source != nil }

// request reads the trigger of the runbook and the items of its requests. Other runbooks have a data
// source instead.
func (p *parser) request(f fields, d *draft) {
	trigger := f.oneOf("trigger", []string{TriggerRequest})
	switch {
	case trigger == "" && f.has("items") && !f.refused["trigger"]:
		p.errorf(f.at("items"), f.join("items"), CodeBadValue, "is only for a runbook with trigger: request")
	case trigger == "":
		f.require("data_source")
	case f.has("data_source"):
		p.errorf(f.at("data_source"), f.join("data_source"), CodeBadValue, "excludes trigger: request, whose items come with the request")
	}
	if trigger == "" {
		return
	}
	f.require("items")
	d.request = &Request{MaxItems: DefaultMaxItems, Expires: DefaultExpires}
	n, ok := f.values["items"]
	if !ok {
		return
	}
	g, ok := p.object(n, f.join("items"), itemsObject)
	if !ok {
		return
	}
	d.source = draftSource{DataSource: DataSource{Type: SourceRequest, PrimaryKey: g.column("primary_key"), BatchTime: BatchTimeImmediate}}
	d.source.MultiValued = g.multiValued(d.source.DataSource)
	d.request.MaxItems = cmp.Or(g.count("max", 1, MaxItems), DefaultMaxItems)
	if d.request.Expires = cmp.Or(g.duration("expires"), DefaultExpires); d.request.Expires < MinExpires {
		p.errorf(g.at("expires"), g.join("expires"), CodeBadValue, "must be at least 15m")
	}
	p.itemSource(g, d)
}

// itemSource reads the call that lists the items.
func (p *parser) itemSource(f fields, d *draft) {
	n, ok := f.values["source"]
	if !ok {
		return
	}
	s, g, ok := p.call(n, f.join("source"), itemSourceObject)
	if !ok {
		return
	}
	s.Name, s.pos = ItemsName, g.pos
	output := g.text("output")
	if strings.Contains(output, "{{") {
		p.errorf(g.at("output"), g.join("output"), CodeBadValue, "must be a field of the result, not a template")
	}
	d.request.Source, d.lister = &ItemSource{Step: s.Step, Output: output}, &s
}

// itemSource checks the variables of the call that lists the items: no member exists yet. What it lists is
// in its result, which is stored as it is.
func (v *validator) itemSource() {
	if v.d.lister == nil {
		return
	}
	for _, u := range v.d.lister.uses {
		if !v.special(u, false) {
			v.p.errorf(u.pos, u.path, CodeItemSource, "{{%s}} belongs to a member, but the source lists the items before there are members; use only %s", clip(u.variable), specialVariables)
		}
	}
	for _, s := range v.d.secret {
		if _, isOutput := v.outputs[s.variable]; !isOutput && v.batchOutputs[s.variable].variable == "" {
			v.p.errorf(s.pos, s.path, CodeSecretPlace, "%q is a column whose values a function lists, and its result is visible to every reader", clip(s.variable))
		}
	}
}

var itemsObject = Object{
	Name: "items", Doc: "The items of a batch that a request starts. Each becomes a member. The request brings them, or the `source` lists them.",
	Fields: []Field{
		{"primary_key", true, "The field that identifies an item in its batch.", columnForm()},
		{"source", false, "The call of a function that lists the items. Without it each request brings them. See [Let a function list the items](../write-a-runbook.md#let-a-function-list-the-items).", itemSourceObject.form()},
		{"max", false, "The most items of one batch: 1 to 10000. Default: `500`.", countForm(1, MaxItems)},
		{"expires", false, "How long a batch that has ended stays, with its results: at least `15m`. Default: `1d`.", durationForm()},
		{"multi_valued_columns", false, "A list of at most 500 fields that hold lists.", list(columnObject.form(), 0, maxColumns)},
	},
}

var itemSourceObject = Object{
	Name: "items.source", Doc: "One call of a worker's function, before there are members. Requests then have no items.",
	Fields: []Field{
		{"worker_id", true, "As in a step.", either(matching(workerID), Form{"type": "string", "pattern": `\{\{`})},
		{"function", true, "As in a step.", either(matching(functionName), Form{"type": "string", "pattern": `\{\{`})},
		{"params", false, "As in a step. They use `{{_batch_owner}}`, `{{_batch_id}}`, `{{_batch_start_time}}` and `{{_batch_shadow}}` only.", named(Form{"minLength": 1, "maxLength": maxKey}, Form{})},
		{"output", true, "The field of the function's result that has the list: objects with a field for each column, 1 to `max` of them. The result has at most 128 KiB.", both(text(), Form{"not": Form{"pattern": `\{\{`}})},
		{"poll", false, "As in a step.", pollObject.form()},
		{"retry", false, "As in a step. A list that is refused is not requested again.", retryObject.form()},
		{"timeout", false, "As in a step.", durationForm()},
	},
}
