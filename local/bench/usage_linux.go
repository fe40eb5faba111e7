package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is the CPU time and memory of a process.
type usage struct {
	name    string
	cpu     time.Duration
	peak    int64 // bytes resident
	written int64 // bytes to disk
}

// usage reads the kernel's metrics of every process, the handler's among them,
// which is the child of the host.
func (b *bed) usage() ([]usage, error) {
	var all []usage
	for _, p := range b.processes {
		u, err := processUsage(p.Name, p.PID())
		if err != nil {
			return nil, err
		}
		all = append(all, u)
		children, err := childrenOf(p.PID())
		if err != nil {
			return nil, err
		}
		for _, child := range children {
			if u, err = processUsage("handler", child); err != nil {
				return nil, err
			}
			all = append(all, u)
		}
	}
	return all, nil
}

// childrenOf are the processes that any thread of a process has started.
func childrenOf(pid int) ([]int, error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				return nil, err
			}
			pids = append(pids, child)
		}
	}
	return pids, nil
}

func processUsage(name string, pid int) (usage, error) {
	u := usage{name: name}
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return u, err
	}
	// The fields after the program's name in parentheses: user and system time are
	// the 14th and 15th of all, in hundredths of a second.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return u, err
		}
		u.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	if u.peak, err = number(filepath.Join(dir, "status"), "VmHWM:"); err != nil {
		return u, err
	}
	u.peak <<= 10
	u.written, err = number(filepath.Join(dir, "io"), "write_bytes:")
	return u, err
}

// peakOf is the peak of the memory of a process that has ended, or of this one, if that is more.
func peakOf(p *os.ProcessState) int64 {
	used, _ := p.SysUsage().(*syscall.Rusage)
	return used.Maxrss << 10
}

func number(file, label string) (int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), label); ok {
			return strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, label)
}
