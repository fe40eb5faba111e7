package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// snapshots reads the files of a directory, by resource type.
func snapshots(dir string) (map[string]*bicep.Snapshot, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]*bicep.Snapshot{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var snapshot bicep.Snapshot
		if err := json.Unmarshal(data, &snapshot); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[snapshot.Type] = &snapshot
	}
	return all, nil
}

// describeAll asks azmcp for every resource type that is used or kept, apart from those
// that a person wrote down because azmcp cannot describe them.
func describeAll(ctx context.Context, azmcp string, resources []string) (map[string]*bicep.Snapshot, error) {
	all := make([]*bicep.Snapshot, len(resources))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i, resource := range resources {
		group.Go(func() error {
			snapshot, err := describe(ctx, azmcp, resource)
			if err == nil {
				reachable(snapshot)
			}
			all[i] = snapshot
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	described := map[string]*bicep.Snapshot{}
	for _, snapshot := range all {
		described[snapshot.Type] = snapshot
	}
	return described, nil
}

// writeTypes brings the snapshot to what azmcp says of the resource types that are used.
func writeTypes(ctx context.Context, azmcp, dir string, used []string, out io.Writer) error {
	have, err := snapshots(dir)
	if err != nil {
		return err
	}
	described, err := describeAll(ctx, azmcp, wanted(have, used))
	if err != nil {
		return err
	}
	for resource, snapshot := range have {
		if snapshot.Source == "" && described[resource] == nil {
			fmt.Fprintln(out, "no longer used:", resource)
			if err := os.Remove(filepath.Join(dir, fileOf(resource))); err != nil {
				return err
			}
		}
	}
	for resource, snapshot := range described {
		if err := os.WriteFile(filepath.Join(dir, fileOf(resource)), written(snapshot), 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d types of azmcp are in %s\n", len(described), dir)
	return nil
}

// compareTypes tells where the snapshot differs from what azmcp says.
func compareTypes(ctx context.Context, azmcp, dir string, used []string, out io.Writer) (different int, err error) {
	have, err := snapshots(dir)
	if err != nil {
		return 0, err
	}
	described, err := describeAll(ctx, azmcp, wanted(have, used))
	if err != nil {
		return 0, err
	}
	for _, resource := range slices.Sorted(maps.Keys(described)) {
		file := filepath.Join(dir, fileOf(resource))
		data, err := os.ReadFile(file)
		switch {
		case err != nil:
			fmt.Fprintf(out, "%s: snapshot: %s is used, and not in the snapshot: make infra-types\n", file, resource)
		case !bytes.Equal(data, written(described[resource])):
			fmt.Fprintf(out, "%s: snapshot: it is not what azmcp says of %s: make infra-types\n", file, resource)
		default:
			continue
		}
		different++
	}
	fmt.Fprintf(out, "%d of %d types differ from azmcp\n", different, len(described))
	return different, nil
}

// wanted are the resource types to ask azmcp for: those that are used, apart from those
// that a person wrote down.
func wanted(have map[string]*bicep.Snapshot, used []string) []string {
	all := map[string]bool{}
	for _, reference := range used {
		resource, _, _ := strings.Cut(reference, "@")
		if snapshot := have[resource]; snapshot == nil || snapshot.Source == "" {
			all[resource] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// declarations is what a file declares, for the comparison with another parser.
type declarations struct {
	Parameters []string          `json:"parameters"`
	Variables  []string          `json:"variables"`
	Resources  map[string]string `json:"resources"`
	Modules    map[string]string `json:"modules"`
	Outputs    []string          `json:"outputs"`
}

// printDeclarations writes what every file declares as JSON, by path below dir.
func printDeclarations(report *bicep.Report, out io.Writer) error {
	all := map[string]declarations{}
	for _, file := range report.Files {
		d := declarations{Parameters: []string{}, Variables: []string{}, Outputs: []string{}, Resources: map[string]string{}, Modules: map[string]string{}}
		for _, p := range file.Parameters {
			d.Parameters = append(d.Parameters, p.Text)
		}
		for _, v := range file.Variables {
			d.Variables = append(d.Variables, v.Text)
		}
		for _, o := range file.Outputs {
			d.Outputs = append(d.Outputs, o.Text)
		}
		for _, r := range file.Resources {
			d.Resources[r.Text] = r.Type + "@" + r.APIVersion
		}
		for _, m := range file.Modules {
			d.Modules[m.Text] = m.Source
		}
		all[file.Path] = d
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}
