// The Container Apps environment of all workers. It costs nothing while no worker runs.

@description('Name of the environment.')
param containerEnvironmentName string

@description('Region of the environment.')
param location string

@description('Tags of the environment.')
param tags object

@description('True: in the virtual network, without a public address. It cannot be changed later.')
param privateNetwork bool

@description('Resource id of the subnet of the environment; empty in the public mode.')
param subnetId string

@description('True, with privateNetwork: spread over availability zones. It cannot be changed later.')
param zoneRedundant bool

@description('Resource id of the Log Analytics workspace.')
param workspaceId string

resource containerEnvironment 'Microsoft.App/managedEnvironments@2025-01-01' = {
  name: containerEnvironmentName
  location: location
  tags: tags
  properties: {
    // The destination log-analytics would need a key of the workspace.
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
    // Without a profile Azure creates the older kind of environment, which needs a subnet of /23
    // without a delegation.
    workloadProfiles: [
      {
        name: 'Consumption'
        workloadProfileType: 'Consumption'
      }
    ]
  }
}

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
