package functionshost

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Stage lays an app out in the folder dst as the host wants it: host.json, the
// handler and each function's folder beside each other. repoDir holds host.json
// and functions/*/function.json; handlerBinary is the built executable. An earlier
// stage in dst is written over, and functions that are no more are taken away.
func Stage(repoDir, handlerBinary, dst string) error {
	files, err := filepath.Glob(filepath.Join(repoDir, "functions", "*", "function.json"))
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	if len(files) == 0 {
		return fmt.Errorf("stage: %s has no functions/*/function.json", repoDir)
	}
	staged, err := filepath.Glob(filepath.Join(dst, "*", "function.json"))
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	for _, file := range staged {
		if err := os.RemoveAll(filepath.Dir(file)); err != nil {
			return fmt.Errorf("stage: %w", err)
		}
	}
	if err := place(filepath.Join(repoDir, "host.json"), filepath.Join(dst, "host.json"), 0o644); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	if err := place(handlerBinary, filepath.Join(dst, "handler"+filepath.Ext(handlerBinary)), 0o755); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	for _, file := range files {
		to := filepath.Join(dst, filepath.Base(filepath.Dir(file)), "function.json")
		if err := place(file, to, 0o644); err != nil {
			return fmt.Errorf("stage: %w", err)
		}
	}
	return nil
}

// place copies a file. It writes beside the old one and renames, because an
// executable that is running cannot be written to.
func place(from, to string, mode os.FileMode) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err = errors.Join(err, target.Close()); err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}
