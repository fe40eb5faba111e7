package catalog_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

func TestEveryFunctionHasOneTask(t *testing.T) {
	t.Parallel()
	tasks := map[string]int{}
	for _, group := range catalog.TaskGroups() {
		for _, task := range group.Tasks {
			for _, f := range task.Functions {
				tasks[f.Name]++
			}
		}
	}
	for _, f := range catalog.Standard() {
		if tasks[f.Name] != 1 {
			t.Errorf("%s has %d tasks: put it into one of TaskGroups", f.Name, tasks[f.Name])
		}
		delete(tasks, f.Name)
	}
	for name := range tasks {
		t.Errorf("%s has a task and is not in Standard", name)
	}
}
