package main

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// entry is one file of the zip file.
type entry struct {
	Name string      // in the archive, with slashes
	Mode fs.FileMode // the permissions, such as 0o755
	File string      // where its content is
}

// writeZip writes the zip file to. The same entries and the same time give the same bytes:
// entries are sorted by name, have the mode of the caller and one time. Each is marked as made
// on Unix, so that the mode is kept.
func writeZip(to string, entries []entry, at time.Time) error {
	return writeWhole(to, func(out io.Writer) error {
		w := zip.NewWriter(out)
		for _, e := range sorted(entries) {
			h := &zip.FileHeader{Name: e.Name, Method: zip.Deflate, Modified: at.UTC()}
			h.SetMode(e.Mode)
			to, err := w.CreateHeader(h)
			if err != nil {
				return err
			}
			if err := copyFile(to, e.File); err != nil {
				return err
			}
		}
		return w.Close()
	})
}

func sorted(entries []entry) []entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.Name, b.Name) })
}

func copyFile(to io.Writer, file string) error {
	from, err := os.Open(file)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(to, from)
	return err
}

// writeWhole writes a file completely or not at all: it writes beside it and renames.
func writeWhole(to string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*.new")
	if err != nil {
		return err
	}
	err = errors.Join(write(out), out.Chmod(0o644), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", to, err), os.Remove(out.Name()))
	}
	return nil
}

// writeSum writes the SHA-256 of a file as "sha256sum -c" reads it.
func writeSum(to, file string) error {
	return writeWhole(to, func(out io.Writer) error {
		h := sha256.New()
		if err := copyFile(h, file); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "%s  %s\n", hex.EncodeToString(h.Sum(nil)), filepath.Base(file))
		return err
	})
}

// earliest is the first time that a zip file can hold.
var earliest = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// packTime returns the time of every entry: SOURCE_DATE_EPOCH, in seconds since 1970
// (https://reproducible-builds.org/specs/source-date-epoch/), or else the first one that a
// zip file can hold.
func packTime(getenv func(string) string) (time.Time, error) {
	text := getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return earliest, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	at := time.Unix(seconds, 0).UTC()
	if err != nil || at.Before(earliest) || at.Year() > 2106 {
		return time.Time{}, fmt.Errorf("invalid SOURCE_DATE_EPOCH %q: use seconds since 1970, after 1980", text)
	}
	return at, nil
}
