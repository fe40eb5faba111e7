package runbook

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

var sourceTypes = []string{SourceDataverse, SourceDatabricks, SourceSQL, SourcePostgres, SourceCSV, SourceGraph}

var columnFormats = []string{FormatSemicolonDelimited, FormatCommaDelimited, FormatJSONArray}

// dataSource reads data_source. A csv source without a connection has no place
// to fetch from: its members are uploaded, its batches are started by hand, and
// so it needs no batch time.
func (p *parser) dataSource(n *yaml.Node, path string) draftSource {
	var ds draftSource
	f, ok := p.object(n, path, sourceObject)
	if !ok {
		return ds
	}
	ds.Type = f.oneOf("type", sourceTypes)
	ds.Connection = f.variable("connection")
	ds.WarehouseID = f.variable("warehouse_id")
	ds.Query = f.text("query")
	ds.PrimaryKey = f.column("primary_key")
	ds.BatchTimeColumn = f.column("batch_time_column")
	ds.BatchTime = f.oneOf("batch_time", []string{BatchTimeImmediate})

	switch ds.Type {
	case SourceDataverse, SourceSQL, SourcePostgres:
		f.require("connection", "query")
	case SourceDatabricks:
		f.require("connection", "query", "warehouse_id")
	}
	if f.has("warehouse_id") && ds.Type != SourceDatabricks && ds.Type != "" {
		p.errorf(f.at("warehouse_id"), f.join("warehouse_id"), CodeBadValue, "is only for databricks")
	}
	f.graph(&ds)
	ds.uploaded = ds.Type == SourceCSV && !f.has("connection")
	f.requireBatchTime(ds)
	ds.TimeZone = f.timeZone("time_zone")
	ds.MultiValued = f.multiValued(ds.DataSource)
	ds.Timeout = f.duration("timeout")
	ds.RemovalGuard = f.percentage("removal_guard")
	ds.AdditionGuard = f.additionGuard("addition_guard")
	f.querying(&ds)
	return ds
}

// requireBatchTime checks that one field says when batches start, if the source makes any.
func (f fields) requireBatchTime(ds draftSource) {
	timed := f.has("batch_time") || f.has("batch_time_column") || f.refused["batch_time"] || f.refused["batch_time_column"]
	switch {
	case f.has("batch_time") && f.has("batch_time_column"):
		f.p.errorf(f.at("batch_time"), f.join("batch_time"), CodeBadValue, "excludes batch_time_column; keep one of the two")
	case !timed && !ds.uploaded && ds.Type != "":
		f.p.errorf(f.pos, f.path, CodeMissingField, `"batch_time_column" or "batch_time" is missing`)
	}
}

// querying checks the fields of the query and sets defaults.
func (f fields) querying(ds *draftSource) {
	if ds.Type == SourceCSV {
		f.idle("query", "has no effect: all rows of a csv are its members")
	}
	if ds.uploaded {
		for _, name := range []string{"time_zone", "timeout", "removal_guard", "addition_guard"} {
			if f.has(name) {
				f.p.errorf(f.at(name), f.join(name), CodeBadValue, "is only for a source that is queried; the members of a csv without a connection are uploaded")
			}
		}
		f.idle("batch_time", "has no effect: you create the batches of a csv without a connection")
		f.idle("batch_time_column", "has no effect: you create the batches of a csv without a connection")
		return
	}
	if f.has("time_zone") && f.has("batch_time") && !f.has("batch_time_column") {
		f.p.errorf(f.at("time_zone"), f.join("time_zone"), CodeBadValue, "is only for the times of a batch_time_column")
	}
	if ds.Timeout > MaxQueryTimeout {
		f.p.errorf(f.at("timeout"), f.join("timeout"), CodeBadValue, "is longer than 8m, the longest time of a query")
	}
	if ds.BatchTime == BatchTimeImmediate {
		f.idle("removal_guard", "has no effect: with batch_time: immediate, a missing row removes no member")
	}
	ds.Timeout = cmp.Or(ds.Timeout, DefaultQueryTimeout)
	ds.RemovalGuard = cmp.Or(ds.RemovalGuard, DefaultRemovalGuard)
	ds.AdditionGuard.Share = cmp.Or(ds.AdditionGuard.Share, DefaultAdditionGuard.Share)
	ds.AdditionGuard.Number = cmp.Or(ds.AdditionGuard.Number, DefaultAdditionGuard.Number)
}

