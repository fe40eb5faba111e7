// Package archive writes zip and tar.gz files that come out the same, byte for byte,
// whenever and wherever they are made of the same files.
//
// Entries stand in the order of their names, have the mode that the caller says and not
// that of the file system, which Windows does not have, and one time for all, in whole
// seconds of UTC. There are no entries of folders. A file appears whole or not at all.
// The compression is that of the Go release in use: another one may compress otherwise.
//
// It belongs to the build tools; no program of the product imports it.
package archive

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
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

// Entry is one file of an archive.
type Entry struct {
	Name string      // in the archive, with slashes
	Mode fs.FileMode // the permissions, such as 0o755
	File string      // where its content is
}

// Zip writes entries into the zip file to. Each is marked as made on Unix, so that
// whoever unpacks it takes the mode.
func Zip(to string, entries []Entry, at time.Time) error {
	return Whole(to, func(out io.Writer) error {
		w := zip.NewWriter(out)
		for _, e := range sorted(entries) {
			h := &zip.FileHeader{Name: e.Name, Method: zip.Deflate, Modified: at.UTC()}
			h.SetMode(e.Mode)
			entry, err := w.CreateHeader(h)
			if err != nil {
				return err
			}
			if err := add(entry, e.File, -1); err != nil {
				return err
			}
		}
		return w.Close()
	})
}

// TarGz writes entries into the compressed tar file to, owned by root.
func TarGz(to string, entries []Entry, at time.Time) error {
	return Whole(to, func(out io.Writer) error {
		packed := gzip.NewWriter(out)
		w := tar.NewWriter(packed)
		for _, e := range sorted(entries) {
			info, err := os.Stat(e.File)
			if err != nil {
				return err
			}
			h := &tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Mode: int64(e.Mode.Perm()), Size: info.Size(), ModTime: at.UTC(), Format: tar.FormatUSTAR}
			if err := w.WriteHeader(h); err != nil {
				return err
			}
			if err := add(w, e.File, info.Size()); err != nil {
				return err
			}
		}
		return errors.Join(w.Close(), packed.Close())
	})
}

func sorted(entries []Entry) []Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
}

// add copies a file that has size bytes; -1 is any number.
func add(to io.Writer, file string, size int64) error {
	from, err := os.Open(file)
	if err != nil {
		return err
	}
	defer from.Close()
	n, err := io.Copy(to, from)
	if err == nil && size >= 0 && n != size {
		err = fmt.Errorf("%s changed while it was read", file)
	}
	return err
}

// Whole writes the file to, with all that write gives or not at all: it is written
// beside it and renamed. Missing folders are made.
func Whole(to string, write func(io.Writer) error) error {
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

// Sums writes the SHA-256 of files into the file to, one per line, as "sha256sum -c"
// reads them from the folder that the files are in.
func Sums(to string, files ...string) error {
	return Whole(to, func(out io.Writer) error {
		for _, file := range slices.Sorted(slices.Values(files)) {
			h := sha256.New()
			if err := add(h, file, -1); err != nil {
				return err
			}
			if _, err := fmt.Fprintf(out, "%s  %s\n", hex.EncodeToString(h.Sum(nil)), filepath.Base(file)); err != nil {
				return err
			}
		}
		return nil
	})
}

// earliest is the first time that a zip file can tell.
var earliest = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Time is the time of every entry as the environment tells it: SOURCE_DATE_EPOCH, the
// seconds since 1970 (https://reproducible-builds.org/specs/source-date-epoch/), or
// else the first one that a zip file can tell, in 1980.
func Time(getenv func(string) string) (time.Time, error) {
	text := getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return earliest, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	at := time.Unix(seconds, 0).UTC()
	if err != nil || at.Before(earliest) || at.Year() > 2106 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds since 1970 that is after 1980", text)
	}
	return at, nil
}
