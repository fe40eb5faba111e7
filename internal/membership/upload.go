package membership

import (
	"context"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/store"
)

// uploadRequest is a request that carries a member CSV.
type uploadRequest struct {
	by        audit.Caller
	partition string   // of its idempotency record
	about     []string // identifies the request, with the content of the file
	runbook   string
	version   func(context.Context) (int, error) // of the runbook, for a request that is new
	csv       membercsv.File
	options   api.UploadOptions
	outcome   string // of a CSV with problems, for the caller: "no batch was created"
}

// upload is an uploadRequest whose file was read without a problem.
type upload struct {
	by      audit.Caller
	record  store.Item[store.IdempotencyRecord] // without an ETag where none is stored
	runbook *runbook.Runbook
	membercsv.Members
	shared  bool               // the people may be in other batches
	details model.BatchDetails // of a new batch
}

// repeats reports whether the request was received before.
func (u *upload) repeats() bool { return u.record.ETag != "" }

func (u *upload) keys() []string {
	keys := make([]string, len(u.Rows))
	for i, row := range u.Rows {
		keys[i] = row.Key
	}
	return keys
}

// newcomers gives the people of the file.
func (u *upload) newcomers() []Newcomer {
	people := make([]Newcomer, len(u.Rows))
	for i, row := range u.Rows {
		people[i] = Newcomer{Key: row.Key, Data: row.Data}
	}
	return people
}

// lines gives the line of each key in the file.
func (u *upload) lines() map[string]int {
	lines := make(map[string]int, len(u.Rows))
	for _, row := range u.Rows {
		lines[row.Key] = row.Line
	}
	return lines
}

// checkSize refuses a file that is too large, before anything is read. Errors: CodeTooLarge.
func checkSize(csv membercsv.File) error {
	if csv.Size() > membercsv.MaxBytes {
		return problem.New(api.CodeTooLarge, "the file has %d bytes; at most %d are allowed", csv.Size(), membercsv.MaxBytes)
	}
	return nil
}

// readUpload finds the idempotency record of a request, or prepares one, and reads the file by
// the version of the runbook that the record names. Errors: CodeInvalid with every bad row,
// CodeKeyReused.
func (r *Registrar) readUpload(ctx context.Context, request uploadRequest) (*upload, error) {
	content, err := uploadDigest(request)
	if err != nil {
		return nil, err
	}
	u := &upload{by: request.by, shared: request.options.AllowInOtherBatches}
	if u.record, err = r.idempotency.Find(ctx, request.by, request.partition, content); err != nil {
		return nil, err
	}
	if !u.repeats() {
		version, err := request.version(ctx)
		if err != nil {
			return nil, err
		}
		u.record.Doc = store.IdempotencyRecord{By: request.by.Name, At: r.now().UTC(), Version: version}
	}
	if u.runbook, err = r.runbooks.Load(ctx, request.runbook, u.record.Doc.Version); err != nil {
		return nil, err
	}
	if u.runbook.IsRequested() {
		return nil, problem.New(api.CodeConflict, "runbook %q has trigger: request: requests start its batches and bring their items", request.runbook)
	}
	if !u.repeats() {
		if u.record.Doc.Content, err = r.sealer.ContentDigest(ctx, u.runbook, content); err != nil {
			return nil, err
		}
	}
	o := membercsv.Options{Delimiter: request.options.Delimiter}
	if !u.repeats() { // else the values were checked before, and their batch may exist
		if o.Rules, err = r.ColumnRules(ctx, u.runbook); err != nil {
			return nil, err
		}
	}
	if u.Members, err = membercsv.Read(request.csv, u.runbook, o); err != nil {
		return nil, err
	}
	if bad := u.Problems; len(bad) > 0 {
		message := fmt.Sprintf("the CSV has %s; %s", humanize.Count(len(bad), "problem"), request.outcome)
		return nil, &problem.Error{Code: api.CodeInvalid, Message: message, Problems: csvProblems(bad)}
	}
	return u, nil
}

// ColumnRules returns what the functions of a runbook require of the members' columns, by what its
// workers announced.
func (r *Registrar) ColumnRules(ctx context.Context, rb *runbook.Runbook) (lint.ColumnRules, error) {
	known, err := r.functions(ctx, rb.Workers())
	if err != nil {
		return nil, err
	}
	return known.ColumnRules(rb), nil
}

// uploadDigest identifies the content of a request.
func uploadDigest(request uploadRequest) (string, error) {
	file, err := idempotency.FileDigest(request.csv)
	if err != nil {
		return "", err
	}
	content := idempotency.Digest(append(request.about, file)...)
	if request.options.AllowInOtherBatches {
		content = idempotency.Digest(content, "shared")
	}
	if request.options.Delimiter != "" {
		content = idempotency.Digest(content, request.options.Delimiter)
	}
	return content, nil
}

func csvProblems(bad []membercsv.Problem) []api.InputProblem {
	out := make([]api.InputProblem, len(bad))
	for i, p := range bad {
		out[i] = api.InputProblem{Line: p.Line, Column: p.Column, Field: p.Field, Code: p.Code, Message: p.Message}
	}
	return out
}
