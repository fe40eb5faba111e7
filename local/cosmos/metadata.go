package cosmos

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// serveMetadata answers for the account, databases, containers and partition
// key ranges. Throughput headers are accepted; there is no throughput.
func (s *Server) serveMetadata(w http.ResponseWriter, r *http.Request, at route) {
	w, answered := s.suffer(w, r, Request{Operation: Metadata, Database: at.database, Container: at.container})
	if answered {
		return
	}
	if _, dropped := w.(*droppedAnswer); dropped {
		defer panic(http.ErrAbortHandler)
	}
	body, err := readBody(w, r)
	if err != nil {
		respondFailure(w, failure(http.StatusRequestEntityTooLarge, err.Error()))
		return
	}
	switch r.Method + " " + at.resourceType {
	case "GET ":
		s.serveAccount(w)
	case "GET dbs", "POST dbs", "DELETE dbs":
		s.serveDatabases(w, r, at, body)
	case "GET colls", "POST colls", "PUT colls", "DELETE colls":
		s.serveContainers(w, r, at, body)
	case "GET pkranges":
		s.servePartitionKeyRanges(w, r, at)
	default:
		respondFailure(w, failure(http.StatusMethodNotAllowed, "this resource does not support "+r.Method))
	}
}

func respondJSON(w http.ResponseWriter, status int, tag string, body []byte) {
	if tag != "" {
		w.Header()["Etag"] = []string{tag}
	}
	setCharge(w, 1)
	w.WriteHeader(status)
	w.Write(body)
}

func (s *Server) serveAccount(w http.ResponseWriter) {
	region := fmt.Sprintf(`[{"name":"Local","databaseAccountEndpoint":%q}]`, s.url+"/")
	respondJSON(w, http.StatusOK, "", fmt.Appendf(nil,
		`{"_self":"","id":"local","_rid":"local","media":"//media/","addresses":"//addresses/","_dbs":"//dbs/",`+
			`"writableLocations":%s,"readableLocations":%s,"enableMultipleWriteLocations":false,`+
			`"userReplicationPolicy":{"asyncReplication":false,"minReplicaSetSize":1,"maxReplicasetSize":4},`+
			`"userConsistencyPolicy":{"defaultConsistencyLevel":"Strong"},`+
			`"systemReplicationPolicy":{"minReplicaSetSize":1,"maxReplicasetSize":4},`+
			`"readPolicy":{"primaryReadCoefficient":1,"secondaryReadCoefficient":1},`+
			`"queryEngineConfiguration":"{\"maxSqlQueryInputLength\":262144}"}`, region, region))
}

var (
	errNameTaken = errors.New("the name is taken")
	noDatabase   = failure(http.StatusNotFound, "there is no database with this id")
	noContainer  = failure(http.StatusNotFound, "there is no container with this id in the database")
)

func (s *Server) serveDatabases(w http.ResponseWriter, r *http.Request, at route, body []byte) {
	switch {
	case r.Method == http.MethodPost && !at.one && isQuery(r):
		var list [][]byte
		for _, d := range s.store.catalog.listDatabases() {
			list = append(list, d.describe(nil))
		}
		respondList(w, "Databases", "", body, list)
	case r.Method == http.MethodPost && !at.one:
		name, err := nameOf(body)
		if err != nil {
			respondFailure(w, failure(http.StatusBadRequest, err.Error()))
			return
		}
		d, err := s.store.createDatabase(name)
		if err != nil {
			s.respondChange(w, err)
			return
		}
		respondJSON(w, http.StatusCreated, etagOf(d.version), d.describe(nil))
	case r.Method == http.MethodGet && !at.one:
		var list [][]byte
		for _, d := range s.store.catalog.listDatabases() {
			list = append(list, d.describe(nil))
		}
		respondList(w, "Databases", "", nil, list)
	case at.one && r.Method != http.MethodPost:
		d := s.store.catalog.database(at.database)
		if d == nil {
			respondFailure(w, noDatabase)
			return
		}
		if r.Method == http.MethodGet {
			respondJSON(w, http.StatusOK, etagOf(d.version), d.describe(nil))
			return
		}
		if tag := r.Header.Get("If-Match"); tag != "" && tag != "*" && tag != etagOf(d.version) {
			respondFailure(w, precondition)
			return
		}
		if err := s.store.deleteDatabase(d); err != nil {
			s.respondChange(w, err)
			return
		}
		respondJSON(w, http.StatusNoContent, "", nil)
	default:
		respondFailure(w, failure(http.StatusMethodNotAllowed, "databases do not support "+r.Method+" here"))
	}
}

