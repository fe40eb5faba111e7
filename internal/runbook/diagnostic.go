package runbook

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Severity tells whether a diagnostic stops a runbook from being used.
type Severity string

// A runbook with an error is refused; one with warnings only is accepted.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Diagnostic codes. They are stable: messages may change, these do not.
const (
	CodeAliasLimit       = "alias-limit"                  // aliases and vars expand to more than 400,000 values
	CodeAmbiguousNumber  = "ambiguous-number"             // a number can be read in more than one way, such as 0123, 0x1F, 1_000, .5 or .nan
	CodeBadCondition     = "bad-condition"                // `when` is not a condition, or compares values of different types
	CodeBadConnection    = "bad-connection"               // `connection` or `warehouse_id` is not the name of an environment variable
	CodeBadDuration      = "bad-duration"                 // not like 30s, 15m, 24h or 7d, or longer than 3650 days
	CodeBadEncoding      = "bad-encoding"                 // the file is not UTF-8
	CodeBadName          = "bad-name"                     // a name contains invalid characters, or is too long
	CodeBadOffset        = "bad-offset"                   // not like T-5d, T-4h, T-30m, T-90s, T-0 or T+1d
	CodeBadPercent       = "bad-percent"                  // not like 95%, or out of range
	CodeBadTimeOfDay     = "bad-time-of-day"              // not like "08:00"
	CodeBadTimeZone      = "bad-time-zone"                // not in the IANA database
	CodeBadTemplate      = "bad-template"                 // braces that do not form `{{name}}`, or an unknown or incomplete filter
	CodeBadType          = "bad-type"                     // the wrong type: a list instead of text, a field without a value, a number that needs quotes
	CodeBadValue         = "bad-value"                    // the type is right, but the value is invalid, by itself or together with another field
	CodeCache            = "cache"                        // the `cache` of a step cannot be used: where it is, with what is beside it, or by the variables in its key
	CodeCaseMismatch     = "case-mismatch"                // a variable differs from a known one only by case, and so is a separate column
	CodeCurlyQuotes      = "curly-quotes"                 // a value begins with a quote of a word processor
	CodeDepthLimit       = "depth-limit"                  // a parameter is nested more than 32 deep
	CodeDollarTemplate   = "dollar-template"              // `${{name}}`, as other programs write templates
	CodeDetached         = "detached"                     // a step outside of `on_complete` is detached, or a step is behind a detached one, or uses a secret output of a step before it
	CodeDuplicateKey     = "duplicate-key"                // a field or key occurs twice in one mapping
	CodeDuplicatePhase   = "duplicate-phase"              // two phases have the same name
	CodeDuplicateStep    = "duplicate-step"               // two steps of one list have the same name
	CodeDuplicateColumn  = "duplicate-column"             // a column occurs twice in multi_valued_columns, or a name twice in secret
	CodeEmpty            = "empty-runbook"                // the file is empty
	CodeFileName         = "file-name"                    // the runbook's name ends like a file name
	CodeFilterType       = "filter-type"                  // a filter needs text and gets a list, or the other way round
	CodeIndent           = "indent"                       // the indentation of a line fits no line above it
	CodeItemSource       = "item-source"                  // the `source` of the items uses data of a member
	CodeInitMemberData   = "init-uses-member-data"        // a step of init, or of a rollback that init calls, uses data of a member
	CodeInitOutput       = "init-output"                  // a step of init, or of a rollback that init calls, has output_params
	CodeListInText       = "list-in-text"                 // a multi-valued column stands within other text
	CodeLongRetry        = "long-retry"                   // a delay of retry is longer than 24h, or max_retries is more than 100
	CodeMissingField     = "missing-field"                // a required field is missing
	CodeMultipleDocs     = "multiple-documents"           // a --- starts a second YAML document
	CodeNearMiss         = "near-miss"                    // a variable is no output, and has nearly the name of one
	CodeNestedRollback   = "nested-rollback"              // a step of a rollback has on_failure
	CodeOutputMaybe      = "output-may-be-missing"        // `on_member_removed` uses an output that some members do not have yet, or a step uses one of a step that its `when` may skip
	CodeOutputTwice      = "output-twice"                 // two steps write the same variable
	CodeNoEffect         = "no-effect"                    // the field changes nothing in this runbook
	CodePastDue          = "past-due"                     // with batch_time: immediate, an offset before the start
	CodeNumberAsText     = "number-as-text"               // a number has more digits than JSON numbers keep (about 15 to 17), so the function receives text; put it in quotes
	CodeNoPhaseBefore    = "no-phase-before"              // `require_success` on the first phase
	CodeOnCompleteData   = "on-complete-uses-member-data" // `on_complete`, or a rollback that it calls, uses data of a member
	CodeOnCompleteOutput = "on-complete-output"           // a member's step uses an output of on_complete
	CodePhaseVariable    = "phase-variable"               // a count such as `{{_phase_failed}}` outside of `on_complete`
	CodePhaseOrder       = "phase-order"                  // a phase is listed after one that is due later
	CodeReservedName     = "reserved-name"                // a name begins with _, or a phase is called init or checks, or items where these have a source
	CodeSecret           = "secret-in-runbook"            // a connection string or token instead of the name of a variable
	CodeSecretPlace      = "secret-place"                 // a secret is the primary key, the batch time or a multi-valued column, a column whose values the `source` of the items lists, the display column or part of a function's name, or a filter or a condition uses it
	CodeShadowedColumn   = "shadowed-column"              // an output or one of the `vars` has the name of a column, or a var that of an output
	CodeSyntax           = "syntax"                       // not YAML
	CodeTab              = "tab"                          // a line is indented with a tab
	CodeTooLarge         = "too-large"                    // the file or a list exceeds a limit
	CodeTooMany          = "too-many-diagnostics"         // more than 200 findings; the rest is left out
	CodeUnknownField     = "unknown-field"                // the format has no such field
	CodeUnknownName      = "unknown-name"                 // a condition or `display` uses a column that nothing else uses, and whose name is close to one that something does
	CodeUnknownRollback  = "unknown-rollback"             // `on_failure` names no rollback
	CodeUnknownSecret    = "unknown-secret"               // `secret` lists a name that no step uses or writes
	CodeUnknownSpecial   = "unknown-special"              // a variable begins with _ and is not a special variable
	CodeUnquoted         = "unquoted-template"            // `{{name}}` without quotes, which YAML reads as a mapping
	CodeUnresolvable     = "unresolvable-variable"        // an output is used before the step that writes it
	CodeUnusedVar        = "unused-var"                   // nothing uses one of the `vars`
	CodeWorkerCase       = "worker-case"                  // the id of a worker differs from another one only in case
	CodeUnusedRollback   = "unused-rollback"              // no step calls the rollback
)

