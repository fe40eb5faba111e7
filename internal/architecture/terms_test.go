package architecture_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// replacedTerms are identifiers and phrases that the vocabulary of the project has replaced, with the
// term to use now. A regular expression matches whole words unless it says otherwise. Review the list
// when a term of the glossary changes.
var replacedTerms = []struct{ old, use string }{
	// The dispatch mode of a batch, which was a gate.
	{`engine\.Gate`, "model.DispatchMode"},
	{`HeldAt`, "PausedAt"},
	{`heldAt`, "pausedAt"},
	// Fan-out, which was a walk.
	{`WalkOn`, "a fan-out that continues"},
	{`[Ww]alkedPages?`, "fan-out"},
	{`PhaseDue\.Walk`, "PhaseDue.FanOut"},
	{`PageBegun`, "PageFannedOut"},
	// Cancel, which was a stop. stop_when keeps its name: it pauses.
	{`BatchStopped`, "BatchCancelRequested"},
	{`RunStopped`, "RunCancelRequested"},
	{`WorkStop`, "WorkCancel"},
	// On-complete steps, which were a merge.
	{`KindMerge`, "KindOnComplete"},
	{`Merge(Status|Sent|Ended)`, "OnComplete…"},
	// Requeue, metrics, heartbeat.
	{`putBack`, "requeue"},
	{`PutBack`, "Requeue"},
	{`WorkerFigures|figuresExporter`, "metrics"},
	{`lastHeard|heardOf`, "last heartbeat"},
	// Unprocessable messages, which were kept.
	{`KeptAt|FirstKeptAt|keptAt|firstKeptAt`, "storedAt"},
	{`KeptID|KeptId`, "UnprocessableID"},
	{`UnprocessedMessage`, "UnprocessableMessage"},
	{`PartitionUnprocessed`, "PartitionUnprocessable"},
	// Audit records, which were marks, facts and trails.
	{`model\.Mark`, "model.Attribution"},
	{`(Batch|Phase|Member|Message|Active|Hold)Facts`, "audit.…State"},
	{`AuditTrail`, "AuditRecords"},
	// Idempotency keys, member CSV, TLS roots, limiters.
	{`named request|NamedRequest`, "request with an idempotency key"},
	{`[Rr]oster`, "member CSV"},
	{`internal/trust`, "internal/tlsroots"},
	{`throttle\.(New)?Gate|NewGate`, "throttle.Limiter"},
	// Phrases that hide the actor.
	{`(?i)whom the API takes`, "authentication"},
	{`(?i)brought? into line`, "synchronized, synced"},
	{`(?i)what nothing could be made of`, "unprocessable message"},
}

// notSearched are folders without text of the project: results of tools, stored states, other modules.
var notSearched = []string{".git", "bin", "node_modules", "testdata"}

// TestReplacedTerms checks that no replaced term has come back, in Go files and Markdown pages.
func TestReplacedTerms(t *testing.T) {
	t.Parallel()
	var all []string
	for _, term := range replacedTerms {
		all = append(all, term.old)
	}
	find := regexp.MustCompile(`\b(?:` + strings.Join(all, "|") + `)\b`)
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			for _, name := range notSearched {
				if entry.Name() == name {
					return fs.SkipDir
				}
			}
			return nil
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".md" || entry.Name() == "terms_test.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, at := range find.FindAllIndex(text, -1) {
			found := string(text[at[0]:at[1]])
			t.Errorf("%s:%d: %q was replaced: use %s", path, 1+strings.Count(string(text[:at[0]]), "\n"), found, useFor(found))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were searched", files)
	}
}

// useFor returns the term that replaces a text that was found.
func useFor(found string) string {
	for _, term := range replacedTerms {
		if regexp.MustCompile(`^(?:` + term.old + `)$`).MatchString(found) {
			return term.use
		}
	}
	return "the term of the glossary"
}