func (s *Server) serveContainers(w http.ResponseWriter, r *http.Request, at route, body []byte) {
	d := s.store.catalog.database(at.database)
	if d == nil {
		respondFailure(w, noDatabase.withSub(subNoOwner))
		return
	}
	if !at.one {
		s.serveContainerFeed(w, r, d, body)
		return
	}
	c := s.store.catalog.container(at.database, at.container)
	if c == nil {
		respondFailure(w, noContainer)
		return
	}
	if tag := r.Header.Get("If-Match"); r.Method != http.MethodGet && tag != "" && tag != "*" && tag != etagOf(c.version) {
		respondFailure(w, precondition)
		return
	}
	switch r.Method {
	case http.MethodGet:
		respondJSON(w, http.StatusOK, etagOf(c.version), c.describe(nil))
	case http.MethodPut:
		definition, name, err := definitionOf(body)
		if err == nil && name != c.name {
			err = errors.New("a container cannot be renamed")
		}
		if err != nil {
			respondFailure(w, failure(http.StatusBadRequest, err.Error()))
			return
		}
		if c, err = s.store.replaceContainer(c, definition); err != nil {
			s.respondChange(w, err)
			return
		}
		respondJSON(w, http.StatusOK, etagOf(c.version), c.describe(nil))
	case http.MethodDelete:
		if err := s.store.deleteContainer(c); err != nil {
			s.respondChange(w, err)
			return
		}
		respondJSON(w, http.StatusNoContent, "", nil)
	default:
		respondFailure(w, failure(http.StatusMethodNotAllowed, "a container does not support "+r.Method))
	}
}

func (s *Server) serveContainerFeed(w http.ResponseWriter, r *http.Request, d *database, body []byte) {
	queried := isQuery(r)
	switch {
	case r.Method == http.MethodPost && !queried:
		definition, name, err := definitionOf(body)
		if err != nil {
			respondFailure(w, failure(http.StatusBadRequest, err.Error()))
			return
		}
		c, err := s.store.createContainer(d, name, definition)
		if err != nil {
			s.respondChange(w, err)
			return
		}
		respondJSON(w, http.StatusCreated, etagOf(c.version), c.describe(nil))
	case r.Method == http.MethodGet || queried:
		var list [][]byte
		for _, c := range s.store.catalog.listContainers(d.name) {
			list = append(list, c.describe(nil))
		}
		if !queried {
			body = nil
		}
		respondList(w, "DocumentCollections", d.rid(), body, list)
	default:
		respondFailure(w, failure(http.StatusMethodNotAllowed, "containers do not support "+r.Method+" here"))
	}
}

// servePartitionKeyRanges says that every container has one range. It also
// serves the feed form, in which a caller asks again with the ETag it has.
func (s *Server) servePartitionKeyRanges(w http.ResponseWriter, r *http.Request, at route) {
	c := s.store.catalog.container(at.database, at.container)
	if c == nil {
		respondFailure(w, noContainer.withSub(subNoOwner))
		return
	}
	tag := etagOf(c.number)
	if r.Header.Get("If-None-Match") == tag {
		respondJSON(w, http.StatusNotModified, tag, nil)
		return
	}
	respondJSON(w, http.StatusOK, tag, fmt.Appendf(nil,
		`{"_rid":%q,"PartitionKeyRanges":[{"id":"0","_rid":%q,"_etag":%q,"minInclusive":"","maxExclusive":"FF","ridPrefix":0,`+
			`"_self":"%spkranges/0/","throughputFraction":1,"status":"online","parents":[],"ownedArchivalPKRangeIds":[],"_ts":%d,"lsn":1}],"_count":1}`,
		c.rid(), c.rid(), tag, c.self, c.ts))
}

