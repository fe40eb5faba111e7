// The Container Apps environment, in which all workers run.
//
// It belongs to no worker, so that another one is another deployment of the same
// template which leaves the environment and its neighbours alone. Empty it costs nothing.

@description('Name of the environment.')
param containerEnvironmentName string

@description('Region of the environment.')
param location string

@description('Tags of the environment.')
param tags object

@description('In the virtual network and without any address outside it. It cannot be changed once the environment is there.')
param privateNetwork bool

@description('Resource id of the subnet of the environment; empty in the public mode.')
param subnetId string

@description('Spread over availability zones, in the private mode only. It cannot be changed once the environment is there.')
param zoneRedundant bool

@description('Resource id of the workspace that takes the logs.')
param workspaceId string

resource containerEnvironment 'Microsoft.App/managedEnvironments@2025-01-01' = {
  name: containerEnvironmentName
  location: location
  tags: tags
  properties: {
    // By a diagnostic setting, which needs no key of the workspace, unlike the
    // destination log-analytics.
    appLogsConfiguration: {
      destination: 'azure-monitor'
    }
    vnetConfiguration: privateNetwork
      ? {
          infrastructureSubnetId: subnetId
          internal: true
        }
      : null
    zoneRedundant: privateNetwork && zoneRedundant
    // Without a profile it would be of the older kind, whose subnet must not be delegated
    // and has to be /23.
    workloadProfiles: [
      {
        name: 'Consumption'
        workloadProfileType: 'Consumption'
      }
    ]
  }
}

// What workers write goes to the table ContainerAppConsoleLogs; why one was started,
// scaled or refused to ContainerAppSystemLogs.
#disable-next-line use-recent-api-versions
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'log-analytics'
  scope: containerEnvironment
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'ContainerAppConsoleLogs'
        enabled: true
      }
      {
        category: 'ContainerAppSystemLogs'
        enabled: true
      }
    ]
  }
}

@description('Resource id of the environment.')
output environmentId string = containerEnvironment.id
