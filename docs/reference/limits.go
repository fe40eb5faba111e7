package reference

import (
	"fmt"
	"go/ast"
	exact "go/constant"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// limit is the size beyond which a program refuses or shortens a payload.
type limit struct {
	Name string
	Dir  string // of the package that owns the limit
	// Constant is the name of the limit there, Unit what it counts.
	Constant, Unit string
	// Error is what the package in Source says, Dir if that is empty: LIMIT stands for the limit, N for
	// the size of what was given and X for anything else. It is empty if nothing fails; Then says
	// what happens.
	Error, Source, Then string

	Value int64
}

// limitGroup is a table of limits.
type limitGroup struct {
	Name   string
	Limits []*limit
}

// limitGroups are all limits. A test provokes each error.
func limitGroups() []limitGroup {
	return []limitGroup{
		{"Runbook", []*limit{
			{Name: "runbook", Dir: "internal/runbook", Constant: "MaxBytes", Unit: "bytes", Error: "the runbook has N bytes; at most LIMIT are allowed"},
			{Name: "phases", Dir: "internal/runbook", Constant: "MaxPhases", Unit: "phases", Error: "has N Xs; at most LIMIT are allowed in one list"},
			{Name: "steps of a list, checks", Dir: "internal/runbook", Constant: "MaxSteps", Unit: "steps", Error: "has N Xs; at most LIMIT are allowed in one list"},
			{Name: "`multi_valued_columns`", Dir: "internal/runbook", Constant: "maxColumns", Unit: "columns", Error: "has N Xs; at most LIMIT are allowed in one list"},
			{Name: "`secret`", Dir: "internal/runbook", Constant: "maxSecrets", Unit: "names", Error: "has N Xs; at most LIMIT are allowed in one list"},
			{Name: "`vars`", Dir: "internal/runbook", Constant: "maxVars", Unit: "constants", Error: "there are N vars; at most LIMIT are allowed"},
			{Name: "workers", Dir: "internal/runbook", Constant: "maxWorkers", Unit: "workers", Error: "is one worker too many; at most LIMIT are allowed in one runbook"},
			{Name: "key in a parameter", Dir: "internal/runbook", Constant: "maxKey", Unit: "bytes", Error: "has a key of N bytes; at most LIMIT are allowed"},
			{Name: "condition", Dir: "internal/runbook/condition", Constant: "MaxText", Unit: "bytes", Error: "the condition has N bytes; at most LIMIT are allowed"},
			{Name: "text after a filter", Dir: "internal/runbook/template", Constant: "maxFiltered", Unit: "bytes", Error: "would have N bytes where at most LIMIT are allowed"},
		}},
		{"Members from a file", []*limit{
			{Name: "file", Dir: "internal/membercsv", Constant: "MaxBytes", Unit: "bytes", Error: "the file has N bytes; at most LIMIT are allowed"},
			{Name: "members of a file", Dir: "internal/membercsv", Constant: "MaxRows", Unit: "members", Error: "more than LIMIT members; split the file into several batches"},
			{Name: "columns", Dir: "internal/membercsv", Constant: "MaxColumns", Unit: "columns", Error: "the header names N columns; at most LIMIT are allowed: remove those that the runbook does not use"},
			{Name: "value", Dir: "internal/membercsv", Constant: "MaxField", Unit: "characters", Error: "column X: N characters; at most LIMIT are allowed"},
			{Name: "row", Dir: "internal/runbook", Constant: "MaxRow", Unit: "bytes", Source: "internal/membercsv", Error: "the row has N bytes; at most LIMIT are allowed"},
			{Name: "key of a member", Dir: "internal/runbook", Constant: "MaxKey", Unit: "characters", Source: "internal/membercsv", Error: "column X: the key has N characters; at most LIMIT are allowed"},
			{Name: "all keys of a file", Dir: "internal/membercsv", Constant: "MaxKeys", Unit: "bytes", Error: "the keys up to this line have more than LIMIT bytes; split the file into several batches"},
			{Name: "members that are added to a batch at once", Dir: "internal/membership", Constant: "maxAdded", Unit: "members", Error: "the CSV has N rows; at most LIMIT people can be added to a batch at once"},
			{Name: "members that are updated at once", Dir: "internal/membership", Constant: "maxAdded", Unit: "members", Error: "the CSV has N rows; at most LIMIT members can be updated at once"},
		}},
		{"Members from a data source", []*limit{
			{Name: "rows of a result", Dir: "internal/datasource", Constant: "MaxRows", Unit: "rows", Error: "the result has more than LIMIT rows; restrict the query, or split the runbook"},
			{Name: "row of a result", Dir: "handler", Constant: "maxSourceRow", Unit: "bytes", Source: "internal/datasource", Error: "row X of the result has N bytes; at most LIMIT are allowed: remove columns that the runbook does not use"},
			{Name: "result", Dir: "internal/datasource", Constant: "MaxBytes", Unit: "bytes", Error: "the result has more than LIMIT bytes from row N on; remove columns that the runbook does not use, or restrict the query"},
			{Name: "used columns of a row", Dir: "internal/runbook", Constant: "MaxRow", Unit: "bytes", Source: "internal/schedule", Error: "the row has N bytes in the columns that the runbook uses; at most LIMIT are allowed"},
			{Name: "key of a member", Dir: "internal/runbook", Constant: "MaxKey", Unit: "characters", Source: "internal/schedule", Error: "the key has N characters; at most LIMIT are allowed"},
			{Name: "row of a CSV file or blob", Dir: "internal/datasource/csvfile", Constant: "maxRecord", Unit: "bytes", Error: "X has more than LIMIT bytes; look for a quotation mark that is not closed"},
			{Name: "Excel file", Dir: "internal/datasource/graph", Constant: "maxWorkbook", Unit: "bytes", Error: "X has N bytes; at most LIMIT are read: remove what the runbook does not use"},
			{Name: "kept row, with the columns that the runbook does not use", Dir: "internal/runbook", Constant: "MaxKeptRow", Unit: "bytes", Then: "unused columns beyond it are not kept"},
		}},
		{"Requests", []*limit{
			{Name: "name of a batch", Dir: "internal/api", Constant: "MaxBatchName", Unit: "characters", Source: "internal/membership", Error: "the X of the batch has N characters; at most LIMIT are allowed"},
			{Name: "owner of a batch", Dir: "internal/api", Constant: "MaxBatchOwner", Unit: "characters", Source: "internal/membership", Error: "the X of the batch has N characters; at most LIMIT are allowed"},
			{Name: "note of a batch", Dir: "internal/api", Constant: "MaxBatchNote", Unit: "characters", Source: "internal/membership", Error: "the X of the batch has N characters; at most LIMIT are allowed"},
			{Name: "moves of members from one batch that are under way", Dir: "internal/engine", Constant: "mostMoves", Unit: "moves", Error: "N moves of members of batch X are under way; at most LIMIT are allowed: move more when members have ended the phases that they are in"},
			{Name: "reason", Dir: "internal/api", Constant: "MaxReason", Unit: "characters", Source: "functions/admin-http", Error: "the reason has N characters; use 1 to LIMIT, without surrounding spaces"},
			{Name: "idempotency key", Dir: "functions/admin-http", Constant: "maxRequestKey", Unit: "bytes", Error: "the header X has N bytes; a key has 1 to LIMIT visible ASCII characters without spaces"},
			{Name: "body with a reason", Dir: "functions/admin-http", Constant: "maxReason", Unit: "bytes", Error: "the request has N bytes; at most LIMIT are allowed"},
			{Name: "body with a result", Dir: "functions/admin-http", Constant: "maxResult", Unit: "bytes", Error: "the request has N bytes; at most LIMIT are allowed"},
			{Name: "token", Dir: "internal/signin", Constant: "maxTokenBytes", Unit: "bytes", Error: "the token has N bytes; at most LIMIT are allowed"},
		}},
		{"Steps", []*limit{
			{Name: "parameters or result of a step", Dir: "internal/model", Constant: "MaxPayload", Unit: "bytes", Source: "internal/engine/runstate", Error: "the size of its X is N bytes; at most LIMIT are allowed"},
			{Name: "parameters with secrets", Dir: "internal/model", Constant: "MaxPayload", Unit: "bytes", Source: "internal/engine/runstate", Error: "the size of its parameters with their secrets is N bytes; at most LIMIT are allowed"},
			{Name: "all steps of one member in one phase", Dir: "internal/model", Constant: "MaxRunPayload", Unit: "bytes", Source: "internal/engine/runstate", Error: "with its X the steps of this phase would take N bytes; at most LIMIT can be stored"},
			{Name: "outputs of a phase", Dir: "internal/model", Constant: "MaxOutputs", Unit: "bytes", Source: "internal/engine/runstate", Error: "the outputs of this phase take N bytes; at most LIMIT can be stored"},
			{Name: "outputs of a member", Dir: "internal/model", Constant: "MaxWorkerData", Unit: "bytes", Source: "internal/engine/runstate", Error: "with its outputs the member would have N bytes of outputs; at most LIMIT can be stored"},
			{Name: "name of a function", Dir: "internal/model", Constant: "MaxReason", Unit: "bytes", Source: "internal/engine/runstate", Error: "the function name has N bytes; at most LIMIT are allowed"},
			{Name: "nesting of a value", Dir: "internal/storable", Constant: "MaxDepth", Unit: "levels", Error: "is nested more than LIMIT levels deep"},
			{Name: "error of a step", Dir: "internal/model", Constant: "MaxReason", Unit: "bytes", Then: "it is shortened"},
			{Name: "result that `batch mark-done` gives a step", Dir: "internal/api", Constant: "MaxResult", Unit: "bytes", Source: "internal/engine/runstate", Error: "the size of its X is N bytes; at most LIMIT are allowed"},
		}},
		{"Messages and workers", []*limit{
			{Name: "message in the tier Standard, with properties", Dir: "internal/bus", Constant: "MaxMessage", Unit: "bytes", Error: "X: the body of X for X has N bytes; a message can have LIMIT with its properties"},
			{Name: "answer of a function", Dir: "worker/dispatch", Constant: "maxAnswer", Unit: "bytes", Error: "the answer has N bytes; at most LIMIT are allowed"},
			{Name: "results in one message", Dir: "internal/message", Constant: "MaxResults", Unit: "results", Then: "the next result begins another message"},
			{Name: "message of a worker's error", Dir: "worker/dispatch", Constant: "maxMessage", Unit: "bytes", Then: "it is shortened"},
			{Name: "catalogue of a worker", Dir: "internal/message", Constant: "Limit", Unit: "bytes", Source: "internal/workers", Error: "the catalogue has N bytes; at most LIMIT are allowed"},
			{Name: "functions of a worker", Dir: "internal/workers", Constant: "maxFunctions", Unit: "functions", Error: "the catalogue has N functions; 1 to LIMIT are allowed"},
			{Name: "parameters or fields of a function", Dir: "internal/workers", Constant: "maxParameters", Unit: "of each", Error: "the function X has N parameters or fields; at most LIMIT of each are allowed"},
			{Name: "heartbeat", Dir: "internal/message", Constant: "Limit", Unit: "bytes", Source: "internal/workers", Error: "the heartbeat has N bytes; at most LIMIT are allowed"},
			{Name: "jobs in a heartbeat", Dir: "internal/message", Constant: "MaxHeartbeatJobs", Unit: "jobs", Error: "the heartbeat lists N jobs; at most LIMIT are allowed"},
			{Name: "manifest of a custom function", Dir: "worker/custom", Constant: "maxManifest", Unit: "bytes", Error: "the manifest has more than LIMIT bytes"},
			{Name: "answer of a custom function", Dir: "worker/custom", Constant: "MaxAnswer", Unit: "bytes", Error: "the answer has more than LIMIT bytes; the process was killed"},
		}},
		{"Store", []*limit{
			{Name: "document, or transaction", Dir: "internal/store", Constant: "MaxBytes", Unit: "bytes", Error: "X: N bytes; at most LIMIT are allowed in one document, and in one transaction"},
			{Name: "operations of a transaction", Dir: "internal/store", Constant: "MaxOperations", Unit: "operations", Error: "X: N operations; at most LIMIT are allowed"},
			{Name: "body of an unprocessable message", Dir: "internal/sealing", Constant: "MaxBody", Unit: "bytes", Then: "the rest is not kept, and the message cannot be replayed"},
		}},
	}
}

func readLimits(root string) (any, error) {
	groups := limitGroups()
	for _, group := range groups {
		for _, l := range group.Limits {
			if err := l.read(root); err != nil {
				return nil, fmt.Errorf("limit of %s: %w", l.Name, err)
			}
		}
	}
	return groups, nil
}

// read takes the value from the source, and checks that the source has the error.
func (l *limit) read(root string) error {
	value, err := constantIn(root, l.Dir, l.Constant)
	if err != nil {
		return err
	}
	var whole bool
	if l.Value, whole = exact.Int64Val(value); !whole || l.Value <= 0 {
		return fmt.Errorf("%s of %s is %s", l.Constant, l.Dir, value)
	}
	if l.Error == "" {
		return nil
	}
	dir := l.Source
	if dir == "" {
		dir = l.Dir
	}
	files, err := readSource(root, dir)
	if err != nil {
		return err
	}
	found, want := false, placeholders.ReplaceAllString(l.Error, "*")
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				found = found || err == nil && verbs.ReplaceAllString(text, "*") == want
			}
			return !found
		})
	}
	if !found {
		return fmt.Errorf("%s has no such error: %s", dir, l.Error)
	}
	return nil
}

