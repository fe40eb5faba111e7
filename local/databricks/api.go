package databricks

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const path = "/api/2.0/sql/statements"

// executeRequest is the body of execute.
type executeRequest struct {
	Statement     string `json:"statement"`
	Warehouse     string `json:"warehouse_id"`
	Catalog       string `json:"catalog"`
	Schema        string `json:"schema"`
	Disposition   string `json:"disposition"`
	Format        string `json:"format"`
	WaitTimeout   string `json:"wait_timeout"`
	OnWaitTimeout string `json:"on_wait_timeout"`
	RowLimit      int    `json:"row_limit"`
}

func (s *Server) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+path, s.handle(Execute, s.execute))
	// The reference writes the address without the last slash, older examples with it.
	mux.HandleFunc("POST "+path+"/{$}", s.handle(Execute, s.execute))
	mux.HandleFunc("GET "+path+"/{id}", s.handle(Get, s.get))
	mux.HandleFunc("GET "+path+"/{id}/result/chunks/{chunk}", s.handle(Chunk, s.chunk))
	mux.HandleFunc("POST "+path+"/{id}/cancel", s.handle(Cancel, s.cancel))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, "ENDPOINT_NOT_FOUND", "No API found for '"+r.Method+" "+r.URL.Path+"'")
	})
	return mux
}

// refusal is an answer that is an error.
type refusal struct {
	status        int
	code, message string
}

// handle records a request, applies faults and checks authentication, for all
// operations.
func (s *Server) handle(op Operation, carryOut func(r *http.Request, body []byte) (map[string]any, *refusal)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
		if err != nil {
			fail(w, http.StatusBadRequest, "BAD_REQUEST", "The body of the request cannot be read")
			return
		}
		chunk, _ := strconv.Atoi(r.PathValue("chunk"))
		seen := Request{Operation: op, Statement: r.PathValue("id"), Chunk: chunk, Authorized: r.Header.Get("Authorization") != "", At: s.config.Now()}
		if op == Execute {
			seen.Body = string(body)
		}
		s.record.add(seen)
		fault := s.faults.strike(op)
		if fault.before(w) {
			return
		}
		if no := s.signedIn(r); no != nil {
			fail(w, no.status, no.code, no.message)
			return
		}
		answer, no := carryOut(r, body)
		if no != nil {
			fail(w, no.status, no.code, no.message)
			return
		}
		b, err := json.Marshal(answer)
		if err != nil {
			panic(err) // maps, strings and numbers
		}
		fault.send(w, r, b)
	}
}

func (s *Server) signedIn(r *http.Request) *refusal {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return &refusal{http.StatusUnauthorized, "401", "Credential was not sent or was of an unsupported type for this API."}
	}
	if s.config.VerifyToken == nil || s.config.VerifyToken(token) != nil {
		return &refusal{http.StatusUnauthorized, "401", "Invalid access token."}
	}
	return nil
}

func (s *Server) execute(_ *http.Request, body []byte) (map[string]any, *refusal) {
	var r executeRequest
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, badRequest("Could not parse request object: " + err.Error())
	}
	if no := r.check(); no != nil {
		return nil, no
	}
	if !s.hasWarehouse(r.Warehouse) {
		return nil, &refusal{http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST", "SQL warehouse " + r.Warehouse + " does not exist"}
	}
	result := s.config.Run(Query{Statement: r.Statement, Warehouse: r.Warehouse, Catalog: r.Catalog, Schema: r.Schema})
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.start(r, result)
	if r.WaitTimeout == "0s" {
		// The call does not wait: it says PENDING of every statement.
		return map[string]any{"statement_id": st.id, "status": map[string]any{"state": "PENDING"}}, nil
	}
	return s.answer(st), nil
}

var waitTimeout = regexp.MustCompile(`^(0|[5-9]|[1-4][0-9]|50)s$`)

func (r *executeRequest) check() *refusal {
	switch {
	case strings.TrimSpace(r.Statement) == "":
		return badRequest("statement is required")
	case r.Warehouse == "":
		return badRequest("warehouse_id is required")
	case !slices.Contains([]string{"", "INLINE", "EXTERNAL_LINKS"}, r.Disposition):
		return badRequest("disposition is not one of INLINE, EXTERNAL_LINKS")
	case r.Format != "" && r.Format != "JSON_ARRAY":
		return badRequest("format " + r.Format + " is not supported here")
	case r.WaitTimeout != "" && !waitTimeout.MatchString(r.WaitTimeout):
		return badRequest("wait_timeout must be 0s or between 5s and 50s")
	case !slices.Contains([]string{"", "CONTINUE", "CANCEL"}, r.OnWaitTimeout):
		return badRequest("on_wait_timeout is not one of CONTINUE, CANCEL")
	case r.RowLimit < 0:
		return badRequest("row_limit is negative")
	}
	return nil
}

func (s *Server) get(r *http.Request, _ []byte) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.statements[r.PathValue("id")]
	if !ok || st.gone {
		return nil, noStatement(r)
	}
	answer := s.answer(st)
	st.polls++
	return answer, nil
}

func (s *Server) chunk(r *http.Request, _ []byte) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.statements[r.PathValue("id")]
	if !ok || st.gone {
		return nil, noStatement(r)
	}
	n, err := strconv.Atoi(r.PathValue("chunk"))
	switch {
	case st.state() != "SUCCEEDED":
		return nil, badRequest("The statement " + st.id + " is in the state " + st.state() + " and has no result")
	case err != nil || n < 0 || n >= len(st.chunks()):
		return nil, badRequest("The chunk index " + r.PathValue("chunk") + " is out of range")
	}
	return s.data(st, n), nil
}

// cancel asks for the end of a statement. As in the service, the answer does not say
// whether there was anything to end.
func (s *Server) cancel(r *http.Request, _ []byte) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.statements[r.PathValue("id")]
	if !ok || st.gone {
		return nil, noStatement(r)
	}
	if state := st.state(); state == "PENDING" || state == "RUNNING" {
		st.canceled = true
	}
	return map[string]any{}, nil
}

func noStatement(r *http.Request) *refusal {
	return &refusal{http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST", "The statement " + r.PathValue("id") + " was not found"}
}

func badRequest(message string) *refusal {
	return &refusal{http.StatusBadRequest, "INVALID_PARAMETER_VALUE", message}
}

// fail answers an error in the form of the workspace's APIs.
func fail(w http.ResponseWriter, status int, code, message string) {
	if code == "" {
		code = map[int]string{
			403: "PERMISSION_DENIED", 404: "RESOURCE_DOES_NOT_EXIST", 429: "RESOURCE_EXHAUSTED",
			500: "INTERNAL_ERROR", 503: "TEMPORARILY_UNAVAILABLE",
		}[status]
	}
	if message == "" {
		message = http.StatusText(status)
	}
	answer := map[string]any{"error_code": code, "message": message}
	// Without authentication the code is a number.
	if n, err := strconv.Atoi(code); err == nil {
		answer["error_code"] = n
	}
	b, _ := json.Marshal(answer)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b)
}
