package cosmos

import (
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// database and container are immutable once they are in the catalog; a
// change puts a new value in their place.
type database struct {
	number  int64
	name    string
	version int64
	ts      int64
}

type container struct {
	number     int64
	database   *database
	name       string
	definition []byte // the members the caller gave, trimmed, without system properties
	paths      [][]string
	keyKind    string // of the partition key definition
	keyVersion int
	policy     indexingPolicy
	index      *indexTree // of the policy
	defaults   string     // members that the service adds to the definition, each after a comma
	self       string     // dbs/{rid}/colls/{rid}/
	version    int64
	ts         int64
	gone       *atomic.Bool // set when it is deleted, for requests that found it before
}

// catalog is the databases and containers, all in memory. It changes only
// after the change is on disk.
type catalog struct {
	mu         sync.RWMutex
	databases  map[string]*database
	containers map[[2]string]*container
}

func (d *database) rid() string {
	var raw [4]byte
	binary.LittleEndian.PutUint32(raw[:], uint32(d.number))
	return encodeRID(raw[:])
}

// encodeRID encodes a resource id. It is part of paths, so it has - in the place of /.
func encodeRID(raw []byte) string {
	return strings.ReplaceAll(base64.StdEncoding.EncodeToString(raw), "/", "-")
}

// collectionBit marks the second number of a resource id as a container's. Without it,
// clients take the number for a user's.
const collectionBit = 1 << 31

func (c *container) ridBytes() []byte {
	raw := make([]byte, 8)
	binary.LittleEndian.PutUint32(raw, uint32(c.database.number))
	binary.BigEndian.PutUint32(raw[4:], uint32(c.number)|collectionBit)
	return raw
}

func (c *container) rid() string { return encodeRID(c.ridBytes()) }

// describe appends the database as the service returns it.
func (d *database) describe(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = document.AppendString(dst, d.name)
	return fmt.Appendf(dst, `,"_rid":%q,"_self":"dbs/%s/","_etag":%q,"_colls":"colls/","_users":"users/","_ts":%d}`,
		d.rid(), d.rid(), etagOf(d.version), d.ts)
}

// describe appends the container as the service returns it.
func (c *container) describe(dst []byte) []byte {
	dst = append(dst, c.definition[:len(c.definition)-1]...)
	dst = append(dst, c.defaults...)
	return fmt.Appendf(dst, `,"_rid":%q,"_self":%q,"_etag":%q,"_docs":"docs/","_sprocs":"sprocs/","_triggers":"triggers/","_udfs":"udfs/","_conflicts":"conflicts/","_ts":%d}`,
		c.rid(), c.self, etagOf(c.version), c.ts)
}

// partitionKeyDefinition is the member partitionKey of a container.
type partitionKeyDefinition struct {
	Kind    string   `json:"kind"`
	Paths   []string `json:"paths"`
	Version int      `json:"version"`
}

// parsePaths checks a partition key definition and splits its paths.
func (d partitionKeyDefinition) parsePaths() ([][]string, error) {
	limit := 1
	switch d.Kind {
	case "", "Hash":
	case "MultiHash":
		limit = 3
	default:
		return nil, fmt.Errorf("the partition key kind %q is not supported: use Hash or MultiHash", d.Kind)
	}
	if len(d.Paths) == 0 || len(d.Paths) > limit {
		return nil, fmt.Errorf("a partition key of kind %s has 1 to %d paths, not %d", d.Kind, limit, len(d.Paths))
	}
	var paths [][]string
	for _, path := range d.Paths {
		steps := strings.Split(strings.TrimPrefix(path, "/"), "/")
		for i, step := range steps {
			if len(step) >= 2 && step[0] == '"' && step[len(step)-1] == '"' {
				steps[i] = step[1 : len(step)-1]
			}
			if !strings.HasPrefix(path, "/") || steps[i] == "" {
				return nil, fmt.Errorf("the partition key path %q is not /name or /name/name", path)
			}
		}
		paths = append(paths, steps)
	}
	return paths, nil
}

// newContainer builds a container from its stored definition.
func newContainer(d *database, number int64, name string, definition []byte, version, ts int64) (*container, error) {
	var members struct {
		PartitionKey   partitionKeyDefinition `json:"partitionKey"`
		IndexingPolicy indexingPolicy         `json:"indexingPolicy"`
	}
	if err := json.Unmarshal(definition, &members); err != nil {
		return nil, err
	}
	paths, err := members.PartitionKey.parsePaths()
	if err != nil {
		return nil, err
	}
	if err := members.IndexingPolicy.check(); err != nil {
		return nil, err
	}
	c := &container{number: number, database: d, name: name, definition: definition, paths: paths, keyKind: members.PartitionKey.Kind, keyVersion: members.PartitionKey.Version, policy: members.IndexingPolicy, index: members.IndexingPolicy.tree(), version: version, ts: ts, gone: new(atomic.Bool)}
	c.defaults = defaultMembers(definition)
	c.self = "dbs/" + d.rid() + "/colls/" + c.rid() + "/"
	return c, nil
}

// defaultMembers returns the members that the service adds to a container's definition
// where the caller gave none.
func defaultMembers(definition []byte) (members string) {
	for _, m := range []struct{ name, value string }{
		{"indexingPolicy", `{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]}`},
		{"conflictResolutionPolicy", `{"mode":"LastWriterWins","conflictResolutionPath":"/_ts","conflictResolutionProcedure":""}`},
	} {
		if _, given := document.Lookup(definition, []string{m.name}); !given {
			members += `,"` + m.name + `":` + m.value
		}
	}
	return members
}

// resolve replaces the resource ids of a route by names. Names win over resource ids.
func (cat *catalog) resolve(at *route) {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	if at.database == "" || cat.databases[at.database] != nil {
		return
	}
	for _, d := range cat.databases {
		if d.rid() != at.database {
			continue
		}
		// Clients sign the last resource id of the path, in lower case.
		at.link = strings.ToLower(at.link[strings.LastIndexByte(at.link, '/')+1:])
		at.database, at.byRID = d.name, true
		for key, c := range cat.containers {
			if c.database == d && c.rid() == at.container {
				at.container = key[1]
			}
		}
		return
	}
}

func (cat *catalog) load(db *sql.DB) error {
	cat.databases = map[string]*database{}
	cat.containers = map[[2]string]*container{}
	byNumber := map[int64]*database{}
	rows, err := db.Query(`SELECT number, name, version, ts FROM databases`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		d := &database{}
		if err := rows.Scan(&d.number, &d.name, &d.version, &d.ts); err != nil {
			return err
		}
		cat.databases[d.name] = d
		byNumber[d.number] = d
	}
	if err := rows.Err(); err != nil {
		return err
	}
	rows, err = db.Query(`SELECT number, database, name, definition, version, ts FROM containers`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var number, of, version, ts int64
		var name string
		var definition []byte
		if err := rows.Scan(&number, &of, &name, &definition, &version, &ts); err != nil {
			return err
		}
		c, err := newContainer(byNumber[of], number, name, definition, version, ts)
		if err != nil {
			return fmt.Errorf("container %q: %w", name, err)
		}
		cat.containers[[2]string{c.database.name, name}] = c
	}
	return rows.Err()
}

func (cat *catalog) database(name string) *database {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	return cat.databases[name]
}

func (cat *catalog) container(database, name string) *container {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	return cat.containers[[2]string{database, name}]
}

// update changes the catalog under its lock.
func (cat *catalog) update(change func()) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	change()
}

func (cat *catalog) listDatabases() []*database {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	var list []*database
	for _, d := range cat.databases {
		list = append(list, d)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	return list
}

func (cat *catalog) listContainers(database string) []*container {
	cat.mu.RLock()
	defer cat.mu.RUnlock()
	var list []*container
	for _, c := range cat.containers {
		if c.database.name == database {
			list = append(list, c)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	return list
}
