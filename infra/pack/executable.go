package main

import (
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"path/filepath"
)

// program is the package that the handler is built from.
const program = "github.com/matoolkit/matoolkit/handler"

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// deployable refuses a handler in dir that Azure could not start: it runs on Linux, on
// the machine's architecture, without a C library.
func deployable(dir, arch string) error {
	machine, ok := machines[arch]
	if !ok {
		return fmt.Errorf("unsupported architecture %q: use amd64 or arm64", arch)
	}
	file := filepath.Join(dir, executable)
	f, err := elf.Open(file)
	if err != nil {
		return fmt.Errorf("%s is not an executable for Linux (an ELF file): %w", file, err)
	}
	defer f.Close()
	if f.Machine != machine || f.Class != elf.ELFCLASS64 {
		return fmt.Errorf("%s is built for %s, not for %s (%s)", file, f.Machine, machine, arch)
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN { // the latter may be placed anywhere
		return fmt.Errorf("%s is not an executable: its type is %s", file, f.Type)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is dynamically linked: build it with CGO_ENABLED=0", file)
		}
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s is not a Go program: %w", file, err)
	}
	if info.Path != program {
		return fmt.Errorf("%s is the program %s, not %s", file, info.Path, program)
	}
	built := map[string]string{}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	for name, want := range map[string]string{"GOOS": "linux", "GOARCH": arch, "CGO_ENABLED": "0", "-trimpath": "true"} {
		if built[name] != want {
			return fmt.Errorf("%s was built with %s %q, not %q", file, name, built[name], want)
		}
	}
	return nil
}
