package runbook

import (
	"cmp"
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

// Request says what a request may bring that starts a batch, and how long the batch stays.
type Request struct {
	MaxItems int
	Expires  time.Duration // after the end of the batch
}

// IsRequested reports whether requests start the batches of the runbook, each with its items.
func (r *Runbook) IsRequested() bool { return r.Request != nil }

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
}

var itemsObject = Object{
	Name: "items", Doc: "What a request brings that starts a batch: a list of items, each of which becomes a member.",
	Fields: []Field{
		{"primary_key", true, "The field that identifies an item in its request.", columnForm()},
		{"max", false, "The most items of one request: 1 to 10000. Default: `500`.", countForm(1, MaxItems)},
		{"expires", false, "How long a batch that has ended stays, with its results: at least `15m`. Default: `1d`.", durationForm()},
		{"multi_valued_columns", false, "A list of at most 500 fields that hold lists.", list(columnObject.form(), 0, maxColumns)},
	},
}
