package aci

import (
	"context"
	"errors"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerinstance/armcontainerinstance/v2"
	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/scaler"
)

// getsAtOnce is how many groups are read concurrently.
const getsAtOnce = 8

// Groups returns the groups that carry the scaler's tag. The list of the service says nothing about the
// state of containers, so each group is read by itself: one request for each, and one for each page of
// the groups of the resource group.
func (c *Client) Groups(ctx context.Context) (scaler.Inventory, error) {
	var names []string
	for pager := c.groups.NewListByResourceGroupPager(c.settings.ResourceGroup, nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, explain(err)
		}
		for _, g := range page.Value {
			if c.settings.Manages(tags(g)) {
				names = append(names, value(g.Name))
			}
		}
	}
	found := make([]*scaler.Container, len(names))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(getsAtOnce)
	for i, name := range names {
		all.Go(func() error {
			return panics.Catch(ctx, func() (err error) {
				found[i], err = c.group(ctx, name)
				return err
			})
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	inventory := scaler.Inventory{}
	for _, container := range found {
		if container != nil {
			inventory = append(inventory, *container)
		}
	}
	return inventory, nil
}

// group reads a group. It returns nil if there is none.
func (c *Client) group(ctx context.Context, name string) (*scaler.Container, error) {
	got, err := c.groups.Get(ctx, c.settings.ResourceGroup, name, nil)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	container := containerOf(&got.ContainerGroup)
	return &container, nil
}

func isNotFound(err error) bool {
	var refused *azcore.ResponseError
	return errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound
}

func tags(g *armcontainerinstance.ContainerGroup) map[string]string {
	all := map[string]string{}
	for name, v := range g.Tags {
		all[name] = value(v)
	}
	return all
}

func containerOf(g *armcontainerinstance.ContainerGroup) scaler.Container {
	tagged := tags(g)
	found := scaler.Container{
		Name: value(g.Name), MessageID: tagged[scaler.TagMessageID], Subscription: tagged[scaler.TagSubscription], SizeMB: tagged[scaler.TagSize],
	}
	if g.Properties == nil {
		return found
	}
	provisioning, instance := value(g.Properties.ProvisioningState), ""
	if view := g.Properties.InstanceView; view != nil {
		instance, found.Detail = value(view.State), warning(view.Events)
	}
	found.State, found.Ended = provisioning, scaler.HasEnded(provisioning, instance)
	if instance != "" && provisioning != "Failed" {
		found.State = instance
	}
	for _, one := range g.Properties.Containers {
		if one.Properties == nil || one.Properties.InstanceView == nil {
			continue
		}
		if event := warning(one.Properties.InstanceView.Events); event != "" {
			found.Detail = event
		}
		if state := one.Properties.InstanceView.CurrentState; state != nil {
			found.StartedAt, found.FinishedAt = state.StartTime, state.FinishTime
			if state.ExitCode != nil {
				code := int(*state.ExitCode)
				found.ExitCode = &code
			}
			if code := value(state.ExitCode); found.Detail == "" && code != 0 {
				found.Detail = value(state.DetailStatus)
			}
		}
	}
	found.Detail = shorten(found.Detail)
	return found
}

// warning returns the message of the last warning, such as that the image cannot be pulled.
func warning(events []*armcontainerinstance.Event) (text string) {
	for _, e := range events {
		if value(e.Type) == "Warning" {
			text = value(e.Message)
		}
	}
	return text
}

// Create creates a group, unless one with its name exists, and reports whether it did. It does not wait for
// the containers. A request for a group that has ended would run it again, so it looks first.
func (c *Client) Create(ctx context.Context, g scaler.Group) (bool, error) {
	if _, err := c.groups.Get(ctx, c.settings.ResourceGroup, g.Name, nil); err == nil || !isNotFound(err) {
		return false, explain(err)
	}
	_, err := c.changes.BeginCreateOrUpdate(ctx, c.settings.ResourceGroup, g.Name, bodyOf(g), nil)
	return err == nil, explain(err)
}

// containerName is the name of the one container of a group.
const containerName = "main"

// bodyOf returns the request for a group. The SDK writes fields in alphabetical order: the same group
// gives the same bytes.
func bodyOf(g scaler.Group) armcontainerinstance.ContainerGroup {
	env := make([]*armcontainerinstance.EnvironmentVariable, 0, len(g.Env))
	for _, v := range g.Env {
		one := &armcontainerinstance.EnvironmentVariable{Name: &v.Name}
		if v.Secure {
			one.SecureValue = &v.Value
		} else {
			one.Value = &v.Value
		}
		env = append(env, one)
	}
	tagged := map[string]*string{}
	for name, v := range g.Tags {
		tagged[name] = &v
	}
	name, cpu, memory := containerName, float64(g.CPU)/10, float64(g.Memory)/10
	linux, never, standard := armcontainerinstance.OperatingSystemTypesLinux, armcontainerinstance.ContainerGroupRestartPolicyNever, armcontainerinstance.ContainerGroupSKUStandard
	body := armcontainerinstance.ContainerGroup{
		Location: &g.Location, Tags: tagged,
		Properties: &armcontainerinstance.ContainerGroupPropertiesProperties{
			OSType: &linux, RestartPolicy: &never, SKU: &standard,
			Containers: []*armcontainerinstance.Container{{Name: &name, Properties: &armcontainerinstance.ContainerProperties{
				Image: &g.Image, EnvironmentVariables: env,
				Resources: &armcontainerinstance.ResourceRequirements{Requests: &armcontainerinstance.ResourceRequests{CPU: &cpu, MemoryInGB: &memory}},
			}}},
		},
	}
	if g.Identity != "" {
		assigned := armcontainerinstance.ResourceIdentityTypeUserAssigned
		body.Identity = &armcontainerinstance.ContainerGroupIdentity{
			Type: &assigned, UserAssignedIdentities: map[string]*armcontainerinstance.UserAssignedIdentities{g.Identity: {}},
		}
	}
	if r := g.Registry; r.Server != "" {
		credential := &armcontainerinstance.ImageRegistryCredential{Server: &r.Server}
		if r.User == "" {
			credential.Identity = &g.Identity
		} else {
			credential.Username, credential.Password = &r.User, &r.Password
		}
		body.Properties.ImageRegistryCredentials = []*armcontainerinstance.ImageRegistryCredential{credential}
	}
	if g.Subnet != "" {
		body.Properties.SubnetIDs = []*armcontainerinstance.ContainerGroupSubnetID{{ID: &g.Subnet}}
	}
	return body
}

// Delete deletes a group that has ended, and reports whether it did. It does not wait for the end of the deletion. It
// looks first, because the group may have been started again since it was listed. It succeeds if there is none, or if it
// is being deleted already.
func (c *Client) Delete(ctx context.Context, name string) (bool, error) {
	if found, err := c.group(ctx, name); err != nil || found == nil || !found.Ended {
		return false, err
	}
	_, err := c.changes.BeginDelete(ctx, c.settings.ResourceGroup, name, nil)
	var refused *azcore.ResponseError
	if isNotFound(err) || errors.As(err, &refused) && refused.ErrorCode == "ContainerGroupTransitioning" {
		return false, nil
	}
	return err == nil, explain(err)
}
