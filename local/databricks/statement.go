package databricks

import (
	"fmt"
	"time"
)

// Result is the outcome of a statement and the states on the way to it.
type Result struct {
	Columns []Column
	Rows    [][]any // strings, or nil for NULL
	// ChunkRows is how many rows a chunk has at most; 0: all of them.
	ChunkRows int

	// Pending and Running are for how many status requests the statement waits for
	// the warehouse, and then runs.
	Pending, Running int
	Error            *Error // the statement fails with it
	Closed           bool   // it ends as CLOSED: its result is gone
	// ClosesAtEnd: once its last chunk, or the link to it, was given out, the statement
	// is not known any more. The tutorial says so, the reference does not.
	ClosesAtEnd bool

	// LinkHeaders have to be sent with a request for a chunk.
	LinkHeaders map[string]string
}

// Column is one of the result's. Type is the type_name (LONG); Text is the type_text
// (BIGINT), which is the Type where it is empty.
type Column struct{ Name, Type, Text string }

// Error is why a statement failed. Code is one of the API's error codes, such as
// BAD_REQUEST; SQLState has five characters.
type Error struct{ Code, Message, SQLState string }

// maxInline is the size of result that INLINE can hand out, in bytes.
const maxInline = 25 << 20

type statement struct {
	id        string
	result    Result
	inline    bool
	truncated bool
	canceled  bool
	gone      bool
	polls     int // status requests that were answered
}

// state is how far the statement has come.
func (st *statement) state() string {
	switch {
	case st.canceled:
		return "CANCELED"
	case st.polls < st.result.Pending:
		return "PENDING"
	case st.polls < st.result.Pending+st.result.Running:
		return "RUNNING"
	case st.result.Error != nil:
		return "FAILED"
	case st.result.Closed:
		return "CLOSED"
	default:
		return "SUCCEEDED"
	}
}

func (st *statement) status() map[string]any {
	status := map[string]any{"state": st.state()}
	if e := st.result.Error; e != nil && st.state() == "FAILED" {
		status["error"] = map[string]any{"error_code": e.Code, "message": e.Message}
		if e.SQLState != "" {
			status["sql_state"] = e.SQLState
		}
	}
	return status
}

// chunks are the first row and the end of each chunk. A result without rows has none.
func (st *statement) chunks() (bounds [][2]int) {
	size := st.result.ChunkRows
	if size <= 0 {
		size = max(len(st.result.Rows), 1)
	}
	for first := 0; first < len(st.result.Rows); first += size {
		bounds = append(bounds, [2]int{first, min(first+size, len(st.result.Rows))})
	}
	return bounds
}

func (st *statement) manifest() map[string]any {
	columns := []any{}
	for i, c := range st.result.Columns {
		text := c.Text
		if text == "" {
			text = c.Type
		}
		column := map[string]any{"name": c.Name, "type_text": text, "position": i}
		if c.Type != "" {
			column["type_name"] = c.Type
		}
		columns = append(columns, column)
	}
	manifest := map[string]any{
		"format":            "JSON_ARRAY",
		"schema":            map[string]any{"column_count": len(columns), "columns": columns},
		"total_row_count":   len(st.result.Rows),
		"total_chunk_count": len(st.chunks()),
		"truncated":         st.truncated,
	}
	// Seen of the service: a result without rows has no list of chunks at all.
	if bounds := st.chunks(); len(bounds) > 0 {
		chunks := []any{}
		for n := range bounds {
			chunks = append(chunks, st.describe(n))
		}
		manifest["chunks"] = chunks
	}
	return manifest
}

// describe gives the fields that say which chunk of the result it is.
func (st *statement) describe(n int) map[string]any {
	b := st.chunks()[n]
	return map[string]any{"chunk_index": n, "row_offset": b[0], "row_count": b[1] - b[0]}
}

// data is the result field of an answer: one chunk, in the rows or by a link to them.
func (s *Server) data(st *statement, n int) map[string]any {
	if len(st.chunks()) == 0 {
		return map[string]any{}
	}
	about := st.describe(n)
	last := len(st.chunks()) - 1
	st.gone = st.gone || st.result.ClosesAtEnd && n == last
	if n < last {
		about["next_chunk_index"] = n + 1
		about["next_chunk_internal_link"] = fmt.Sprintf("%s/%s/result/chunks/%d", path, st.id, n+1)
	}
	if st.inline {
		b := st.chunks()[n]
		about["data_array"] = st.result.Rows[b[0]:b[1]]
		return about
	}
	until := s.config.Now().Add(s.config.LinkLife)
	about["external_link"] = s.link(st, n, until)
	about["expiration"] = until.UTC().Format(time.RFC3339Nano)
	about["byte_count"] = len(st.body(n))
	if len(st.result.LinkHeaders) > 0 {
		about["http_headers"] = st.result.LinkHeaders
	}
	return map[string]any{"external_links": []any{about}}
}

// answer is the JSON that execute and get return for the statement.
func (s *Server) answer(st *statement) map[string]any {
	a := map[string]any{"statement_id": st.id, "status": st.status()}
	if st.state() == "SUCCEEDED" {
		a["manifest"] = st.manifest()
		a["result"] = s.data(st, 0)
	}
	return a
}

// start makes the statement that gives the result.
func (s *Server) start(r executeRequest, result Result) *statement {
	s.lastID++
	st := &statement{id: fmt.Sprintf("01f0-%016x", s.lastID), result: result, inline: r.Disposition != "EXTERNAL_LINKS"}
	if r.RowLimit > 0 && len(result.Rows) > r.RowLimit {
		st.result.Rows, st.truncated = result.Rows[:r.RowLimit], true
	}
	if st.inline && size(st.result.Rows) > maxInline {
		st.result.Error = &Error{Code: "BAD_REQUEST", Message: "Inline byte limit exceeded. Statements executed with disposition=INLINE can have a result size of at most 26214400 bytes."}
	}
	if r.WaitTimeout != "0s" && r.OnWaitTimeout == "CANCEL" && result.Pending+result.Running > 0 {
		st.canceled = true
	}
	s.statements[st.id] = st
	return st
}

func size(rows [][]any) (n int) {
	for _, row := range rows {
		for _, v := range row {
			text, _ := v.(string)
			n += len(text)
		}
	}
	return n
}
