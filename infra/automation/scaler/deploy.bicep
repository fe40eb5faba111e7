// Optional stage, container scaler: the roles with which the Functions app creates a container group for each
// waiting message of a topic, the identity of the containers, and alerts. The settings of the scaler are
// those of the Functions app: containerScalerSettings of its stage. Deploy this stage first, in the
// resource group of the others, where the containers run too.
//
// The topic with its subscriptions exists in the Service Bus namespace of the first stage.

targetScope = 'resourceGroup'

@description('Prefix of all names. As in the first stage.')
@minLength(2)
@maxLength(11)
param name string = 'matoolkit'

@description('Name of this deployment. As in the first stage.')
@minLength(2)
@maxLength(8)
param environmentName string

@description('Region of the identity and of the alerts. As in the first stage.')
param location string = resourceGroup().location

@description('Tags of all resources, in addition to application and environment.')
param tags object = {}

@description('Topic whose subscriptions are scaled: SB_TOPIC_NAME.')
@minLength(1)
@maxLength(260)
param topicName string

@description('Subnet of the virtual network of the first stage in which the containers run, delegated to Microsoft.ContainerInstance/containerGroups. Empty: containers have no network of their own.')
param subnetName string = ''

@description('With subnetName: id of a role that permits Microsoft.Network/virtualNetworks/subnets/join/action and nothing else.')
param subnetRoleId string = ''

@description('False: alerts notify no one.')
param alertsEnabled bool = true

var roles = {
  AcrPull: '7f951dda-4ed3-4680-a7ca-43fe172d538d'
  'Azure Container Instances Contributor Role': '5d977122-f97e-4b4d-a52f-6b43003ddb4d'
  'Azure Service Bus Data Receiver': '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0'
  'Managed Identity Operator': 'f1a07417-d97a-45cb-824c-7a7467783830'
  Reader: 'acdd72a7-3385-48ef-bd42-f606fba81ae7'
}
var base = '${name}-${environmentName}'
var allTags = union(
  {
    application: name
    environment: environmentName
  },
  tags
)
var subnetRole = empty(subnetRoleId) != empty(subnetName)
  ? fail('subnetName and subnetRoleId: give both, or neither')
  : subnetRoleId

// The stage of the Functions app creates it.
resource functionsIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' existing = {
  name: '${base}-func-id'
}

resource registry 'Microsoft.ContainerRegistry/registries@2025-04-01' existing = {
  name: '${name}${environmentName}acr'
}

resource bus 'Microsoft.ServiceBus/namespaces@2026-01-01' existing = {
  name: '${base}-bus'
}

resource topic 'Microsoft.ServiceBus/namespaces/topics@2026-01-01' existing = {
  parent: bus
  name: topicName
}

// The containers pull their image and receive messages with it.
resource containers 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: '${base}-containers-id'
  location: location
  tags: allTags
}

resource pull 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(registry.id, containers.id, roles.AcrPull)
  scope: registry
  properties: {
    principalId: containers.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.AcrPull)
  }
}

resource receive 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(topic.id, containers.id, roles['Azure Service Bus Data Receiver'])
  scope: topic
  properties: {
    principalId: containers.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Azure Service Bus Data Receiver'])
  }
}

// On the resource group: container groups that do not exist yet have no other scope.
resource scale 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(functionsIdentity.id, roles['Azure Container Instances Contributor Role'])
  properties: {
    principalId: functionsIdentity.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Azure Container Instances Contributor Role'])
  }
}

resource attach 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(containers.id, functionsIdentity.id, roles['Managed Identity Operator'])
  scope: containers
  properties: {
    principalId: functionsIdentity.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Managed Identity Operator'])
  }
}

// To list the subscriptions of the topic.
resource read 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(topic.id, functionsIdentity.id, roles.Reader)
  scope: topic
  properties: {
    principalId: functionsIdentity.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.Reader)
  }
}

// To peek needs the permission to receive.
resource peek 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(topic.id, functionsIdentity.id, roles['Azure Service Bus Data Receiver'])
  scope: topic
  properties: {
    principalId: functionsIdentity.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles['Azure Service Bus Data Receiver'])
  }
}

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' existing = {
  name: '${base}-vnet'
}

resource subnet 'Microsoft.Network/virtualNetworks/subnets@2025-05-01' existing = {
  parent: network
  name: empty(subnetName) ? 'none' : subnetName
}

resource join 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(subnetRole)) {
  name: guid(subnet.id, functionsIdentity.id, subnetRole)
  scope: subnet
  properties: {
    principalId: functionsIdentity.properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', subnetRole)
  }
}

module alerts 'alerts.bicep' = {
  name: '${base}-scaler-alerts'
  params: {
    base: base
    location: location
    tags: allTags
    enabled: alertsEnabled
  }
}

@description('ACI_IDENTITY_ID: resource id of the identity of the containers.')
output containersIdentityId string = containers.id

@description('Client id of the identity of the containers.')
output containersIdentityClientId string = containers.properties.clientId