// additionGuard reads an addition guard. A field that is absent is 0.
func (f fields) additionGuard(name string) AdditionGuard {
	n, ok := f.values[name]
	if !ok {
		return AdditionGuard{}
	}
	g, ok := f.p.object(n, f.join(name), additionsObject)
	if !ok {
		return AdditionGuard{}
	}
	if len(g.keys) == 0 {
		f.p.errorf(g.pos, g.path, CodeMissingField, `"share" or "number" is missing`)
	}
	return AdditionGuard{Share: g.percentage("share"), Number: g.count("number", 1, MaxAdditions)}
}

// idle warns of a field that changes nothing, and says why.
func (f fields) idle(name, why string) {
	if f.has(name) {
		f.p.warnf(f.at(name), f.join(name), CodeNoEffect, "%s", why)
	}
}

var (
	environmentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	// What connection strings, URLs and Databricks tokens have and names do not.
	secretLike = regexp.MustCompile(`[=;@]|://|^dapi[0-9a-f]{32}|^eyJ`)
)

// SettingName tells whether a name can be that of a setting, which is an environment
// variable of the handler.
func SettingName(name string) bool { return environmentName.MatchString(name) }

// variable reads a field as the name of an environment variable. What might be a
// secret is never quoted back.
func (f fields) variable(name string) string {
	s := f.text(name)
	switch {
	case s == "":
	case secretLike.MatchString(s) || len(s) > 64:
		f.p.errorf(f.at(name), f.join(name), CodeSecret, "looks like a connection string or a token; put that into an environment variable and give the variable's name here")
		return ""
	case !SettingName(s):
		f.p.errorf(f.at(name), f.join(name), CodeBadConnection, "must be the name of an environment variable: letters, digits and _ only, beginning with a letter or _")
		return ""
	}
	return s
}

// column reads a field as the name of a data column.
func (f fields) column(name string) string {
	s := f.text(name)
	if s == "" {
		return ""
	}
	switch fault := template.CheckName(s); {
	case strings.TrimSpace(s) != s:
		f.p.errorf(f.at(name), f.join(name), CodeBadName, "%q begins or ends with a space", clip(s))
	case fault != nil:
		f.p.errorf(f.at(name), f.join(name), CodeBadName, "%v", fault)
	case strings.HasPrefix(s, "_"):
		f.p.errorf(f.at(name), f.join(name), CodeReservedName, "names that begin with _ are reserved for special variables")
	}
	return s
}

func (f fields) multiValued(ds DataSource) []MultiValued {
	var out []MultiValued
	seen := map[string]int{}
	for i, item := range f.list("multi_valued_columns", "column", 0, maxColumns) {
		g, ok := f.p.object(item, fmt.Sprintf("%s[%d]", f.join("multi_valued_columns"), i), columnObject)
		if !ok {
			continue
		}
		mv := MultiValued{Name: g.column("name"), Format: g.oneOf("format", columnFormats)}
		if line, twice := seen[mv.Name]; twice && mv.Name != "" {
			f.p.errorf(g.at("name"), g.join("name"), CodeDuplicateColumn, "%q is already on line %d", clip(mv.Name), line)
		}
		seen[mv.Name] = g.at("name").line
		if mv.Name != "" && (mv.Name == ds.PrimaryKey || mv.Name == ds.BatchTimeColumn) {
			f.p.errorf(g.at("name"), g.join("name"), CodeBadValue, "%q is the primary key or the batch time, so it holds one value", clip(mv.Name))
		}
		out = append(out, mv)
	}
	return out
}
