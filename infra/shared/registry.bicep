// The registry of the worker's images, and the roles to push and pull them.

@description('Name of the registry.')
@minLength(5)
@maxLength(50)
param registryName string

@description('Region of the registry.')
param location string

@description('Tags of the registry.')
param tags object

@description('Tier: Basic (10 GB), Standard (100 GB) or Premium (500 GB).')
@allowed([
  'Basic'
  'Standard'
  'Premium'
])
param sku string

@description('Name of the identity that pulls images.')
param pullIdentityName string

@description('Object id of the identity that pulls images.')
param pullPrincipalId string

@description('Users, groups or service principals that may push images: {id, type} each.')
param imagePushers array

@description('Resource id of the Log Analytics workspace.')
param workspaceId string

var roles = {
  AcrPull: '7f951dda-4ed3-4680-a7ca-43fe172d538d'
  AcrPush: '8311e382-0749-4cb8-b61a-304f252e45ec'
}

// It is public in both modes, since only Premium supports private endpoints. An image has no secrets,
// and access needs a token and a role.
resource registry 'Microsoft.ContainerRegistry/registries@2025-04-01' = {
  name: registryName
  location: location
  tags: tags
  sku: {
    name: sku
  }
  properties: {
    adminUserEnabled: false
    anonymousPullEnabled: false
    publicNetworkAccess: 'Enabled'
    policies: {
      // Container Apps signs in with tokens of Azure Resource Manager.
      azureADAuthenticationAsArmPolicy: {
        status: 'enabled'
      }
    }
  }
}

resource pull 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(registry.id, pullIdentityName, roles.AcrPull)
  scope: registry
  properties: {
    principalId: pullPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.AcrPull)
  }
}

resource push 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in imagePushers: {
    name: guid(registry.id, principal.id, roles.AcrPush)
    scope: registry
    properties: {
      principalId: principal.id
      principalType: principal.type
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.AcrPush)
    }
  }
]

#disable-next-line use-recent-api-versions
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'log-analytics'
  scope: registry
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'ContainerRegistryLoginEvents'
        enabled: true
      }
      {
        category: 'ContainerRegistryRepositoryEvents'
        enabled: true
      }
    ]
    metrics: [
      {
        category: 'AllMetrics'
        enabled: true
      }
    ]
  }
}

@description('Host name of the registry, the first part of image names.')
output loginServer string = registry.properties.loginServer