var (
	verbs        = regexp.MustCompile(`%[dsqvw]`)
	placeholders = regexp.MustCompile(`\bLIMIT\b|\bN\b|X`)
)

// constantIn evaluates a constant of a package: literals, names of the package or of another one
// below internal, and their sums, products and shifts.
func constantIn(root, dir, name string) (exact.Value, error) {
	files, err := readSource(root, dir)
	if err != nil {
		return nil, err
	}
	var expression ast.Expr
	for _, file := range files {
		for _, declaration := range file.Decls {
			block, ok := declaration.(*ast.GenDecl)
			if !ok || block.Tok != token.CONST {
				continue
			}
			for _, spec := range block.Specs {
				c := spec.(*ast.ValueSpec)
				if i := slices.IndexFunc(c.Names, func(n *ast.Ident) bool { return n.Name == name }); i >= 0 && i < len(c.Values) {
					expression = c.Values[i]
				}
			}
		}
	}
	if expression == nil {
		return nil, fmt.Errorf("%s has no constant %s", dir, name)
	}
	return evaluate(root, dir, expression)
}

func evaluate(root, dir string, e ast.Expr) (exact.Value, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return exact.MakeFromLiteral(e.Value, e.Kind, 0), nil
	case *ast.Ident:
		return constantIn(root, dir, e.Name)
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok {
			return constantIn(root, "internal/"+of.Name, e.Sel.Name)
		}
	case *ast.BinaryExpr:
		x, err := evaluate(root, dir, e.X)
		if err != nil {
			return nil, err
		}
		y, err := evaluate(root, dir, e.Y)
		if err != nil {
			return nil, err
		}
		switch e.Op {
		case token.SHL:
			n, _ := exact.Uint64Val(y)
			return exact.Shift(x, token.SHL, uint(n)), nil
		case token.QUO:
			return exact.BinaryOp(x, token.QUO_ASSIGN, y), nil
		case token.ADD, token.SUB, token.MUL:
			return exact.BinaryOp(x, e.Op, y), nil
		}
	}
	return nil, fmt.Errorf("%s: the limit has an expression that the reference does not know", dir)
}

// Size is the limit with its unit.
func (l *limit) Size() string {
	if l.Unit == "bytes" {
		for _, u := range []struct {
			bytes int64
			name  string
		}{{1 << 20, "MiB"}, {1 << 10, "KiB"}} {
			if l.Value >= u.bytes && l.Value%u.bytes == 0 {
				return fmt.Sprintf("%d %s", l.Value/u.bytes, u.name)
			}
		}
	}
	return grouped(l.Value) + " " + l.Unit
}

// Effect gives the consequence of exceeding the limit: the error, or Then.
func (l *limit) Effect() string {
	if l.Error == "" {
		return l.Then
	}
	text := strings.NewReplacer("LIMIT", strconv.FormatInt(l.Value, 10)).Replace(l.Error)
	return "`" + regexp.MustCompile(`\bN\b|X`).ReplaceAllString(text, "…") + "`"
}

// grouped writes a number with commas.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
