package arm

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// operation is an asynchronous operation: InProgress, then Succeeded or Failed.
type operation struct {
	status, code, message string
}

// begin registers an operation and names it in the headers of its answer. The caller holds the lock.
func (s *Server) begin(w http.ResponseWriter, subscription, location string, headers ...string) *operation {
	id, op := uuid.NewString(), &operation{status: "InProgress"}
	s.operations[id] = op
	at := fmt.Sprintf("%s/subscriptions/%s/providers/Microsoft.ContainerInstance/locations/%s/operations/%s?api-version=%s", s.URL(), subscription, location, id, groupsVersion)
	for _, header := range headers {
		w.Header().Set(header, at)
	}
	return op
}

func (s *Server) getOperation(w http.ResponseWriter, r *http.Request, _ []byte, _ string) {
	id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	s.mu.Lock()
	defer s.mu.Unlock()
	op := s.operations[id]
	if op == nil {
		refuse(w, http.StatusNotFound, "OperationNotFound", fmt.Sprintf("The operation '%s' was not found.", id))
		return
	}
	body := map[string]any{"id": r.URL.Path, "name": id, "status": op.status}
	if op.code != "" {
		body["error"] = map[string]string{"code": op.code, "message": op.message}
	}
	answer(w, http.StatusOK, body)
}

// nameOf is the last part of a path.
func nameOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func (s *Server) listGroups(w http.ResponseWriter, r *http.Request, _ []byte, _ string) {
	prefix := strings.ToLower(r.URL.Path) + "/"
	after := strings.ToLower(r.URL.Query().Get("$skiptoken"))
	s.mu.Lock()
	defer s.mu.Unlock()
	page, next := []groupBody{}, ""
	for _, path := range slices.Sorted(maps.Keys(s.groups)) {
		if !strings.HasPrefix(path, prefix) || path <= after {
			continue
		}
		if len(page) == s.config.PageSize {
			query := url.Values{"api-version": {groupsVersion}, "$skiptoken": {prefix + strings.ToLower(page[len(page)-1].Name)}}
			next = s.URL() + r.URL.Path + "?" + query.Encode()
			break
		}
		page = append(page, s.groups[path].view(false))
	}
	body := map[string]any{"value": page}
	if next != "" {
		body["nextLink"] = next
	}
	answer(w, http.StatusOK, body)
}

func (s *Server) getGroup(w http.ResponseWriter, r *http.Request, _ []byte, _ string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[strings.ToLower(r.URL.Path)]
	if g == nil {
		refuse(w, http.StatusNotFound, "ResourceNotFound", fmt.Sprintf("The Resource 'Microsoft.ContainerInstance/containerGroups/%s' was not found.", nameOf(r.URL.Path)))
		return
	}
	answer(w, http.StatusOK, g.view(true))
}

func (s *Server) putGroup(w http.ResponseWriter, r *http.Request, raw []byte, token string) {
	name := nameOf(r.URL.Path)
	body, refusal := parse(name, raw)
	if refusal != nil {
		refusal.write(w)
		return
	}
	for _, needed := range body.linked() {
		if s.config.Allowed != nil && !s.config.Allowed(token, needed.action, needed.resource) {
			refuse(w, http.StatusForbidden, "LinkedAuthorizationFailed",
				fmt.Sprintf("The client has permission to perform action '%s' on scope '%s'; however, it does not have permission to perform action '%s' on the linked scope '%s'.", ActionWriteGroup, r.URL.Path, needed.action, needed.resource))
			return
		}
	}
	body.ID, body.Name, body.Type = r.URL.Path, name, "Microsoft.ContainerInstance/containerGroups"
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.ToLower(r.URL.Path)
	existing := s.groups[key]
	switch {
	case existing == nil:
	case existing.deleting || existing.provisioning == "Creating":
		refuse(w, http.StatusConflict, "ContainerGroupTransitioning", fmt.Sprintf("The container group '%s' is still transitioning, please retry later.", name))
		return
	case existing.ended():
	case string(existing.raw) == string(raw):
		answer(w, http.StatusOK, existing.view(true)) // nothing to change: the containers run on
		return
	case existing.needsDeletion(body):
		refuse(w, http.StatusBadRequest, "InvalidContainerGroupUpdate", fmt.Sprintf("The updates on container group '%s' are invalid. If you are going to update the os type, restart policy, network profile, CPU, memory or GPU resources for a container group, you must delete it first and then create a new one.", name))
		return
	}
	status := http.StatusCreated
	if existing != nil {
		status = http.StatusOK
		existing.stop()
	}
	g := &group{body: body, raw: raw, provisioning: "Creating"}
	s.groups[key] = g
	op := s.begin(w, strings.Split(r.URL.Path, "/")[2], body.Location, "Azure-AsyncOperation", "Location")
	s.run(key, g, op)
	answer(w, status, g.view(true))
}

// linked are the permissions on other resources that a group needs.
func (g *groupBody) linked() (needed []struct{ action, resource string }) {
	if g.Identity != nil {
		for _, id := range slices.Sorted(maps.Keys(g.Identity.Assigned)) {
			needed = append(needed, struct{ action, resource string }{ActionAssignIdentity, id})
		}
	}
	for _, subnet := range g.Properties.Subnets {
		needed = append(needed, struct{ action, resource string }{ActionJoinSubnet, subnet.ID})
	}
	return needed
}

func (s *Server) deleteGroup(w http.ResponseWriter, r *http.Request, _ []byte, _ string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.ToLower(r.URL.Path)
	g := s.groups[key]
	switch {
	case g == nil:
		w.WriteHeader(http.StatusNoContent)
		return
	case g.deleting:
		refuse(w, http.StatusConflict, "ContainerGroupTransitioning", fmt.Sprintf("The container group '%s' is still transitioning, please retry later.", g.body.Name))
		return
	}
	g.deleting = true
	op := s.begin(w, strings.Split(r.URL.Path, "/")[2], g.body.Location, "Azure-AsyncOperation")
	stopped := g.stop()
	s.running.Go(func() {
		<-stopped
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.groups, key)
		op.status = "Succeeded"
	})
	w.WriteHeader(http.StatusAccepted)
}

// view is a group as an answer has it. Secrets are never in one, and a list has no states of containers.
func (g *group) view(instances bool) groupBody {
	var v groupBody
	raw, err := json.Marshal(g.body)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil { // the body was read from JSON
		panic(err)
	}
	v.Properties.ProvisioningState = g.provisioning
	for i := range v.Properties.Registries {
		v.Properties.Registries[i].Password = ""
	}
	c := &v.Properties.Containers[0].Properties
	for i := range c.Env {
		c.Env[i].Secure = nil
	}
	if instances && g.instance != "" {
		v.Properties.InstanceView = &groupViewBody{State: g.instance, Events: []eventBody{}}
		c.InstanceView = &containerViewBody{CurrentState: g.current, Events: g.events}
	}
	return v
}
