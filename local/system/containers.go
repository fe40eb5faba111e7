package system

import (
	"context"
	"errors"
	"strings"

	"github.com/matoolkit/matoolkit/local/arm"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// The resources of the container scaler, as Azure would name them.
const (
	azureSubscription = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b10"
	localName         = "local"
)

// startContainers starts Azure Resource Manager, whose container groups run the configured programs.
func (s *System) startContainers(ctx context.Context, t servicebus.Topology) (err error) {
	if len(s.config.Containers) == 0 {
		return nil
	}
	if s.Entra == nil {
		return errors.New("containers need the part identity in the same process")
	}
	certificate, err := s.Entra.ServerCertificate()
	if err != nil {
		return err
	}
	s.ARM, err = arm.Start(ctx, arm.Config{
		Addr: s.config.Addresses.ARM, Certificate: certificate, VerifyToken: s.Entra.VerifyToken,
		Run: arm.Programs(s.config.Containers, nil, s.config.Output), Now: s.clock.Now,
		Subscriptions: func(_, topic string) (all []arm.Subscription, found bool) {
			at := findTopic(&t, topic)
			if at == nil {
				return nil, false
			}
			for _, sub := range at.Subscriptions {
				all = append(all, arm.Subscription{
					Name: sub.Name, MaxDeliveries: int(sub.MaxDeliveryCount), LockDuration: sub.LockDuration, RequiresSession: strings.Contains(sub.Unsupported, "session"),
				})
			}
			return all, true
		},
	})
	if err != nil {
		return err
	}
	s.config.Addresses.ARM = strings.TrimPrefix(s.ARM.URL(), "https://")
	s.started("Azure Resource Manager", s.ARM.URL(), s.ARM.Close)
	return nil
}

// scalerSettings are the settings of the container scaler, which is off without containers. The rest, such
// as ACI_MAX_INSTANCES and SB_TOPIC_NAME, is for whom starts the system.
func (s *System) scalerSettings() map[string]string {
	if len(s.config.Containers) == 0 {
		return map[string]string{"AzureWebJobs.containerscaler.Disabled": "true"}
	}
	return map[string]string{
		"AZURE_RESOURCE_MANAGER_URL": "https://" + s.config.Addresses.ARM,
		"AZURE_SUBSCRIPTION_ID":      azureSubscription,
		"AZURE_RESOURCE_GROUP":       localName,
		"ACI_LOCATION":               localName,
		"ACI_NAME_PREFIX":            localName,
		"SB_NAMESPACE":               localName,
		"SB_CONNECTION_STR":          s.ServiceBusConnection(),
		"INSTANCE_SB_CONNECTION_STR": s.ServiceBusConnection(),
	}
}
