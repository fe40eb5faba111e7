package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"filippo.io/age"
)

// maxFile is how large a file may be: it is in memory while it is read.
const maxFile = 64 << 20

// Reader reads a finished snapshot. It is safe for concurrent use.
type Reader struct {
	dir        string
	manifest   Manifest
	identities []age.Identity
}

// Open opens a finished snapshot. identityFile is the file with the private keys of an encrypted one, as
// age-keygen writes it, and may be empty for others.
func Open(dir, identityFile string) (*Reader, error) {
	if begun, err := readCheckpoint(dir); err == nil {
		return nil, fmt.Errorf("snapshot: %s is not finished: export tenant %s again with the same command, which continues it", dir, begun.Manifest.TenantID)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	path := filepath.Join(dir, manifestFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("snapshot: %s has no %s: give the folder that matoolkit tenant export wrote", dir, manifestFile)
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	r := &Reader{dir: dir}
	var version struct{ Format int }
	if err := json.Unmarshal(text, &version); err == nil && version.Format == Version { // others may have other fields
		err = decodeStrict(text, &r.manifest)
		if err != nil {
			return nil, fmt.Errorf("snapshot: %s: %w", path, err)
		}
	} else if err != nil {
		return nil, fmt.Errorf("snapshot: %s: %w", path, err)
	}
	r.manifest.Format = version.Format
	if err := r.manifest.check(); err != nil {
		return nil, fmt.Errorf("snapshot: %s: %w", path, err)
	}
	if !r.manifest.Encrypted {
		return r, nil
	}
	if identityFile == "" {
		return nil, fmt.Errorf("snapshot: %s is encrypted: give the file with your age identity", dir)
	}
	keys, err := os.Open(identityFile)
	if err != nil {
		return nil, fmt.Errorf("snapshot: read the age identity: %w", err)
	}
	defer keys.Close()
	if r.identities, err = age.ParseIdentities(keys); err != nil {
		return nil, fmt.Errorf("snapshot: read the age identity of %s: %w", identityFile, err)
	}
	return r, nil
}

// Manifest describes the snapshot.
func (r *Reader) Manifest() Manifest { return r.manifest }

// Each calls do for all objects of a kind in their order. line counts from 1 within the file. raw is valid during
// the call only. An error of do ends it, and is wrapped with the file and line. No object of a file that does not
// have its checksum is given out.
func (r *Reader) Each(kind Kind, do func(line int, raw json.RawMessage) error) error {
	if !slices.Contains(Kinds(), kind) {
		return fmt.Errorf("snapshot: unknown kind %q", kind)
	}
	for _, f := range r.manifest.Files {
		if f.Kind != kind {
			continue
		}
		path := filepath.Join(r.dir, f.Name)
		content, err := r.read(path, f)
		if err != nil {
			return fmt.Errorf("snapshot: %s: %w", path, err)
		}
		n := 0
		for line := range bytes.Lines(content) {
			n++
			line = bytes.TrimSpace(line)
			if !json.Valid(line) {
				return fmt.Errorf("snapshot: %s:%d: the line is not a JSON value", path, n)
			}
			if err := do(n, line); err != nil {
				return fmt.Errorf("snapshot: %s:%d: %w", path, n, err)
			}
		}
		if n != f.Objects {
			return fmt.Errorf("snapshot: %s has %d objects, and %s lists %d: export the tenant again", path, n, manifestFile, f.Objects)
		}
	}
	return nil
}

func (r *Reader) read(path string, f File) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var sized bytes.Buffer
	if info, err := file.Stat(); err == nil {
		sized.Grow(int(min(info.Size(), maxFile)) + bytes.MinRead)
	}
	if _, err := sized.ReadFrom(io.LimitReader(file, maxFile+1)); err != nil {
		return nil, err
	}
	content := sized.Bytes()
	if len(content) > maxFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxFile)
	}
	if digest := sha256.Sum256(content); hex.EncodeToString(digest[:]) != f.SHA256 {
		return nil, fmt.Errorf("the file is not as it was written: its sha256 differs from that of %s; copy the snapshot again, or export the tenant again", manifestFile)
	}
	if !r.manifest.Encrypted {
		return content, nil
	}
	plain, err := age.Decrypt(bytes.NewReader(content), r.identities...)
	if err != nil {
		var other *age.NoIdentityMatchError
		if errors.As(err, &other) {
			return nil, errors.New("the age identity is not one that the snapshot was encrypted to")
		}
		return nil, err
	}
	if content, err = io.ReadAll(io.LimitReader(plain, maxFile+1)); err == nil && len(content) > maxFile {
		err = fmt.Errorf("the file is larger than %d bytes", maxFile)
	}
	return content, err
}

// decodeStrict refuses unknown fields and what follows the value.
func decodeStrict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("there is more after the JSON value")
	}
	return nil
}
