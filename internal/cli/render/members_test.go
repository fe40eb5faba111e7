package render_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// TestMembersHaveANoteOfCorrectionsAndMoves: who moved to another batch was not removed by the data source.
func TestMembersHaveANoteOfCorrectionsAndMoves(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 3, 1, 18, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		member   api.Member
		has, not string
	}{
		{api.Member{RemovedAt: &at, MovedTo: &at}, "moved to the batch of 2030-03-01 18:00:00Z", "the data source"},
		{api.Member{RemovedAt: &at}, "the data source", "moved"},
		{api.Member{MovedFrom: 3, Overrides: map[string]api.Override{"Upn": {}, "Guid": {}}}, "moved from batch 3; corrected: Guid, Upn", "the data source"},
		{api.Member{Status: api.MemberFailed}, "failed", "note"},
	} {
		var out bytes.Buffer
		p := render.Printer{Stdout: &out, Format: render.FormatCSV}
		if err := p.MemberTable(tt.member).Print(); err != nil {
			t.Fatal(err)
		}
		if _, row, _ := strings.Cut(out.String(), "\n"); !strings.Contains(row, tt.has) || strings.Contains(row, tt.not) {
			t.Errorf("%s\nwant %q, not %q", out.String(), tt.has, tt.not)
		}
	}
}
