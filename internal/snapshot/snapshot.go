// Package snapshot reads and writes snapshots of tenants: folders of JSON lines with a manifest.
//
// A snapshot has files of one or more objects of a kind, such as users-0001.jsonl, or
// users-0001.jsonl.age where they are encrypted. Each line is an object as the seed of a local
// tenant has it. manifest.json lists the files with their checksums; a snapshot that is being
// written has checkpoint.json as well.
package snapshot

import (
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Version is the version of the format that this package writes, and the only one that it reads.
const Version = 1

const (
	manifestFile   = "manifest.json"
	checkpointFile = "checkpoint.json"
)

// Kind is the kind of the objects of a file. Its values are part of the format.
type Kind string

// The kinds in the order in which a tenant can be filled with them: users before the groups that have them as members.
const (
	Domains            Kind = "domains"             // verified domains: strings
	OrganizationHolds  Kind = "organization-holds"  // retention policies of all mailboxes: strings
	MigrationEndpoints Kind = "migration-endpoints" // names: strings
	Licenses           Kind = "licenses"            // {"skuPartNumber", "skuId", "enabled", "consumed", "servicePlans"}; consumed by objects outside of the snapshot
	Users              Kind = "users"               // properties of Graph, and managerId
	DeletedUsers       Kind = "deleted-users"       // properties of Graph with deletedDateTime
	Groups             Kind = "groups"              // {"properties", "members", "owners", …}
	Recipients         Kind = "recipients"          // of Exchange, without those of groups
	Policies           Kind = "policies"            // of Conditional Access
)

// Kinds are all kinds, in the order of the constants.
func Kinds() []Kind {
	return []Kind{Domains, OrganizationHolds, MigrationEndpoints, Licenses, Users, DeletedUsers, Groups, Recipients, Policies}
}

// Manifest describes a snapshot.
type Manifest struct {
	Format     int       `json:"format"` // Version
	TenantID   string    `json:"tenantId"`
	Tool       string    `json:"tool"` // name and version of the program that wrote it
	TakenAt    time.Time `json:"takenAt"`
	FinishedAt time.Time `json:"finishedAt,omitzero"` // objects were read between the two times
	Redacted   bool      `json:"redacted"`
	Encrypted  bool      `json:"encrypted"`
	Files      []File    `json:"files"`
	LeftOut    []LeftOut `json:"leftOut"`
}

// File is a file of a snapshot. The files of a kind are in the order in which they were written.
type File struct {
	Name    string `json:"name"`
	Kind    Kind   `json:"kind"`
	Objects int    `json:"objects"`
	SHA256  string `json:"sha256"` // of the file as it is on disk, in hexadecimal digits
}

// LeftOut is a part of the tenant that the snapshot does not have.
type LeftOut struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Objects is how many objects of a kind the snapshot has.
func (m Manifest) Objects(kind Kind) int {
	n := 0
	for _, f := range m.Files {
		if f.Kind == kind {
			n += f.Objects
		}
	}
	return n
}

var (
	fileName = regexp.MustCompile(`^([a-z-]+)-[0-9]{4,6}\.jsonl(\.age)?$`)
	checksum = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// check refuses what Finish does not write, also names that lead out of the folder.
func (m Manifest) check() error {
	switch {
	case m.Format != Version:
		return fmt.Errorf("the format has version %d: this version of matoolkit reads version %d; export the tenant again", m.Format, Version)
	case m.TenantID == "":
		return fmt.Errorf("tenantId is missing")
	case m.FinishedAt.IsZero():
		return fmt.Errorf("finishedAt is missing")
	}
	seen := map[string]bool{}
	for i, f := range m.Files {
		parts := fileName.FindStringSubmatch(f.Name)
		switch {
		case !slices.Contains(Kinds(), f.Kind):
			return fmt.Errorf("files[%d]: unknown kind %q: use the version of matoolkit that wrote the snapshot (%s), or export the tenant again", i, f.Kind, m.Tool)
		case parts == nil || parts[1] != string(f.Kind) || (parts[2] != "") != m.Encrypted:
			return fmt.Errorf("files[%d]: %q is not the name of a file of this kind", i, f.Name)
		case seen[f.Name]:
			return fmt.Errorf("files[%d]: %s is listed twice", i, f.Name)
		case f.Objects < 0 || !checksum.MatchString(f.SHA256):
			return fmt.Errorf("files[%d]: %s needs a number of objects and a sha256", i, f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}
