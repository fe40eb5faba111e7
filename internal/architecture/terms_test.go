package architecture_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode"
)

// replacedTerms are identifiers and phrases that the vocabulary of the project has replaced, with the
// term to use now. Whole words are found. Review the list when a term of the glossary changes.
var replacedTerms = []struct{ old, use string }{
	// The dispatch mode of a batch, which was a gate.
	{"engine.Gate", "model.DispatchMode"},
	{"HeldAt", "PausedAt"},
	{"heldAt", "pausedAt"},
	// Fan-out, which was a walk.
	{"WalkOn", "FanOut"},
	{"PhaseDue.Walk", "PhaseDue.FanOut"},
	{"walked pages", "pages of the fan-out"},
	{"PageBegun", "PageFannedOut"},
	// Cancel, which was a stop. stop_when keeps its name: it pauses.
	{"BatchStopped", "BatchCancelRequested"},
	{"RunStopped", "RunCancelRequested"},
	{"WorkStop", "WorkCancel"},
	// On-complete steps, which were a merge.
	{"KindMerge", "KindOnComplete"},
	{"MergeStatus", "OnCompleteStatus"},
	{"MergeSent", "OnCompleteSent"},
	// Requeue, metrics, heartbeat.
	{"putBack", "requeue"},
	{"PutBack", "Requeue"},
	{"WorkerFigures", "WorkerMetrics"},
	{"LastHeard", "LastSeen"},
	// Unprocessable messages, which were kept.
	{"KeptAt", "StoredAt"},
	{"keptAt", "storedAt"},
	{"FirstKeptAt", "FirstStoredAt"},
	{"firstKeptAt", "firstStoredAt"},
	{"KeptID", "UnprocessableID"},
	{"KeptId", "UnprocessableId"},
	{"UnprocessedMessage", "UnprocessableMessage"},
	{"PartitionUnprocessed", "PartitionUnprocessable"},
	// Discarded removals, which were kept members.
	{"MembersKept", "DiscardedRemovalsChanged"},
	{"keptMembers", "discardedRemovals"},
	// Audit records, which were marks, facts and trails.
	{"model.Mark", "model.Attribution"},
	{"audit.Facts", "audit.State"},
	{"BatchFacts", "BatchState"},
	{"AuditTrail", "AuditRecords"},
	// Idempotency keys, member CSV, TLS roots, limiters.
	{"NamedRequest", "a request with an idempotency key"},
	{"named request", "request with an idempotency key"},
	{"roster", "member CSV"},
	{"Roster", "MemberCSV"},
	{"internal/trust", "internal/tlsroots"},
	{"throttle.Gate", "throttle.Limiter"},
	{"NewGate", "NewLimiter"},
	// Phrases that hide the actor.
	{"whom the API takes", "authentication"},
	{"Whom the API takes", "Authentication"},
	{"bring into line", "synchronize"},
	{"brought into line", "synchronized"},
	{"nothing could be made of", "an unprocessable message"},
}

// notSearched are folders without text of the project: results of tools, stored states, other modules.
var notSearched = []string{".git", "bin", "node_modules", "testdata"}

// TestReplacedTerms checks that no replaced term has come back, in Go files and Markdown pages.
func TestReplacedTerms(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(notSearched, entry.Name()) {
				return fs.SkipDir
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
		for _, term := range replacedTerms {
			for _, at := range wholeWords(text, term.old) {
				t.Errorf("%s:%d: %q was replaced: use %s", path, 1+bytes.Count(text[:at], []byte("\n")), term.old, term.use)
			}
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

// wholeWords returns where a text has a term that no letter or digit precedes or follows.
func wholeWords(text []byte, term string) (places []int) {
	isWord := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || unicode.IsLetter(rune(text[i])) || unicode.IsDigit(rune(text[i])))
	}
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(term))
		if i < 0 {
			return places
		}
		at := from + i
		if from = at + len(term); !isWord(at-1) && !isWord(from) {
			places = append(places, at)
		}
	}
}
