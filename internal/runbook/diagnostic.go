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
	CodeAliasLimit       = "alias-limit"                  // aliases expand to too much
	CodeAmbiguousNumber  = "ambiguous-number"             // 0123, 0x1F, 1_000, .5, .nan
	CodeBadConnection    = "bad-connection"               // not the name of an environment variable
	CodeBadDuration      = "bad-duration"                 // not 30s, 15m, 24h, 7d
	CodeBadEncoding      = "bad-encoding"                 // not UTF-8
	CodeBadName          = "bad-name"                     // a name with characters it cannot have
	CodeBadOffset        = "bad-offset"                   // not T-5d, T-4h, T-30m, T-90s, T-0, T+1d
	CodeBadPercent       = "bad-percent"                  // not 20%, 97.5%
	CodeBadTimeOfDay     = "bad-time-of-day"              // not 08:00
	CodeBadTimeZone      = "bad-time-zone"                // not in the IANA database
	CodeBadTemplate      = "bad-template"                 // not {{name}}
	CodeBadType          = "bad-type"                     // a list where text belongs, and the like
	CodeBadValue         = "bad-value"                    // right type, impossible value
	CodeCaseMismatch     = "case-mismatch"                // warning: differs from a known name only by case
	CodeDepthLimit       = "depth-limit"                  // nested too deeply
	CodeDuplicateKey     = "duplicate-key"                // the same key twice in one mapping
	CodeDuplicatePhase   = "duplicate-phase"              // two phases of one name
	CodeDuplicateStep    = "duplicate-step"               // within one list of steps
	CodeDuplicateColumn  = "duplicate-column"             // within multi_valued_columns
	CodeEmpty            = "empty-runbook"                // nothing but blanks and comments
	CodeFileName         = "file-name"                    // warning: a runbook called as a file is
	CodeInitMemberData   = "init-uses-member-data"        // init has no member
	CodeInitOutput       = "init-output"                  // outputs are a member's, init has none
	CodeListInText       = "list-in-text"                 // a multi-valued column amid other text
	CodeMissingField     = "missing-field"                // a required field is absent
	CodeMultipleDocs     = "multiple-documents"           // more than one YAML document
	CodeNestedRollback   = "nested-rollback"              // a rollback cannot be rolled back
	CodeOutputMaybe      = "output-may-be-missing"        // warning: on_member_removed uses an output
	CodeOutputTwice      = "output-twice"                 // warning: two steps write one variable
	CodeNoEffect         = "no-effect"                    // warning: changes nothing in this runbook
	CodePastDue          = "past-due"                     // warning: due before there can be a batch
	CodeNumberAsText     = "number-as-text"               // warning: more digits than a double keeps
	CodeNoPhaseBefore    = "no-phase-before"              // require_success on the first phase
	CodeOnCompleteData   = "on-complete-uses-member-data" // on_complete has no member
	CodeOnCompleteOutput = "on-complete-output"           // an output of on_complete is no member's
	CodePhaseVariable    = "phase-variable"               // {{_phase_members}} and the like outside of on_complete
	CodePhaseOrder       = "phase-order"                  // warning: listed out of the order they fall due
	CodeReservedName     = "reserved-name"                // begins with "_", or a phase called init
	CodeSecret           = "secret-in-runbook"            // a connection string, not the name of one
	CodeSecretPlace      = "secret-place"                 // a secret where everybody reads it
	CodeShadowedColumn   = "shadowed-column"              // an output hides a data column
	CodeSyntax           = "syntax"                       // not YAML
	CodeTab              = "tab"                          // YAML indents with spaces only
	CodeTooLarge         = "too-large"                    // file, list of steps, list of phases
	CodeTooMany          = "too-many-diagnostics"         // the rest is left out
	CodeUnknownField     = "unknown-field"                // a field the format does not have
	CodeUnknownRollback  = "unknown-rollback"             // on_failure names none
	CodeUnknownSecret    = "unknown-secret"               // warning: no step uses or gives it
	CodeUnknownSpecial   = "unknown-special"              // {{_foo}}
	CodeUnquoted         = "unquoted-template"            // {{x}} without quotes is a YAML mapping
	CodeUnresolvable     = "unresolvable-variable"        // an output that no earlier step gives
	CodeUnusedRollback   = "unused-rollback"              // warning
)

// Diagnostic is one finding about a runbook's text.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Path     string   `json:"path"`   // such as phases[0].steps[1].params.Mail; empty for the file
	Line     int      `json:"line"`   // from 1
	Column   int      `json:"column"` // from 1, in characters
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

func (d Diagnostics) sort() {
	slices.SortStableFunc(d, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Message, b.Message))
	})
}
