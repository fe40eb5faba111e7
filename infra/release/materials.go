package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// materials writes the bill of materials of a program as CycloneDX 1.6, in JSON: every
// module that the linker put into it, as the program itself tells, and Go's own library.
// It has no licences; those are in THIRD-PARTY-NOTICES.txt.
func (m *maker) materials(info *debug.BuildInfo, program string, out io.Writer) error {
	raw, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	self := component(cyclonedx.ComponentTypeApplication, info.Main.Path, m.version)
	self.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	parts := []cyclonedx.Component{component(cyclonedx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		part := component(cyclonedx.ComponentTypeLibrary, dep.Path, dep.Version)
		hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(dep.Sum, "h1:"))
		if err != nil || len(hash) != sha256.Size {
			return fmt.Errorf("%s %s has no checksum: is it replaced by a folder?", dep.Path, dep.Version)
		}
		// Of the module's list of files, as go.sum has it, not of one file.
		part.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: dep.Sum}}
		parts = append(parts, part)
	}
	bom := cyclonedx.NewBOM()
	// The same program has the same number, whoever builds it.
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, sum[:]).String()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: m.at.UTC().Format("2006-01-02T15:04:05Z"), Component: &self}
	bom.Components = &parts
	return cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
}

func component(kind cyclonedx.ComponentType, path, version string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cyclonedx.Component{BOMRef: url, Type: kind, Name: path, Version: version, PackageURL: url}
}
