package databricks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// link is a pre-signed address of a chunk. The names of the parameters are those of a
// shared access signature: se is the end of its time, sig the signature.
func (s *Server) link(st *statement, chunk int, until time.Time) string {
	address := fmt.Sprintf("/results/%s/%d", st.id, chunk)
	end := until.UTC().Format(time.RFC3339Nano)
	age := strconv.Itoa(s.linkAge)
	q := url.Values{"se": {end}, "age": {age}, "sig": {s.sign(address, end, age)}}
	return s.linkURL + address + "?" + q.Encode()
}

func (s *Server) sign(parts ...string) string {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(strings.Join(parts, "\n")))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// body is a chunk as it lies in the storage: compact JSON.
func (st *statement) body(chunk int) []byte {
	b := st.chunks()[chunk]
	body, err := json.Marshal(st.result.Rows[b[0]:b[1]])
	if err != nil {
		panic(err) // strings and nil
	}
	return body
}

// download answers a presigned link, as the storage does: a request needs no
// authentication and must not send any.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/results/")
	id, number, _ := strings.Cut(rest, "/")
	chunk, err := strconv.Atoi(number)
	s.record.add(Request{Operation: Download, Statement: id, Chunk: chunk, Authorized: r.Header.Get("Authorization") != "", At: s.config.Now()})
	fault := s.faults.strike(Download)
	if fault.before(w) {
		return
	}
	s.mu.Lock()
	st, age := s.statements[id], strconv.Itoa(s.linkAge)
	s.mu.Unlock()
	q := r.URL.Query()
	end, bad := time.Parse(time.RFC3339Nano, q.Get("se"))
	switch {
	case !ok || err != nil || st == nil || chunk < 0 || chunk >= len(st.chunks()):
		storageError(w, http.StatusNotFound, "BlobNotFound")
	case r.Method != http.MethodGet:
		storageError(w, http.StatusMethodNotAllowed, "UnsupportedHttpVerb")
	case r.Header.Get("Authorization") != "":
		storageError(w, http.StatusBadRequest, "InvalidAuthenticationInfo")
	case !hmac.Equal([]byte(q.Get("sig")), []byte(s.sign(r.URL.Path, q.Get("se"), q.Get("age")))):
		storageError(w, http.StatusForbidden, "AuthenticationFailed")
	case bad != nil || !s.config.Now().Before(end) || q.Get("age") != age:
		storageError(w, http.StatusForbidden, "AuthenticationFailed")
	default:
		for name, value := range st.result.LinkHeaders {
			if r.Header.Get(name) != value {
				storageError(w, http.StatusBadRequest, "MissingRequiredHeader")
				return
			}
		}
		fault.send(w, r, st.body(chunk))
	}
}

// storageError answers an error in the form of Azure Storage.
func storageError(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("x-ms-error-code", code)
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="utf-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, http.StatusText(status))
}