// Diagnostic is one finding about a runbook's text.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Path     string   `json:"path"`   // such as phases[0].steps[1].params.Mail; empty for the file
	Line     int      `json:"line"`   // from 1
	Column   int      `json:"column"` // from 1, in characters
	// AlwaysFails is set where no call of the step, or no query of the data source, can
	// succeed, also for want of a worker.
	AlwaysFails bool `json:"alwaysFails,omitempty"`
}

// String is the diagnostic on one line, position first.
func (d Diagnostic) String() string {
	where := ""
	if d.Path != "" {
		where = d.Path + ": "
	}
	return fmt.Sprintf("%d:%d: %s: %s%s [%s]", d.Line, d.Column, d.Severity, where, d.Message, d.Code)
}

// Diagnostics is everything found in one text, sorted by position.
type Diagnostics []Diagnostic

// HasErrors tells whether the runbook is refused.
func (d Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(d, func(d Diagnostic) bool { return d.Severity == SeverityError })
}

// Err is nil when nothing is worse than a warning, and otherwise an error that
// lists every error, one a line.
func (d Diagnostics) Err() error {
	var lines []string
	for _, d := range d {
		if d.Severity == SeverityError {
			lines = append(lines, d.String())
		}
	}
	if lines == nil {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Errors are the findings that are errors.
func (d Diagnostics) Errors() Diagnostics {
	return slices.DeleteFunc(slices.Clone(d), func(d Diagnostic) bool { return d.Severity != SeverityError })
}

// First returns the findings that an answer shows: all, or the first 200, the errors before the warnings,
// and how many others there are.
func (d Diagnostics) First() Diagnostics {
	if len(d) <= maxDiagnostics {
		return d
	}
	first := slices.Clone(d)
	slices.SortStableFunc(first, func(a, b Diagnostic) int { return cmp.Compare(a.rank(), b.rank()) })
	last := first[maxDiagnostics] // what is left out is an error where this is one
	first = first[:maxDiagnostics]
	first.Sort()
	return append(first, Diagnostic{
		Severity: last.Severity, Code: CodeTooMany, Path: last.Path, Line: last.Line, Column: last.Column,
		Message: fmt.Sprintf("there are %d more findings, which are left out", len(d)-maxDiagnostics),
	})
}

func (d Diagnostic) rank() int {
	if d.Severity == SeverityError {
		return 0
	}
	return 1
}

// Sort sorts by position.
func (d Diagnostics) Sort() {
	slices.SortStableFunc(d, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Message, b.Message))
	})
}