// respondList answers a feed, or a query on it when body is one.
func respondList(w http.ResponseWriter, member, rid string, body []byte, list [][]byte) {
	if body != nil {
		q, err := parseQuery(body)
		if err == nil {
			list, err = q.All(list)
		}
		if err != nil {
			respondFailure(w, failure(http.StatusBadRequest, err.Error()))
			return
		}
	}
	dst := fmt.Appendf(nil, `{"_rid":%q,%q:[`, rid, member)
	for i, one := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, one...)
	}
	respondJSON(w, http.StatusOK, "", fmt.Appendf(dst, `],"_count":%d}`, len(list)))
}

func (s *Server) respondChange(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errNameTaken):
		respondFailure(w, failure(http.StatusConflict, "a resource with this id exists"))
	case errors.Is(err, errRefused):
		respondFailure(w, failure(http.StatusBadRequest, err.Error()))
	default:
		s.log.Error("change of metadata failed", "error", err)
		respondFailure(w, unavailable)
	}
}

func nameOf(body []byte) (string, error) {
	if err := document.Check(body); err != nil {
		return "", err
	}
	text, ok := document.Lookup(body, []string{"id"})
	if !ok || text[0] != '"' {
		return "", errors.New("the id is missing or not a string")
	}
	v, err := document.Parse(text)
	if err != nil {
		return "", err
	}
	return v.Text, checkID(v.Text)
}

// definitionOf takes a container's definition out of a request: the members
// that are the caller's.
func definitionOf(body []byte) ([]byte, string, error) {
	name, err := nameOf(body)
	if err != nil {
		return nil, "", err
	}
	var refused error
	var cuts [][2]int
	document.EachMember(body, func(m document.Member) bool {
		switch m.Name {
		case "id", "partitionKey", "indexingPolicy", "conflictResolutionPolicy":
		case "uniqueKeyPolicy":
			if keys, ok := document.Lookup(m.Value, []string{"uniqueKeys"}); ok && !emptyArray(keys) {
				refused = errors.New("unique keys are not supported")
			}
			cuts = append(cuts, [2]int{m.Start, m.End})
		case "_docs", "_sprocs", "_triggers", "_udfs", "_conflicts":
			cuts = append(cuts, [2]int{m.Start, m.End})
		default:
			if systemProperty(m.Name) {
				cuts = append(cuts, [2]int{m.Start, m.End})
			} else {
				refused = fmt.Errorf("the container property %q is not supported", m.Name)
			}
		}
		return true
	})
	return normalKeyVersion(without(body, cuts)), name, refused
}

// normalKeyVersion turns the version of a partition key into a number. The Java client sends
// "V2".
func normalKeyVersion(definition []byte) []byte {
	text, ok := document.Lookup(definition, []string{"partitionKey", "version"})
	if !ok || text[0] != '"' {
		return definition
	}
	all, err := document.Parse(definition)
	if err != nil {
		return definition
	}
	key := find(&all, "partitionKey")
	version, err := strconv.ParseInt(strings.TrimPrefix(find(key, "version").Text, "V"), 10, 32)
	if err != nil {
		return definition // the check of the definition refuses it
	}
	key.Set("version", document.IntValue(version))
	return all.Append(nil)
}

func emptyArray(text []byte) bool {
	v, err := document.Parse(text)
	return err == nil && v.Kind == document.Array && len(v.Elements) == 0
}

func parseQuery(body []byte) (*query.Query, error) {
	var wire struct {
		Query      string `json:"query"`
		Parameters []struct {
			Name  string          `json:"name"`
			Value json.RawMessage `json:"value"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return nil, fmt.Errorf("the query request is not valid: %w", err)
	}
	parameters := map[string]document.Value{}
	for _, p := range wire.Parameters {
		value, err := document.Parse(p.Value)
		if err != nil {
			return nil, fmt.Errorf("the parameter %s: %w", p.Name, err)
		}
		parameters[p.Name] = value
	}
	return query.Parse(wire.Query, parameters)
}
